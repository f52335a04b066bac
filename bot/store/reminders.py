"""Reminders: kept in their conversation, and moved into its inbox when their time has come."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import Keys, alarm_indexes, reminders_of_key
from bot.store.leases import read_due
from bot.store.scripts import Scripts

COUNTED_S = 10  # a reminder is kept within this time after it was counted

# A person's reminders in all conversations, by the time at which they were counted. Those that have
# come stay until there are too many: then the script returns all that may be over.
COUNT = """#!lua flags=allow-oom
local counted, member = KEYS[1], ARGV[1]
local most, ttl, young = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = tonumber(redis.call('TIME')[1])
if not redis.call('ZSCORE', counted, member) then
    if redis.call('ZCARD', counted) >= most then
        return redis.call('ZRANGEBYSCORE', counted, '-inf', now - young)
    end
    redis.call('ZADD', counted, now, member)
end
if redis.call('TTL', counted) < ttl then
    redis.call('EXPIRE', counted, ttl)
end
return false
"""


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

        One script counts, so that calls at once do not pass the limit. A process that stands still
        between counting and keeping for longer than ``COUNTED_S`` may: by one reminder.

        Returns:
            False if the person has ``most`` others.
        """
        key, member = reminders_of_key(person), _member(conversation, reminder_id)
        async with translate_errors():
            while (
                old := await self._client.eval(COUNT, 1, key, member, most, ttl_s, COUNTED_S)
            ) is not None:
                kept = await asyncio.gather(*map(self._is_kept, old))
                if not (
                    over := [one for one, is_kept in zip(old, kept, strict=True) if not is_kept]
                ):
                    return False
                await self._client.zrem(key, *over)
        return True

    async def discount(self, person: str, conversation: str, reminder_id: str) -> None:
        """Count a reminder no longer, so that another one may come at once."""
        async with translate_errors():
            await self._client.zrem(reminders_of_key(person), _member(conversation, reminder_id))

    async def counted(self, person: str) -> list[tuple[str, str]]:
        """Conversation and id of each reminder that counts for a person; some may be over."""
        async with translate_errors():
            members = cast(
                "list[bytes]", await self._client.zrange(reminders_of_key(person), 0, -1)
            )
        places = [member.decode().rpartition(" ") for member in members]
        return [(conversation, reminder_id) for conversation, _, reminder_id in places]

    async def _is_kept(self, member: bytes) -> bool:
        conversation, _, reminder_id = member.decode().rpartition(" ")
        return bool(
            await cast("Any", self._client.hexists(Keys(conversation).reminders, reminder_id))
        )

    async def add(
        self, conversation: str, reminder_id: str, author: str, at: int, body: bytes
    ) -> None:
        """Keep a reminder; a known id changes nothing. ``at`` is in ms of the store's clock."""
        await self._scripts.run("remind", conversation, reminder_id, author, at, body)

    async def read(self, conversation: str) -> dict[str, bytes]:
        """The bodies by reminder id."""
        async with translate_errors():
            kept = cast(
                "dict[bytes, bytes]", await self._client.hgetall(Keys(conversation).reminders)
            )
        return {
            reminder_id.decode(): value.partition(b"\n")[2] for reminder_id, value in kept.items()
        }

    async def due(self, limit: int) -> list[Alarm]:
        """The reminders whose time has come, the oldest first."""
        due = await read_due(self._client, alarm_indexes(), limit)
        return [Alarm(at, *member.rpartition(" ")[::2]) for at, member in due]

    async def ring(self, alarm: Alarm, event_id: str, event: bytes, again: Next | None) -> bool:
        """Move a reminder into the inbox, once for each of its times; whether it was this call that
        did.

        Args:
            event: the inbound event with this id.
            again: None: the reminder is over.
        """
        after = (again.at, again.body) if again else ("", b"")
        arguments = (alarm.reminder_id, alarm.at, event_id, event, *after)
        return bool(
            await self._scripts.run("ring", alarm.conversation, *arguments, message_id=event_id)
        )

    async def amend(
        self, conversation: str, reminder_id: str, body: bytes, *, rests: bool = False
    ) -> None:
        """Change a reminder that still exists; one that rests does not come again."""
        await self._scripts.run(
            "amend_reminder", conversation, reminder_id, body, "rests" if rests else ""
        )

    async def drop(self, conversation: str, author: str, reminder_id: str = "") -> int:
        """Delete an author's reminders in a conversation, or one of them; returns their number."""
        return int(
            await self._scripts.run("drop_reminders", conversation, "author", author, reminder_id)
        )

    async def drop_all(self, conversation: str) -> int:
        """Delete everybody's reminders in a conversation; returns their number."""
        return int(await self._scripts.run("drop_reminders", conversation, "all", "", ""))


def _member(conversation: str, reminder_id: str) -> str:
    return f"{conversation} {reminder_id}"
