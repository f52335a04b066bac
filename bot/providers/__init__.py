"""The models' Protocol: one neutral request in, a stream of neutral events out.

Each file here speaks to one vendor and translates its exceptions, once, into ``bot.errors``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.transcript import Message, ToolResult, Usage, encode
from toolset.tool import ToolDefinition

StopReason = Literal["end_turn", "tool_use", "max_tokens", "blocked", "malformed", "other"]
TOKEN_BYTES = 3  # of UTF-8, to reckon with: a Japanese character is about a token, and so are four letters
PIECE = re.compile(r"\s+|[!-~]+\s*|[^\s!-~]{1,3}\s*")  # a word, or three characters where no spaces part them


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools the model may call: ``auto``, ``none``, ``required``, or ``one`` (then ``name`` says which)."""

    mode: Literal["auto", "none", "required", "one"] = "auto"
    name: str = ""


AUTO = ToolChoice("auto")
NONE = ToolChoice("none")


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call; pieces of one call share ``index``."""

    index: int
    id: str = ""
    name: str = ""
    arguments_delta: str = ""


@dataclass(frozen=True, slots=True)
class Restarted:
    """What was streamed so far is void: the request is sent again."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A whole answer of the model.

    Attributes:
        message: role ``model``; text, calls and the vendor's opaque data.
        detail: what the vendor said about an unusual stop, for the log.
    """

    message: Message
    stop_reason: StopReason
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completed:
    """The last event of every stream."""

    response: ModelResponse


StreamEvent = TextDelta | ToolCallDelta | Restarted | Completed


class Provider(Protocol):
    """A model that can be asked.

    Attributes:
        name: the provider's word in ``MODEL=provider:model``.
        model: the model's id.
        window: tokens it reads at most, as far as that is known; 0 where it is not.
    """

    name: str
    model: str

    @property
    def window(self) -> int: ...

    def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once and stream the answer; the last event is ``Completed``.

        Args:
            first_token_timeout_s: seconds until the vendor's first event; a thought is one too, though it is not shown.

        Raises:
            ModelError: translated from the vendor's own exceptions.
        """
        ...

    async def check(self) -> str:
        """Ask the vendor whether key and model work, without generating.

        Returns:
            One line for the operator.

        Raises:
            ModelError: the key or the model was refused, or nobody answers.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...


def wrap_result(result: ToolResult) -> dict[str, Any]:
    """A tool's result as every model gets it; the system prompt says that what is inside is data.

    The tool's own object is never the outermost one, so that nothing in it can pass for an error of ours or for
    anything else than output.
    """
    return result.response if result.is_error else {"output": result.response}


def replay(message: Message) -> Iterator[TextDelta | ToolCallDelta]:
    """A model's finished message as the pieces of a stream: its words, then each call whole."""
    for piece in PIECE.findall(message.text):
        yield TextDelta(piece)
    for index, call in enumerate(message.calls):
        yield ToolCallDelta(index, call.id, call.name, encode(call.arguments).decode())
