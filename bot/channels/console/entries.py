"""The history as the page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bot.transcript import Message


class Call(Struct):
    """A tool call as the page shows it; ``response`` is null while there is none."""

    id: str
    name: str
    arguments: dict[str, Any]
    response: dict[str, Any] | None = None
    is_error: bool = False
    is_rejected: bool = False


class Entry(Struct):
    """A message of the user, of the model or, not shown, of a reminder; each call with its result."""

    id: str
    role: str
    at: int
    text: str
    calls: list[Call]


def entries_of(messages: Iterable[Message]) -> list[Entry]:
    entries: list[Entry] = []
    calls: dict[str, Call] = {}
    for message in messages:
        for result in message.results:
            if call := calls.get(result.call_id):
                call.response, call.is_error = result.response, result.is_error
                call.is_rejected = result.is_rejected
        if message.role != "tool":
            made = [Call(call.id, call.name, call.arguments) for call in message.calls]
            calls |= {call.id: call for call in made}
            role = "reminder" if message.is_reminder else message.role
            text = f"{message.text}\n\n{message.footer}" if message.footer else message.text
            entries.append(Entry(message.id, role, message.at, text, made))
    return entries
