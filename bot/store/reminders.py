"""Reminders: kept in their conversation, and moved into its inbox when their time has come."""

from __future__ import annotations

from typing import NamedTuple, cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import Keys, alarm_indexes
from bot.store.leases import read_due
from bot.store.scripts import Scripts


class Alarm(NamedTuple):
    """A reminder whose time has come; ``at`` is that time, ms of the store's clock."""

    at: int
    conversation: str
    reminder_id: str


class Next(NamedTuple):
    """When a reminder that repeats comes again, and its new body."""

    at: int
    body: bytes


class Reminders:
    """The reminders of conversations. A body is whatever the caller stores."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def add(self, conversation: str, reminder_id: str, author: str, at: int, body: bytes, *, most: int) -> bool:
        """Keep a reminder; a known id changes nothing.

        Args:
            at: ms of the store's clock.
            most: reminders of one author in one conversation.

        Returns:
            False if the author has too many.
        """
        return bool(await self._scripts.run("remind", conversation, reminder_id, author, at, most, body))

    async def read(self, conversation: str) -> dict[str, bytes]:
        """The bodies by reminder id."""
        async with translate_errors():
            kept = cast("dict[bytes, bytes]", await self._client.hgetall(Keys(conversation).reminders))
        return {reminder_id.decode(): value.partition(b"\n")[2] for reminder_id, value in kept.items()}

    async def due(self, limit: int) -> list[Alarm]:
        """The reminders whose time has come, the oldest first."""
        due = await read_due(self._client, alarm_indexes(), limit)
        return [Alarm(at, *member.rpartition(" ")[::2]) for at, member in due]

    async def ring(self, alarm: Alarm, event_id: str, event: bytes, again: Next | None) -> bool:
        """Move a reminder into the inbox, once for each of its times; whether it was this call that did.

        Args:
            event: the inbound event with this id.
            again: None: the reminder is over.
        """
        after = (again.at, again.body) if again else ("", b"")
        arguments = (alarm.reminder_id, alarm.at, event_id, event, *after)
        return bool(await self._scripts.run("ring", alarm.conversation, *arguments, message_id=event_id))

    async def amend(self, conversation: str, reminder_id: str, body: bytes, *, rests: bool = False) -> None:
        """Change a reminder that still exists; one that rests does not come again."""
        await self._scripts.run("amend_reminder", conversation, reminder_id, body, "rests" if rests else "")

    async def drop(self, conversation: str, author: str, reminder_id: str = "") -> int:
        """Delete an author's reminders in a conversation, or one of them; returns their number."""
        return int(await self._scripts.run("drop_reminders", conversation, "author", author, reminder_id))

    async def drop_all(self, conversation: str) -> int:
        """Delete everybody's reminders in a conversation; returns their number."""
        return int(await self._scripts.run("drop_reminders", conversation, "all", "", ""))
