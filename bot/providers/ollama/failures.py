"""The failures of Ollama and of the network, translated into ``ModelError``."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers.shared.failures import Failures

BAD_CALL = "error parsing tool call"


@dataclass(frozen=True, slots=True)
class OllamaFailures(Failures):
    """The failures of one model with Ollama's own causes and fixes.

    Attributes:
        address: of the server.
    """

    address: str = ""

    def refusal(
        self, status: int, kind: str = "", message: str = "", after: float | None = None
    ) -> ModelError:
        """Ollama has no codes, only messages."""
        if status == 404:
            return self.unknown(f"is not at {self.address}: run ollama pull {self.model}")
        if "does not support tools" in message:
            return self.knows_no_tools()
        kind = "tool_use_failed" if message.startswith(BAD_CALL) else ""
        return Failures.refusal(self, status, kind, message, after)

    def failed(self, error: BaseException) -> ModelError:
        """A refused connection is a server that is not there."""
        if isinstance(error, aiohttp.ClientConnectorError):
            cause = f"no Ollama answers at {self.address}: start it, or set OLLAMA_HOST"
            return TryAgain("model_down", cause)
        return Failures.failed(self, error)

    def timed_out(self) -> TryAgain:
        """The answer came too late; loading the model may be the reason."""
        hint = (
            "if Ollama was still loading it, the next message finds it loaded; OLLAMA_KEEP_ALIVE "
            "keeps it so"
        )
        return TryAgain("timed_out", f"{self.model} did not answer in time: {hint}")

    def knows_no_tools(self) -> ModelUnusable:
        """The model cannot call functions."""
        fix = f"name another, or ask it as json:{self.model} with OPENAI_BASE_URL={self.address}/v1"
        return ModelUnusable("model_unfit", f"{self.asker}: {self.model} knows no tools: {fix}")
