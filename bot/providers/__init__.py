"""The Protocol of a provider: one neutral request in, a stream of neutral events out.

Each folder serves one vendor and translates the vendor's exceptions into ``bot.errors``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bot.clock import now_ms
from bot.file_types import Kind
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.transcript import (
    NOT_GROUNDED,
    Grounding,
    Message,
    Opaque,
    Part,
    ToolResult,
    Usage,
    encode,
    new_id,
)
from toolset.tool import ToolDefinition

StopReason = Literal["end_turn", "tool_use", "max_tokens", "blocked", "malformed", "other"]
# Estimates count so many bytes of UTF-8 a token: a Japanese character is about a token, and so are
# four letters.
TOKEN_BYTES = 3
# This matches a word, or three characters of a script without spaces.
PIECE = re.compile(r"\s+|[!-~]+\s*|[^\s!-~]{1,3}\s*")


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools the model may call: ``auto``, ``none``, ``required``, or ``one`` (then ``name``
    says which).

    Attributes:
        opens_addresses: also the vendor's tools that open addresses of the model's choice. It is
            left out of comparisons: the choice among our tools is the same.
        server_tools: also the vendor's own tools; left out of comparisons too.
    """

    mode: Literal["auto", "none", "required", "one"] = "auto"
    name: str = ""
    opens_addresses: bool = field(default=True, compare=False)
    server_tools: bool = field(default=True, compare=False)


AUTO = ToolChoice("auto")
NONE = ToolChoice("none")


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked.

    Attributes:
        first_token_timeout_s: seconds until the vendor's first event; a thought counts, though it
            is not shown.
        schema: of the JSON that the answer should be, in place of tools; only ``openai`` knows it.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition] = ()
    tool_choice: ToolChoice = AUTO
    first_token_timeout_s: float = field(default=FIRST_TOKEN_TIMEOUT_S, compare=False)
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call; the pieces of one call have the same ``index``."""

    index: int
    id: str = ""
    name: str = ""
    arguments_delta: str = ""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The request is sent again; everything streamed so far is void."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A whole answer of the model.

    Attributes:
        message: role ``model``; text, calls and the vendor's opaque data.
        detail: the vendor's words about an unusual stop, for the log.
        grounding: what the vendor's own search has added.
        searches: of the vendor's own search.
        refusal: the vendor's own tools that were refused for this response, and why; for the
            operator.
    """

    message: Message
    stop_reason: StopReason
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    detail: str = ""
    grounding: Grounding = NOT_GROUNDED
    searches: int = 0
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Completed:
    """The last event of every stream."""

    response: ModelResponse


StreamEvent = TextDelta | ToolCallDelta | Restarted | Completed


class Uploads(Protocol):
    """The vendor's place for files that are too large for a request."""

    async def upload(self, data: bytes, mime: str) -> str:
        """Bring a file there, and wait until the model can read it; returns its address.

        Raises:
            ModelError: the vendor did not take it, or not in time.
        """
        ...

    async def delete(self, uri: str) -> None:
        """Delete a file. Never raises: what stays behind, the vendor deletes some day."""
        ...


@dataclass(frozen=True, slots=True)
class MediaSupport:
    """The files that a model reads as they are.

    Attributes:
        kinds: of files.
        uploads: None where all files of a request go inside it.
        reads_texts: whether texts of files are of use to it; without that no file is fetched.
    """

    kinds: frozenset[Kind] = frozenset()
    uploads: Uploads | None = None
    reads_texts: bool = True


class Provider(Protocol):
    """A model of one vendor.

    Attributes:
        name: the provider in ``MODEL=provider:model``.
        model: the model's id.
        window: tokens that the model reads at most; 0 where that is unknown.
    """

    name: str
    model: str

    @property
    def window(self) -> int: ...

    @property
    def media(self) -> MediaSupport:
        """The files that the model is known to read; a model may still refuse one."""
        ...

    @property
    def searches(self) -> bool:
        """Whether the vendor itself may read pages while the model answers."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once and stream the answer; the last event is ``Completed``.

        Raises:
            ModelError: no answer, or an answer that broke off.
        """
        ...

    async def check(self) -> str:
        """Ask the vendor whether key and model work; nothing is generated.

        Returns:
            One line for the operator.

        Raises:
            ModelError: the key or the model was refused, or the vendor does not answer.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def wrap_result(result: ToolResult) -> dict[str, Any]:
    """A tool's result as every model gets it; the system prompt says that its content is data.

    The tool's object is never the outermost one, so that none of its fields can pass for an error
    of ours.
    """
    if result.is_error:
        return result.response
    return {"output": result.response}


def model_message(parts: Iterable[Part], opaque: Opaque | None = None) -> Message:
    """A new message of the model."""
    return Message(new_id("msg"), "model", tuple(parts), now_ms(), opaque=opaque)


def replay(response: ModelResponse) -> Iterator[StreamEvent]:
    """The events that would have streamed a finished response: text in small pieces, then each call
    whole."""
    for piece in PIECE.findall(response.message.text):
        yield TextDelta(piece)
    for index, call in enumerate(response.message.calls):
        yield ToolCallDelta(index, call.id, call.name, encode(call.arguments).decode())
    yield Completed(response)
