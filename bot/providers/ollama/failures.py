"""Every way in which Ollama and the way to it fail, as what it means to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
from msgspec import DecodeError

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers.shared.failures import Failures

OUTAGES = (aiohttp.ClientError, OSError)
BAD_CALL = "error parsing tool call"


@dataclass(frozen=True, slots=True)
class Refusals:
    """What a server says no to.

    Attributes:
        address: where it is.
    """

    failures: Failures
    address: str

    def refusal(self, status: int, words: str, after: float | None = None) -> ModelError:
        """An error the server answered with; it names none of them otherwise than in words."""
        model = self.failures.model
        if status == 404:
            return self.failures.unknown(f"is not at {self.address}: run ollama pull {model}")
        if "does not support tools" in words:
            return self.knows_no_tools()
        return self.failures.refusal(status, "tool_use_failed" if words.startswith(BAD_CALL) else "", words, after)

    def timed_out(self) -> TryAgain:
        """No answer in time, which may be for the time that loading takes."""
        model = self.failures.model
        hint = "if Ollama was still loading it, the next message finds it loaded; OLLAMA_KEEP_ALIVE keeps it so"
        return TryAgain("timed_out", f"{model} did not answer in time: {hint}")

    def knows_no_tools(self) -> ModelUnusable:
        """A model that cannot call functions."""
        model = self.failures.model
        fix = f"name another, or ask it as json:{model} with OPENAI_BASE_URL={self.address}/v1"
        return ModelUnusable("model_unfit", f"{self.failures.asker}: {model} knows no tools: {fix}")


@contextmanager
def translating(refusals: Refusals) -> Iterator[None]:
    """Turn what is raised inside into ``bot.errors``.

    Raises:
        ModelError: whatever went wrong.
    """
    try:
        yield
    except TimeoutError as error:
        raise refusals.timed_out() from error
    except (DecodeError, UnicodeError) as error:
        raise refusals.failures.unreadable() from error
    except aiohttp.ClientConnectorError as error:
        cause = f"no Ollama answers at {refusals.address}: start it, or set OLLAMA_HOST"
        raise TryAgain("model_down", cause) from error
    except OUTAGES as error:
        raise refusals.failures.unreachable(error) from error
