"""Reminders: kept in their conversation, and moved into its inbox when their time has come."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from bot.store.clients import Client, ask
from bot.store.keys import Keys, alarm_indexes, reminders_of_key
from bot.store.queues import Command
from bot.store.scripts import Scripts

COUNTED_S = 10  # a reminder is kept within this time after it was counted


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

    async def count(
        self, person: str, conversation: str, reminder_id: str, ttl_s: int, *, most: int
    ) -> bool:
        """Count a reminder for a person, before it is kept; one that is counted already lives
        ``ttl_s`` from now.

        Reminders that have come stay counted until there are too many. Calls at once do not pass
        the limit; a process that stands still between counting and keeping for longer than
        ``COUNTED_S`` may: by one reminder.

        Returns:
            False if the person has ``most`` others.
        """
        key, member = reminders_of_key(person), _member(conversation, reminder_id)
        now_s = await self._scripts.now_ms(person) // 1000
        is_new, count, *_ = await self._scripts.transact_and_read(
            [
                ("ZADD", key, "NX", now_s, member),
                ("ZCARD", key),
                # The second one takes a key without a lifetime for one that lives longer.
                ("EXPIRE", key, ttl_s, "NX"),
                ("EXPIRE", key, ttl_s, "GT"),
            ]
        )
        if not is_new or count <= most:
            return True
        if count - await self._drop_over(key, now_s - COUNTED_S) <= most:
            return True
        await self.discount(person, conversation, reminder_id)
        return False

    async def _drop_over(self, key: str, until_s: int) -> int:
        """Count no longer what was counted until then and is over; returns the number."""
        old: list[bytes] = await ask(self._client, "ZRANGEBYSCORE", key, "-inf", until_s)
        outcomes = await asyncio.gather(*map(self._is_stored, old))
        for member, is_stored in zip(old, outcomes, strict=True):
            if not is_stored:
                await ask(self._client, "ZREM", key, member)
        return outcomes.count(False)

    async def discount(self, person: str, conversation: str, reminder_id: str) -> None:
        """Count a reminder no longer, so that another one may come at once."""
        member = _member(conversation, reminder_id)
        await ask(self._client, "ZREM", reminders_of_key(person), member)

    async def counted(self, person: str) -> list[tuple[str, str]]:
        """Conversation and id of each reminder that counts for a person; some may be over."""
        members = await ask(self._client, "ZRANGE", reminders_of_key(person), 0, -1)
        places = [member.decode().rpartition(" ") for member in members]
        return [(conversation, reminder_id) for conversation, _, reminder_id in places]

    async def _is_stored(self, member: bytes) -> bool:
        conversation, _, reminder_id = member.decode().rpartition(" ")
        return bool(await ask(self._client, "HEXISTS", Keys(conversation).reminders, reminder_id))

    async def add(
        self, conversation: str, reminder_id: str, author: str, at: int, body: bytes
    ) -> None:
        """Keep a reminder; a known id changes nothing. ``at`` is in ms of the store's clock."""
        arguments = [conversation, reminder_id, author, at, body]
        await self._scripts.run("set_reminder", conversation, arguments)

    async def read(self, conversation: str) -> dict[str, bytes]:
        """The bodies by reminder id."""
        stored = await ask(self._client, "HGETALL", Keys(conversation).reminders)
        bodies = {}
        for reminder_id, value in stored.items():
            bodies[reminder_id.decode()] = value.partition(b"\n")[2]
        return bodies

    async def due(self, limit: int) -> list[Alarm]:
        """The reminders whose time has come, the oldest first."""
        due = await self._scripts.due(alarm_indexes(), limit)
        return [Alarm(at, *member.rpartition(" ")[::2]) for at, member in due]

    async def ring(self, alarm: Alarm, event_id: str, event: bytes, again: Next | None) -> bool:
        """Move a reminder into the inbox, once for each of its times; whether it was this call that
        did.

        Args:
            event: the inbound event with this id.
            again: None: the reminder is over.
        """
        next_at, next_body = (again.at, again.body) if again else ("", b"")
        here = alarm.conversation
        arguments = [here, alarm.reminder_id, alarm.at, event_id, event, next_at, next_body]
        seen = {"seen": Keys(here).seen(event_id)}
        return bool(await self._scripts.run("ring", here, arguments, seen))

    async def amend(
        self, conversation: str, reminder_id: str, body: bytes, *, rests: bool = False
    ) -> None:
        """Change a reminder that still exists; one that rests does not come again."""
        arguments = [conversation, reminder_id, "", "rests" if rests else "", body]
        await self._scripts.run("set_reminder", conversation, arguments)

    async def drop(self, conversation: str, author: str | None, reminder_id: str = "") -> int:
        """Delete an author's reminders in a conversation, or one of them; returns their number.

        Args:
            author: None: everybody's.
        """
        keys = Keys(conversation)
        commands: list[Command] = []
        stored = await ask(self._client, "HGETALL", keys.reminders)
        for raw_id, value in stored.items():
            name, whose = raw_id.decode(), value.partition(b"\n")[0].decode()
            if author in (None, whose) and reminder_id in ("", name):
                commands.append(("HDEL", keys.reminders, name))
                commands.append(("ZREM", keys.of("alarms"), _member(conversation, name)))
        if commands:
            await self._scripts.transact(commands)
        return len(commands) // 2


def _member(conversation: str, reminder_id: str) -> str:
    return f"{conversation} {reminder_id}"
