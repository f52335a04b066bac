"""What is changed or deleted because somebody wants it: edits, messages taken back, /reset, /forget me."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.agent.turn import changed
from bot.channels import InboundEvent
from bot.conversation.journal import decode_arrival
from bot.conversation.records import read_turns
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, DeadLetter, Lease, Store
from bot.transcript import UNREADABLE, Message, TurnRecord, encode

KEEP_TURNS = 200  # in the store
TAKEN_IN = (ARRIVAL, CHANGE, CONTROL, ASIDE)  # of a journal's entries, those that people have sent
OWN, SHARED = "own", "shared"  # whether a person has a conversation alone
DAY_S = 86_400
HOUR_S = 3_600
LOOK_S, ROUNDS = 0.25, 32  # for a conversation that is answered elsewhere: longer than a lease lives
NOTED = 10_000  # notes a process remembers to have written


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted for a person; ``files`` are those that tools kept in their own conversations."""

    conversations: int = 0
    messages: int = 0
    files: int = 0

    def __add__(self, more: Forgotten) -> Forgotten:
        return Forgotten(
            self.conversations + more.conversations, self.messages + more.messages, self.files + more.files
        )


async def no_files(_conversation: str) -> int:
    """No tool keeps any."""
    return 0


class Housekeeping:
    """Acts on histories under their leases.

    Args:
        history_days: how long it is kept who talks where; as long as the histories.
        forget_files: has the tools delete what they keep of a conversation.
    """

    def __init__(
        self,
        store: Store,
        history_days: int,
        forget_files: Callable[[str], Awaitable[int]] = no_files,
        rounds: int = ROUNDS,
    ) -> None:
        self._store = store
        self._forget_files = forget_files
        self._rounds = rounds
        self._history_s = history_days * DAY_S + HOUR_S
        self._hour = 0
        self._noted: set[tuple[str, str]] = set()  # in this hour, so that it costs nothing in most turns

    async def remember(self, conversation: str, arrivals: Sequence[InboundEvent]) -> None:
        """Note who talks here, so that they can be forgotten everywhere."""
        for arrival in arrivals:
            await self._remember(conversation, arrival)

    async def _remember(self, conversation: str, arrival: InboundEvent) -> None:
        if (person := _person(conversation, arrival)) is None:
            return
        entry = f"{SHARED if arrival.group else OWN} {conversation}"
        hour = int(time.monotonic()) // HOUR_S
        if hour != self._hour or len(self._noted) >= NOTED:
            self._hour = hour
            self._noted.clear()
        if (person, entry) not in self._noted:
            await self._store.kv.add(f"person:{person}", entry, self._history_s)
            self._noted.add((person, entry))

    async def apply(self, lease: Lease, edits: Mapping[str, Message | None]) -> None:
        """Make edits to messages of earlier turns.

        Raises:
            LeaseLost: nothing was changed.
        """
        if edits:
            await self._rewrite(lease, lambda messages: changed(messages, edits))
        if gone := [message_id for message_id, new in edits.items() if new is None]:
            await self._store.leases.forget(lease)
            letters = await self._store.dead_letters.of(lease.conversation)
            await self._discard(letter for letter in letters if any(_names(letter, word) for word in gone))

    async def reset(self, lease: Lease) -> None:
        """Forget what was said here. Answers that are still to be delivered may be somebody else's, and are.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._store.leases.forget(lease)
        await self._store.history.purge(lease)
        await self._discard(await self._store.dead_letters.of(lease.conversation))

    async def forget(self, lease: Lease, arrival: InboundEvent) -> Forgotten:
        """Forget a person: their own conversations, and their words in those they share with others.

        A conversation that is being answered elsewhere is waited for; one that takes longer is told, and forgets them
        when its turn has ended.

        Raises:
            LeaseLost: of the conversation at hand.
        """
        await self._store.leases.forget(lease)
        person = _person(lease.conversation, arrival)
        here = f"{SHARED if arrival.group else OWN} {lease.conversation}"
        known = await self._store.kv.members(f"person:{person}") if person else []
        forgotten = Forgotten()
        for entry in sorted({*known, here}):
            kind, _, conversation = entry.partition(" ")
            if conversation == lease.conversation:
                forgotten += await self._forget_in(lease, kind, arrival, is_here=True)
            elif (other := await acquired(self._store, conversation, self._rounds)) is None:
                await self._tell(conversation, kind, arrival)
            else:
                forgotten += await self._forget_under(other, kind, arrival)
        await self._erase(lease.conversation, _author_id(arrival), {*known, here})
        return forgotten

    async def leave(self, lease: Lease, arrival: InboundEvent) -> None:
        """Forget whoever does not want to be written to any more, or a group that the bot is no longer in.

        Raises:
            LeaseLost: not all was deleted.
        """
        if arrival.group:
            await self._store.leases.forget(lease)
            await self._forget_in(lease, OWN, arrival, is_here=True)
            await self._erase(lease.conversation, "", {f"{OWN} {lease.conversation}"})
        else:
            await self.forget(lease, arrival)

    async def _forget_under(self, lease: Lease, kind: str, arrival: InboundEvent) -> Forgotten:
        """In a conversation where nothing else is done, and which is given back."""
        try:
            if kind == SHARED:
                await self._withdraw(lease, _author_id(arrival))
            return await self._forget_in(lease, kind, arrival)
        finally:
            await self._store.leases.release(lease)

    async def _tell(self, conversation: str, kind: str, arrival: InboundEvent) -> None:
        """Have a conversation that is being answered forget somebody at the end of its turn.

        Their own ends altogether. In a shared one their messages are taken back, one by one.
        """
        wish = InboundEvent(
            Message(f"{arrival.message.id}:{conversation}", "user", (), arrival.message.at), event="left"
        )
        if kind == OWN:
            await self._store.inbox.accept(conversation, wish.message.id, encode(wish), ASIDE)
            return
        author_id = _author_id(arrival)
        bodies = [entry.body for entry in await self._store.journal.read(conversation) if entry.kind in TAKEN_IN]
        bodies += [entry.body for entry in await self._store.inbox.read(conversation)]
        turns = read_turns(await self._store.history.recall(conversation, KEEP_TURNS))
        said = [message for _, record in (*turns.told, *turns.since) for message in record.messages]
        said += [told.message for told in map(_arrival, bodies) if told]
        for message in said:
            if message.author and message.author.id == author_id:
                back = Message(f"{wish.message.id}:{message.id}", "user", (), arrival.message.at)
                unsent = encode(InboundEvent(back, event="unsent", target=message.id))
                await self._store.inbox.accept(conversation, back.id, unsent, CHANGE)

    async def _withdraw(self, lease: Lease, author_id: str) -> None:
        """What somebody has said in a conversation and nobody has answered yet; a turn that waits for them goes too."""
        waiting = await self._store.inbox.read(lease.conversation)
        journal = [entry for entry in await self._store.journal.read(lease.conversation) if entry.kind in TAKEN_IN]
        theirs = [entry for entry in journal if not _is_by(entry.body, author_id)]
        gone = [entry.frame for entry in waiting if _is_by(entry.body, author_id)]
        ends = len(theirs) < len(journal)
        if gone or ends:
            await self._store.journal.withdraw(lease, gone, theirs if ends else None)

    async def _erase(self, conversation: str, author_id: str, places: Collection[str]) -> None:
        """What bears somebody's id, or that of a conversation of their own, beside the conversations themselves."""
        channel = conversation.partition(":")[0]
        own = [place.partition(" ")[2] for place in places if place.startswith(f"{OWN} ")]
        names = {author_id, *(name.rpartition(":")[2] for name in own)} - {""}
        self._noted.clear()
        await self._forget_letters(channel, author_id, places)
        await self._store.personal_data.erase(channel, names)
        await self._store.personal_data.compact()

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

    async def _forget_in(self, lease: Lease, kind: str, arrival: InboundEvent, *, is_here: bool = False) -> Forgotten:
        author_id = _author_id(arrival)
        gone = 0

        def without(messages: list[Message]) -> list[Message]:
            nonlocal gone
            own = {m.id: None for m in messages if kind == OWN or (m.author and m.author.id == author_id)}
            kept = [] if kind == OWN else changed(messages, own)
            gone += len(messages) - len(kept)
            return kept

        await self._rewrite(lease, without, stale=True)  # a summary does not say whose words it tells
        if kind == OWN:
            await self._store.history.erase(lease, whole=not is_here)
            return Forgotten(1, gone, await self._forget_files(lease.conversation))
        deliveries = await self._store.outbox.read(lease.conversation)
        await self._store.journal.withdraw(lease, [one for one in deliveries if _holds(one, author_id)])
        return Forgotten(1, gone)

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
    held = (letter.conversation.encode(), letter.delivery or b"", *letter.arrivals)
    return any(_holds(part, name) for part in held)


def _holds(data: bytes, name: str) -> bool:
    return bool(name) and re.search(rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode()), data) is not None


def _arrival(body: bytes) -> InboundEvent | None:
    try:
        return decode_arrival(body)
    except UNREADABLE:
        return None


def _is_by(body: bytes, author_id: str) -> bool:
    """Whether somebody has sent it; what cannot be read is theirs where it names them."""
    arrival = _arrival(body)
    return _holds(body, author_id) if arrival is None else bool(author_id) and _author_id(arrival) == author_id


def _author_id(arrival: InboundEvent) -> str:
    return arrival.message.author.id if arrival.message.author else ""


def _person(conversation: str, arrival: InboundEvent) -> str | None:
    author_id = _author_id(arrival)
    return f"{conversation.partition(':')[0]}:{author_id}" if author_id else None
