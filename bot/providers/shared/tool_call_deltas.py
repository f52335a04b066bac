"""Tool calls put together from the pieces in which a stream brings them.

Vendors send pieces interleaved or whole, with ids, with empty ids or with none, numbered or not, and arguments as a
JSON string or as an object. What comes out has an id that is unique in its conversation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder

from bot.providers import ToolCallDelta
from bot.transcript import Message, ToolCall, encode, new_id

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
