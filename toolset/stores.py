"""What a tool may keep in the store for the person who asks, and for the place: ``ToolContext`` has
one of each.

A second call with the same ``idempotency_key`` changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

FindStore = Callable[[type[Any]], Any]  # finds what a feature keeps, by its class; None if nothing


def find_no_store(kind: type[Any]) -> None:
    """Find nothing (``FindStore``)."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """Something that comes at its time.

    Attributes:
        at: the next time, in the zone of the person.
        repeat: RFC 5545 rule; empty: once.
        routine: its text is a task that is done at that time; otherwise the text is shown.
        rests: it has failed too often and does not come again.
        start: where a new reminder's rule begins, on the clock of the zone; it may name a time that
            the clock skips.
    """

    id: str
    text: str
    at: datetime
    repeat: str = ""
    routine: bool = False
    rests: bool = False
    start: datetime | None = None


class Reminders(Protocol):
    """The reminders of the person who asked, in this conversation."""

    async def add(self, reminder: Reminder) -> None:
        """Keep a reminder; a known id changes nothing.

        Raises:
            ToolError: it would not be delivered, or the person has too many.
        """
        ...

    async def read(self) -> list[Reminder]:
        """All of them, the next first."""
        ...

    async def cancel(self, reminder_id: str) -> bool:
        """Delete one; false if there is none with this id."""
        ...


class Uses(Protocol):
    """The uses of tools that cost money: how many the person who asked has had today."""

    async def take(self, tool: str, limit: int, idempotency_key: str) -> bool:
        """Count a use, that of one key once; False if the limit is reached. A limit of 0 is none.

        Raises:
            ToolError: the store does not answer.
        """
        ...
