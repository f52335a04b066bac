"""A turn as the history stores it, in no more bytes than a whole history has."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bot.store.keys import HISTORY_BYTES
from bot.transcript import Message, Part, Text, ToolResult, TurnRecord, encode

LEFT_OUT = "[left out: the turn was too long to be stored]"


def encode_turn(record: TurnRecord) -> bytes:
    """The entry of a turn. One that is too long loses its largest results, then its calls, then its
    longest messages.

    The transcript stays valid: each call has its one result, and a vendor's own data are whole or
    gone.
    """
    entry = encode(record)
    if len(entry) > HISTORY_BYTES:
        messages = _without_largest(record.messages, ToolResult, len(entry) - HISTORY_BYTES)
        record = replace(record, messages=messages)
        entry = encode(record)
    if len(entry) > HISTORY_BYTES:
        dialogue = tuple(
            message for message in record.messages if message.role == "user" or message.is_answer
        )
        excess = len(encode(replace(record, messages=dialogue))) - HISTORY_BYTES
        entry = encode(replace(record, messages=_without_largest(dialogue, Text, excess)))
    return entry


def _without_largest(
    messages: Sequence[Message], kind: type[Part], excess: int
) -> tuple[Message, ...]:
    """The messages without their largest texts or results, until so many bytes are gone; the
    model's own stay."""
    sizes: list[tuple[int, int, int]] = []
    for index, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if message.role != "model" and isinstance(part, kind):
                sizes.append((len(encode(part)), index, place))
    shorter = list(messages)
    for size, index, place in sorted(sizes, reverse=True):
        if excess <= 0:
            break
        parts = list(shorter[index].parts)
        parts[place] = _left_out(parts[place])
        shorter[index] = replace(shorter[index], parts=tuple(parts))
        excess -= size - len(encode(parts[place]))
    return tuple(shorter)


def _left_out(part: Part) -> Part:
    return (
        replace(part, response={"output": LEFT_OUT})
        if isinstance(part, ToolResult)
        else Text(LEFT_OUT)
    )
