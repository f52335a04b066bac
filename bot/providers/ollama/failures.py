"""The failures of Ollama and of the network, translated into ``ModelError``."""

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
    """The failures of one model with Ollama's own causes and fixes.

    Attributes:
        address: of the server.
    """

    failures: Failures
    address: str

    def refusal(self, status: int, message: str, after: float | None = None) -> ModelError:
        """The ``ModelError`` for an error that the server answered with; Ollama has no codes, only
        messages."""
        model = self.failures.model
        if status == 404:
            return self.failures.unknown(f"is not at {self.address}: run ollama pull {model}")
        if "does not support tools" in message:
            return self.knows_no_tools()
        kind = "tool_use_failed" if message.startswith(BAD_CALL) else ""
        return self.failures.refusal(status, kind, message, after)

    def timed_out(self) -> TryAgain:
        """The answer came too late; loading the model may be the reason."""
        model = self.failures.model
        hint = (
            "if Ollama was still loading it, the next message finds it loaded; OLLAMA_KEEP_ALIVE "
            "keeps it so"
        )
        return TryAgain("timed_out", f"{model} did not answer in time: {hint}")

    def knows_no_tools(self) -> ModelUnusable:
        """The model cannot call functions."""
        model = self.failures.model
        fix = f"name another, or ask it as json:{model} with OPENAI_BASE_URL={self.address}/v1"
        return ModelUnusable("model_unfit", f"{self.failures.asker}: {model} knows no tools: {fix}")


@contextmanager
def translating(refusals: Refusals) -> Iterator[None]:
    """Translate exceptions raised inside.

    Raises:
        ModelError: for each exception of aiohttp, msgspec and the network.
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
