"""Schedules: values of conversations that are due at a time, each taken into the inbox then."""

from __future__ import annotations

from typing import NamedTuple

from bot.store.clients import Scripts
from bot.store.keys import Keys, times_indexes
from bot.store.server import Command


class DueValue(NamedTuple):
    """A value whose time has come; ``at`` is that time, ms of the store's clock."""

    at: int
    conversation: str
    id: str


class Next(NamedTuple):
    """When a value is due again, and what it is then."""

    at: int
    value: bytes


class Schedule:
    """The values of one kind, which names their keys; a value is whatever the caller stores. A
    value is kept until ``SCHEDULED_S`` after its time."""

    def __init__(self, scripts: Scripts, kind: str) -> None:
        self._scripts = scripts
        self._kind = kind

    async def add(self, conversation: str, value_id: str, at: int, value: bytes) -> None:
        """Keep a value; a known id changes nothing. ``at`` is in ms of the store's clock."""
        await self._set(conversation, value_id, at, value)

    async def amend(self, conversation: str, value_id: str, value: bytes) -> None:
        """Change a value that still exists."""
        await self._set(conversation, value_id, "", value)

    async def read(self, conversation: str) -> dict[str, bytes]:
        """The values by id."""
        stored = await self._scripts.ask("HGETALL", Keys(conversation).of(self._kind))
        return {value_id.decode(): value for value_id, value in stored.items()}

    async def find(self, conversation: str, value_id: str) -> bytes:
        """A value; empty where there is none."""
        found = await self._scripts.ask("HGET", Keys(conversation).of(self._kind), value_id)
        return found or b""

    async def due(self, limit: int) -> list[DueValue]:
        """The values whose time has come, the oldest first."""
        due = await self._scripts.due(times_indexes(self._kind), limit)
        return [DueValue(at, *member.rpartition(" ")[::2]) for at, member in due]

    async def take(self, due: DueValue, event_id: str, event: bytes, again: Next | None) -> bool:
        """Take a value into the inbox, once for each of its times; whether it was this call that
        did.

        Args:
            event: the inbound event with this id.
            again: None: the value is deleted.
        """
        here = due.conversation
        next_at, next_value = again or ("", b"")
        arguments = [here, due.id, due.at, event_id, event, next_at, next_value]
        keys = {**self._keys(here), "seen": Keys(here).seen(event_id)}
        return bool(await self._scripts.run("take_due", here, arguments, keys))

    async def rest(self, conversation: str, value_id: str) -> None:
        """Keep a value that is due no more."""
        await self._scripts.transact([self._unschedule(conversation, value_id)])

    async def drop(self, conversation: str, ids: list[str]) -> None:
        """Delete values."""
        commands: list[Command] = []
        for value_id in ids:
            commands.append(("HDEL", Keys(conversation).of(self._kind), value_id))
            commands.append(self._unschedule(conversation, value_id))
        if commands:
            await self._scripts.transact(commands)

    async def _set(self, conversation: str, value_id: str, at: int | str, value: bytes) -> None:
        arguments, keys = [conversation, value_id, at, value], self._keys(conversation)
        await self._scripts.run("schedule", conversation, arguments, keys)

    def _unschedule(self, conversation: str, value_id: str) -> Command:
        return ("ZREM", Keys(conversation).times(self._kind), f"{conversation} {value_id}")

    def _keys(self, conversation: str) -> dict[str, str]:
        own = Keys(conversation)
        return {"values": own.of(self._kind), "times": own.times(self._kind)}
