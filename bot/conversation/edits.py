"""What is changed or deleted because somebody wants it: edits, messages taken back, /reset, /forget me."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.json import Decoder
from msgspec.structs import replace

from bot.agent.turn import apply_changes
from bot.channels import Delivery, InboundEvent
from bot.conversation.history import KEEP_TURNS, read_turns, wait_for_lease
from bot.conversation.journal import read_event
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, DeadLetter, Lease, Store
from bot.transcript import UNREADABLE, Message, TurnRecord, channel_of, encode

TAKEN_IN = (ARRIVAL, CHANGE, CONTROL, ASIDE)  # of a journal's entries, those that people have sent
OWN, SHARED = "own", "shared"  # whether a person has a conversation alone
DAY_S = 86_400
HOUR_S = 3_600
LEASE_WAIT_S = 8.0  # for a conversation that is answered elsewhere; longer than a lease lives

decode_delivery = Decoder(Delivery).decode


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


class HistoryEditor:
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
        lease_wait_s: float = LEASE_WAIT_S,
    ) -> None:
        self._store = store
        self._forget_files = forget_files
        self._lease_wait_s = lease_wait_s
        self._history_s = history_days * DAY_S + HOUR_S

    async def remember(self, conversation: str, events: Sequence[InboundEvent]) -> None:
        """Write down who talks here, so that they can be forgotten everywhere."""
        for event in events:
            await self._remember(conversation, event)

    async def _remember(self, conversation: str, event: InboundEvent) -> None:
        if (person := _person(conversation, event)) is None:
            return
        entry = f"{SHARED if event.group else OWN} {conversation}"
        await self._store.kv.add(f"person:{person}", entry, self._history_s)

    async def apply(self, lease: Lease, edits: Mapping[str, Message | None]) -> None:
        """Make edits to messages of earlier turns.

        Raises:
            LeaseLost: nothing was changed.
        """
        if edits:
            await self._rewrite(lease, lambda messages: apply_changes(messages, edits))
        if gone := [message_id for message_id, new in edits.items() if new is None]:
            await self._store.leases.forget(lease)
            dead_letters = await self._store.dead_letters.of(lease.conversation)
            await self._discard(
                dead_letter for dead_letter in dead_letters if any(_names(dead_letter, word) for word in gone)
            )

    async def reset(self, lease: Lease) -> None:
        """Forget what was said here. Answers that are still to be delivered may be somebody else's, and are.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._store.leases.forget(lease)
        await self._store.history.purge(lease)
        await self._discard(await self._store.dead_letters.of(lease.conversation))

    async def forget(self, lease: Lease, event: InboundEvent) -> Forgotten:
        """Forget a person: their own conversations, and their words in those they share with others.

        A conversation that is being answered elsewhere is waited for; one that takes longer gets an entry in its inbox,
        and forgets them when its turn has ended.

        Raises:
            LeaseLost: of the conversation at hand.
        """
        await self._store.leases.forget(lease)
        person = _person(lease.conversation, event)
        here = f"{SHARED if event.group else OWN} {lease.conversation}"
        known = await self._store.kv.members(f"person:{person}") if person else []
        forgotten = Forgotten()
        for entry in sorted({*known, here}):
            kind, _, conversation = entry.partition(" ")
            if conversation == lease.conversation:
                forgotten += await self._forget_in(lease, kind, event, is_here=True)
            elif (other := await wait_for_lease(self._store, conversation, self._lease_wait_s)) is None:
                await self._ask_to_forget(conversation, kind, event)
            else:
                forgotten += await self._forget_under(other, kind, event)
        await self._erase(lease.conversation, _author_id(event), {*known, here})
        return forgotten

    async def delete_conversation(self, lease: Lease, event: InboundEvent) -> None:
        """Forget whoever does not want to be written to any more, or a group that the bot is no longer in.

        Raises:
            LeaseLost: not all was deleted.
        """
        if event.group:
            await self._store.leases.forget(lease)
            await self._forget_in(lease, OWN, event, is_here=True)
            await self._erase(lease.conversation, "", {f"{OWN} {lease.conversation}"})
        else:
            await self.forget(lease, event)

    async def _forget_under(self, lease: Lease, kind: str, event: InboundEvent) -> Forgotten:
        """In a conversation where nothing else is done, and which is given back."""
        try:
            if kind == SHARED:
                await self._withdraw(lease, _author_id(event))
            return await self._forget_in(lease, kind, event)
        finally:
            await self._store.leases.release(lease)

    async def _ask_to_forget(self, conversation: str, kind: str, event: InboundEvent) -> None:
        """Have a conversation that is being answered forget somebody at the end of its turn.

        Their own ends altogether. In a shared one their messages are taken back, one by one.
        """
        wish = InboundEvent(Message(f"{event.message.id}:{conversation}", "user", (), event.message.at), event="left")
        if kind == OWN:
            await self._store.inbox.accept(conversation, wish.message.id, encode(wish), ASIDE)
            return
        author_id = _author_id(event)
        bodies = [entry.body for entry in await self._store.journal.read(conversation) if entry.kind in TAKEN_IN]
        bodies += [entry.body for entry in await self._store.inbox.read(conversation)]
        turns = read_turns(await self._store.history.recall(conversation, KEEP_TURNS))
        said = [message for _, record in (*turns.summarised, *turns.since) for message in record.messages]
        said += [event.message for event in map(read_event, bodies) if event]
        for message in said:
            if message.author and message.author.id == author_id:
                back = Message(f"{wish.message.id}:{message.id}", "user", (), event.message.at)
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
        channel = channel_of(conversation)
        own = [place.partition(" ")[2] for place in places if place.startswith(f"{OWN} ")]
        names = {author_id, *(name.rpartition(":")[2] for name in own)} - {""}
        await self._forget_dead_letters(channel, author_id, places)
        await self._store.personal_data.erase(channel, names)
        await self._store.personal_data.compact()

    async def _forget_dead_letters(self, channel: str, author_id: str, places: Collection[str]) -> None:
        """Delete the dead letters of a person's own conversations, and elsewhere in the channel those that name them.

        Whose question an answer of a shared conversation belongs to is known only where its address tells.
        """
        await self._discard(
            dead_letter
            for dead_letter in await self._store.dead_letters.read()
            if f"{OWN} {dead_letter.conversation}" in places
            or (channel_of(dead_letter.conversation) == channel and _names(dead_letter, author_id))
        )

    async def _discard(self, dead_letters: Iterable[DeadLetter]) -> None:
        for dead_letter in dead_letters:
            await self._store.dead_letters.discard(dead_letter)

    async def _forget_in(self, lease: Lease, kind: str, event: InboundEvent, *, is_here: bool = False) -> Forgotten:
        author_id = _author_id(event)
        gone = 0

        def without(messages: list[Message]) -> list[Message]:
            nonlocal gone
            own = {m.id: None for m in messages if kind == OWN or (m.author and m.author.id == author_id)}
            kept = [] if kind == OWN else apply_changes(messages, own)
            gone += len(messages) - len(kept)
            return kept

        await self._rewrite(lease, without, stale=True)  # a summary does not say whose words it tells
        if kind == OWN:
            await self._store.history.erase(lease, whole=not is_here)
            return Forgotten(1, gone, await self._forget_files(lease.conversation))
        deliveries = await self._store.outbox.read(lease.conversation)
        theirs = [one for one in deliveries if _holds(one, author_id) and not _asks_another(one, author_id)]
        await self._store.journal.withdraw(lease, theirs)
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
        for entry, record in (*turns.summarised, *turns.since):
            messages = change(list(record.messages))
            if tuple(messages) != record.messages or (stale and not record.turn_id):
                changes[entry] = _entry(record, messages)
        stale = stale or any(entry in changes for entry, _ in turns.summarised)
        if changes or (stale and turns.summary):
            await self._store.history.rewrite(lease, changes, stale=stale)


