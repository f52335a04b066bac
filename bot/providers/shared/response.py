"""What the responses of all vendors share: calls put together from a stream, and the rules of a whole answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder

from bot.providers import ModelResponse, StopReason, ToolCallDelta
from bot.transcript import Message, Opaque, Text, ToolCall, Usage, encode, new_id

USUAL = ("end_turn", "tool_use")


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

    Only a complete answer keeps its calls: those of a cut or blocked one are never run. One without words and without
    calls is malformed. Whether a vendor calls the end of an answer with calls its end or a call makes no difference.

    Args:
        parts: words and calls in the vendor's order; pieces of one text may come apart.
        model: the id of the model that answered.
        detail: what the vendor said about an unusual stop.
    """
    settled = _settled(parts, reason)
    kept = merge_texts(parts if settled == "tool_use" else [part for part in parts if isinstance(part, Text)])
    message = Message(new_id("msg"), "model", kept, time.time_ns() // 1_000_000, opaque=opaque)
    return ModelResponse(message, settled, usage, model, "" if settled in USUAL else detail)


def merge_texts(parts: Iterable[Text | ToolCall]) -> tuple[Text | ToolCall, ...]:
    """The pieces of one text put together, without empty ones."""
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
    if any(isinstance(part, ToolCall) for part in parts):
        return "tool_use"
    return "end_turn" if any(isinstance(part, Text) and part.text.strip() for part in parts) else "malformed"


_read = Decoder().decode


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
        """Whether the arguments are there; where they do not look like it, they are not read in vain."""
        last = next((piece.rstrip() for piece in reversed(self.pieces) if not piece.isspace()), "")
        return last.endswith(("}", '"', "l")) and _object(self.arguments) is not None


class Calls:
    """The calls of one answer.

    Args:
        messages: the conversation so far: an id that stands there is not given again.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._taken = {call.id for message in messages for call in message.calls}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def take(
        self, index: int | None, id: str | None, name: str | None, arguments: str | dict[str, Any] | None
    ) -> ToolCallDelta:
        """Take one piece in and tell what is new in it.

        Args:
            index: the vendor's number of the call; None: the newest one, or the next where a name is given.
            arguments: more of the JSON, or the object as a whole.
        """
        text = encode(arguments).decode() if isinstance(arguments, dict) else arguments or ""
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
        """The finished calls, in the order they began; None where one of them cannot be read."""
        read = [(call, _object(call.arguments)) for call in self._calls]
        calls = [
            ToolCall(call.id, call.name, arguments) for call, arguments in read if call.name and arguments is not None
        ]
        return tuple(calls) if len(calls) == len(read) else None

    def _find(self, index: int | None, vendor_id: str, name: str) -> _Call | None:
        """The call a piece belongs to; some servers give every call of an answer the same number."""
        if index is None:
            return None if name or not self._calls else self._calls[-1]
        call = self._by_index.get(index)
        if call is None or not (name and call.name):
            return call
        if vendor_id and call.vendor_id:
            return call if vendor_id == call.vendor_id else None
        return None if call.is_whole() else call

    def _begin(self, index: int | None, vendor_id: str) -> _Call:
        unique = vendor_id if vendor_id and vendor_id not in self._taken else new_id("call")
        self._taken.add(unique)
        call = _Call(len(self._calls), unique, vendor_id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _object(text: str) -> dict[str, Any] | None:
    """Arguments as an object, an empty one where there are none; models now and then encode them twice."""
    read: Any = text.strip()
    try:
        for _ in range(2):
            if isinstance(read, str):
                read = _read(read) if read else {}
    except DecodeError:
        return None
    return {} if read is None else read if isinstance(read, dict) else None
