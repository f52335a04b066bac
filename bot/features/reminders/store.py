"""Reminders in the store: a schedule, and how many count for each person."""

from __future__ import annotations

import asyncio

from bot.features.reminders.reminder import StoredReminder, read_body
from bot.store import Schedule, Store
from bot.store.keys import Keys

KIND = "reminders"
COUNTED = "reminders_of"  # of keys, and in the index of what belongs to somebody: whose count
COUNTED_S = 10  # a reminder is kept within this time after it was counted


class StoredReminders(Schedule):
    """The reminders of conversations; a value is an encoded ``StoredReminder``."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.scripts, KIND)
        self._store = store

    async def readable(self, conversation: str) -> dict[str, StoredReminder]:
        """The reminders by id, without what cannot be read."""
        stored = await self.read(conversation)
        bodies = {reminder_id: read_body(body) for reminder_id, body in stored.items()}
        return {reminder_id: one for reminder_id, one in bodies.items() if one}

    async def forget(self, conversation: str, author: str | None) -> None:
        """Delete an author's reminders in a conversation; None: everybody's."""
        if author is None:
            await self.drop(conversation, list(await self.read(conversation)))
            return
        reminders = await self.readable(conversation)
        own = [reminder_id for reminder_id, one in reminders.items() if one.author.id == author]
        await self.drop(conversation, own)

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
        key, member = Keys(person).of(COUNTED), _member(conversation, reminder_id)
        now_s = await self._store.now_ms(person) // 1000
        is_new, count, *_ = await self._scripts.transact(
            [
                ("ZADD", key, "NX", now_s, member),
                ("ZCARD", key),
                # The second one takes a key without a lifetime for one that lives longer.
                ("EXPIRE", key, ttl_s, "NX"),
                ("EXPIRE", key, ttl_s, "GT"),
            ],
            is_read=True,
        )
        if not is_new or count <= most:
            return True
        if count - await self._drop_over(key, now_s - COUNTED_S) <= most:
            return True
        await self.discount(person, conversation, reminder_id)
        return False

    async def discount(self, person: str, conversation: str, reminder_id: str) -> None:
        """Count a reminder no longer, so that another one may come at once."""
        member = _member(conversation, reminder_id)
        await self._scripts.ask("ZREM", Keys(person).of(COUNTED), member)

    async def counted(self, person: str) -> list[tuple[str, str]]:
        """Conversation and id of each reminder that counts for a person; some may be over."""
        members = await self._scripts.ask("ZRANGE", Keys(person).of(COUNTED), 0, -1)
        return [_place_of(member) for member in members]

    async def forget_count(self, _person: str, counted: str) -> None:
        """Delete whose reminders count (``bot.pipeline.feature.Erase``)."""
        for name in (counted, hourly_of(counted)):
            await self._scripts.ask("DEL", Keys(name).of(COUNTED))

    async def _drop_over(self, key: str, until_s: int) -> int:
        """Count no longer what was counted until then and is over; returns the number."""
        old: list[bytes] = await self._scripts.ask("ZRANGEBYSCORE", key, "-inf", until_s)
        stored = await asyncio.gather(*(self.find(*_place_of(member)) for member in old))
        over = [member for member, body in zip(old, stored, strict=True) if not body]
        for member in over:
            await self._scripts.ask("ZREM", key, member)
        return len(over)


def hourly_of(person: str) -> str:
    """The name under which the hourly routines of a person count."""
    return f"{person}:hourly"


def _member(conversation: str, reminder_id: str) -> str:
    return f"{conversation} {reminder_id}"


def _place_of(member: bytes) -> tuple[str, str]:
    conversation, _, reminder_id = member.decode().rpartition(" ")
    return conversation, reminder_id