def _entry(record: TurnRecord, messages: list[Message]) -> bytes:
    asked = any(message.role == "user" for message in messages)
    return encode(replace(record, messages=tuple(messages))) if asked else b""


def _names(dead_letter: DeadLetter, name: str) -> bool:
    """Whether a dead letter holds an id, as a whole word; this needs no bytes that can be read."""
    held = (dead_letter.conversation.encode(), dead_letter.delivery or b"", *dead_letter.arrivals)
    return any(_holds(part, name) for part in held)


def _holds(data: bytes, name: str) -> bool:
    return bool(name) and re.search(rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode()), data) is not None


def _asks_another(delivery: bytes, author_id: str) -> bool:
    """Whether it is a question that another person is to answer: their turn waits for it."""
    try:
        question = decode_delivery(delivery).reply.question
    except UNREADABLE:
        return False
    return question is not None and question.asker_id != author_id


def _is_by(body: bytes, author_id: str) -> bool:
    """Whether somebody has sent it; what cannot be read is theirs where it names them."""
    event = read_event(body)
    return _holds(body, author_id) if event is None else bool(author_id) and _author_id(event) == author_id


def _author_id(event: InboundEvent) -> str:
    return event.message.author.id if event.message.author else ""


def _person(conversation: str, event: InboundEvent) -> str | None:
    author_id = _author_id(event)
    return f"{channel_of(conversation)}:{author_id}" if author_id else None
