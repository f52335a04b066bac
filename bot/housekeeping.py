"""What is changed or deleted because somebody wants it: edits, messages taken back, /reset, /forget me."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.channels import Arrival
from bot.records import read_turns
from bot.store import DeadLetter, Lease, Store
from bot.transcript import Message, TurnRecord, encode
from bot.turn import changed

KEEP_TURNS = 200  # in the store
OWN, SHARED = "own", "shared"  # whether a person has a conversation alone
DAY_S = 86_400
HOUR_S = 3_600
LOOK_S, ROUNDS = 0.25, 32  # for a conversation that is answered elsewhere: longer than a lease lives
NOTED = 10_000  # notes a process remembers to have written


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted for a person."""

    conversations: int = 0
    messages: int = 0


class Housekeeping:
    """Acts on histories under their leases.

    Args:
        history_days: how long it is kept who talks where; as long as the histories.
    """

    def __init__(self, store: Store, history_days: int, rounds: int = ROUNDS) -> None:
        self._store = store
        self._rounds = rounds
        self._history_s = history_days * DAY_S + HOUR_S
        self._hour = 0
        self._noted: set[tuple[str, str]] = set()  # in this hour, so that it costs nothing in most turns

    async def remember(self, conversation: str, arrivals: Sequence[Arrival]) -> None:
        """Note who talks here, so that they can be forgotten everywhere."""
        for arrival in arrivals:
            await self._remember(conversation, arrival)

    async def _remember(self, conversation: str, arrival: Arrival) -> None:
        if (person := _person(conversation, arrival)) is None:
            return
        entry = f"{SHARED if arrival.group else OWN} {conversation}"
        hour = int(time.monotonic()) // HOUR_S
        if hour != self._hour or len(self._noted) >= NOTED:
            self._hour = hour
            self._noted.clear()
        if (person, entry) not in self._noted:
            await self._store.notes.add(f"person:{person}", entry, self._history_s)
            self._noted.add((person, entry))

    async def apply(self, lease: Lease, edits: Mapping[str, Message | None]) -> None:
        """Make edits to messages of earlier turns.

        Raises:
            LeaseLost: nothing was changed.
        """
        if edits:
            await self._rewrite(lease, lambda messages: changed(messages, edits))
        if gone := [message_id for message_id, new in edits.items() if new is None]:
            letters = await self._store.dead_letters.of(lease.conversation)
            await self._discard(letter for letter in letters if any(_names(letter, word) for word in gone))

    async def reset(self, lease: Lease) -> None:
        """Forget what was said here.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._store.history.purge(lease)
        await self._discard(await self._store.dead_letters.of(lease.conversation))

    async def forget(self, lease: Lease, arrival: Arrival) -> Forgotten:
        """Forget a person: their own conversations, and their words in those they share with others.

        A conversation that is being answered elsewhere is waited for; one that takes longer stays on the person's list,
        for the next time they want to be forgotten.

        Raises:
            LeaseLost: of the conversation at hand.
        """
        person = _person(lease.conversation, arrival)
        here = f"{SHARED if arrival.group else OWN} {lease.conversation}"
        known = await self._store.notes.members(f"person:{person}") if person else []
        forgotten, busy = Forgotten(), []
        for entry in sorted({*known, here}):
            kind, _, conversation = entry.partition(" ")
            if conversation == lease.conversation:
                forgotten = await self._forget_in(lease, kind, arrival, forgotten)
            elif (other := await acquired(self._store, conversation, self._rounds)) is None:
                busy.append(entry)
            else:
                try:
                    forgotten = await self._forget_in(other, kind, arrival, forgotten)
                finally:
                    await self._store.leases.release(other)
        self._noted.clear()
        channel = lease.conversation.partition(":")[0]
        author_id = arrival.message.author.id if arrival.message.author else ""
        await self._forget_letters(channel, author_id, {*known, here})
        if author_id:
            await self._store.erase(channel, author_id)
        for entry in busy:
            await self._store.notes.add(f"person:{person}", entry, self._history_s)
        return forgotten

    async def _forget_letters(self, channel: str, author_id: str, places: Collection[str]) -> None:
        """Delete the dead letters of a person's own conversations, and elsewhere in the channel those that name them.

        Whose question an answer of a shared conversation belongs to is known only where its address tells.
        """
        await self._discard(
            letter
            for letter in await self._store.dead_letters.read()
            if f"{OWN} {letter.conversation}" in places
            or (letter.conversation.partition(":")[0] == channel and _names(letter, author_id))
        )

    async def _discard(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            await self._store.dead_letters.discard(letter)

    async def _forget_in(self, lease: Lease, kind: str, arrival: Arrival, so_far: Forgotten) -> Forgotten:
        author_id = arrival.message.author.id if arrival.message.author else ""
        gone = 0

        def without(messages: list[Message]) -> list[Message]:
            nonlocal gone
            own = {m.id: None for m in messages if kind == OWN or (m.author and m.author.id == author_id)}
            kept = [] if kind == OWN else changed(messages, own)
            gone += len(messages) - len(kept)
            return kept

        await self._rewrite(lease, without, stale=True)  # a summary does not say whose words it tells
        if kind == OWN:
            await self._store.history.purge(lease)
        return Forgotten(so_far.conversations + 1, so_far.messages + gone)

    async def _rewrite(
        self, lease: Lease, change: Callable[[list[Message]], list[Message]], *, stale: bool = False
    ) -> None:
        """Change every turn; one that has lost its last question goes as a whole, answers and results with it.

        A summary that tells of a changed turn goes too. Where everything is ``stale`` it goes in any case, and so do
        turns that nobody can read.
        """
        turns = read_turns(await self._store.history.recall(lease.conversation, KEEP_TURNS))
        changes: dict[bytes, bytes] = {}
        for entry, record in (*turns.told, *turns.since):
            messages = change(list(record.messages))
            if tuple(messages) != record.messages or (stale and not record.turn_id):
                changes[entry] = _entry(record, messages)
        stale = stale or any(entry in changes for entry, _ in turns.told)
        if changes or (stale and turns.summary):
            await self._store.history.rewrite(lease, changes, stale=stale)


async def acquired(store: Store, conversation: str, rounds: int) -> Lease | None:
    """The lease of a conversation, once a turn under way there has ended or its process's lease is over."""
    for _ in range(rounds):
        if (lease := await store.leases.acquire(conversation)) is not None:
            return lease
        await asyncio.sleep(LOOK_S)
    return None


def _entry(record: TurnRecord, messages: list[Message]) -> bytes:
    asked = any(message.role == "user" for message in messages)
    return encode(replace(record, messages=tuple(messages))) if asked else b""


def _names(letter: DeadLetter, name: str) -> bool:
    """Whether a letter holds an id, as a whole word; this needs no bytes that can be read."""
    whole = re.compile(rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode()))
    held = (letter.conversation.encode(), letter.delivery or b"", *letter.arrivals)
    return bool(name) and any(whole.search(part) for part in held)


def _person(conversation: str, arrival: Arrival) -> str | None:
    author = arrival.message.author
    return f"{conversation.partition(':')[0]}:{author.id}" if author and author.id else None
