"""What the responses of all vendors share: decoding events, joining pieces of calls, the rules of a
whole answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from msgspec import DecodeError

from bot.providers import ModelResponse, StopReason, ToolCallDelta
from bot.transcript import (
    Message,
    Opaque,
    Text,
    ToolCall,
    Usage,
    encode,
    is_blank,
    new_id,
)
from toolset.web.decoding import decode_json

USUAL = ("end_turn", "tool_use")
# A conversation keeps about so many bytes.
LONGEST_OPAQUE = 1024 * 1024

T = TypeVar("T")


def event_decoder(kind: type[T], has_calls: Callable[[T], bool]) -> Callable[[bytes], T]:
    """A decoder of events that takes half a surrogate pair in a text as U+FFFD.

    An event with calls is refused instead: nothing is run with arguments that the model did not
    write.

    Raises:
        DecodeError: the decoder, for anything else than an event.
    """

    def read(data: bytes) -> T:
        try:
            return decode_json(data, kind, mends=False)
        except DecodeError as error:
            event = decode_json(data, kind)
            if has_calls(event):
                raise DecodeError("a call holds characters that do not exist") from error
            return event

    return read


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    vendor_id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Whether the arguments are complete; they are decoded only where their last character
        allows it."""
        last = next((piece.rstrip() for piece in reversed(self.pieces) if not piece.isspace()), "")
        return last.endswith(("}", '"', "l")) and _object(self.arguments) is not None


class Calls:
    """The calls of one answer, joined from the pieces of a stream.

    Vendors send pieces interleaved or whole, with ids, empty ids or none, numbered or not, and
    arguments as a JSON string or as an object. Every call gets an id that is unique in its
    conversation.

    Args:
        messages: the conversation so far, whose ids are not given again.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._taken = {call.id for message in messages for call in message.calls}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def take(
        self,
        index: int | None,
        id: str | None,
        name: str | None,
        arguments: str | dict[str, Any] | None,
    ) -> ToolCallDelta:
        """Add one piece and return what is new in it.

        Args:
            index: the vendor's number of the call; None is the newest call, or the next one where a
                name is given.
            arguments: more of the JSON, or the whole object.
        """
        if isinstance(arguments, dict):
            arguments = encode(arguments).decode()
        text = arguments or ""
        call = self._find(index, id or "", name or "")
        begun = call is None
        if call is None:
            call = self._begin(index, id or "")
        named = name if name and not call.name else ""
        call.name = call.name or named
        if text:
            call.pieces.append(text)
        return ToolCallDelta(call.index, call.id if begun else "", named, text)

    def whole(self) -> tuple[ToolCall, ...] | None:
        """The calls in the order they began; None where the name or the arguments of one cannot be
        read."""
        calls = []
        for call in self._calls:
            arguments = _object(call.arguments)
            if not call.name or arguments is None:
                return None
            calls.append(ToolCall(call.id, call.name, arguments))
        return tuple(calls)

    def _find(self, index: int | None, vendor_id: str, name: str) -> _Call | None:
        """The call that a piece belongs to; some servers give every call of an answer the same
        number."""
        if index is None:
            if name or not self._calls:
                return None
            return self._calls[-1]
        call = self._by_index.get(index)
        if call is None or not (name and call.name):
            return call
        if vendor_id and call.vendor_id:
            is_same = vendor_id == call.vendor_id
        else:
            is_same = not call.is_whole()
        return call if is_same else None

    def _begin(self, index: int | None, vendor_id: str) -> _Call:
        unique = vendor_id if vendor_id and vendor_id not in self._taken else new_id("call")
        self._taken.add(unique)
        call = _Call(len(self._calls), unique, vendor_id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _object(text: str) -> dict[str, Any] | None:
    """Arguments as an object, empty for none at all; some models encode them twice."""
    read: Any = text.strip()
    try:
        for _ in range(2):
            if isinstance(read, str):
                read = decode_json(read, mends=False) if read else {}
    except DecodeError:
        return None
    if read is None:
        return {}
    return read if isinstance(read, dict) else None


def build_response(
    parts: Sequence[Text | ToolCall],
    reason: StopReason,
    *,
    model: str,
    usage: Usage,
    opaque: Opaque | None = None,
    detail: str = "",
) -> ModelResponse:
    """A finished answer.

    Only a complete answer keeps its calls: calls of a cut or blocked answer are never run. An
    answer without text and calls is malformed. ``end_turn`` and ``tool_use`` follow from the parts,
    as vendors mix them up.

    Args:
        opaque: left out where it is too large; then the message goes back like another vendor's.
        parts: texts and calls in the vendor's order; adjacent texts are joined.
        model: the id of the model that answered.
        detail: the vendor's words about an unusual stop.
    """
    settled = _settled(parts, reason)
    if settled != "tool_use":
        parts = [part for part in parts if isinstance(part, Text)]
    if opaque is not None and len(opaque.data) > LONGEST_OPAQUE:
        opaque = None
    if settled in USUAL:
        detail = ""
    at = time.time_ns() // 1_000_000
    message = Message(new_id("msg"), "model", merge_texts(parts), at, opaque=opaque)
    return ModelResponse(message, settled, usage, model, detail)


def merge_texts(parts: Iterable[Text | ToolCall]) -> tuple[Text | ToolCall, ...]:
    """The same parts with adjacent texts joined and empty texts left out."""
    whole: list[Text | ToolCall] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
        if not is_text:
            whole += group
        elif words := "".join(part.text for part in group if isinstance(part, Text)):
            whole.append(Text(words))
    return tuple(whole)


def _settled(parts: Sequence[Text | ToolCall], reason: StopReason) -> StopReason:
    if reason not in USUAL:
        return reason
    settled: StopReason = "malformed"
    for part in parts:
        if isinstance(part, ToolCall):
            return "tool_use"
        if isinstance(part, Text) and not is_blank(part.text):
            settled = "end_turn"
    return settled
