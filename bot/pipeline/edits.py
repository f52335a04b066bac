"""Changes and deletions that people ask for: edits, messages taken back, /reset, /forget me."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from bot.agent.turn import apply_changes
from bot.channels import Channel, Delivery, InboundEvent
from bot.pipeline.cancellation import CHANGES, Change
from bot.pipeline.features import NO_FEATURES, Features
from bot.pipeline.history import KEEP_TURNS, messages_of, read_turns, wait_for_lease
from bot.pipeline.journal import (
    newest_address,
    read_event,
    read_waiting,
    readable,
    readable_events,
)
from bot.pipeline.select import CONVERSATION_DELETED
from bot.pipeline.undelivered import (
    read_stored,
    read_undelivered,
    stays_without,
    takes_back,
    taking_back,
    taking_back_each,
)
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, DeadLetter, Lease, Store, keys
from bot.transcript import (
    Message,
    TurnRecord,
    channel_of,
    encode,
    without_quotes,
)

# The kinds of journal entries that are inbound events.
INBOUND = (ARRIVAL, CHANGE, CONTROL, ASIDE)
# A conversation belongs to one person, or to several.
OWN, SHARED = "own", "shared"
DAY_S = 86_400
HOUR_S = 3_600
# The wait for a conversation that another process answers is longer than a lease lives.
LEASE_WAIT_S = 8.0
NO_CHANNELS: Mapping[str, Channel] = {}


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted for a person; ``files`` counts files that tools had stored for the person's
    conversations."""

    conversations: int = 0
    messages: int = 0
    files: int = 0

    def __add__(self, more: Forgotten) -> Forgotten:
        return Forgotten(
            self.conversations + more.conversations,
            self.messages + more.messages,
            self.files + more.files,
        )


async def no_files(_conversation: str) -> int:
    """Delete nothing, for tools that store no files."""
    return 0


class HistoryEditor:
    """Changes and deletes histories, each under its conversation's lease.

    Args:
        history_days: lifetime of the histories, and of the index of people's conversations.
        forget_files: has the tools delete their files of a conversation, and returns their number.
        lease_wait_s: how long to wait for a conversation that another process answers.
        channels: those that are on, by name.
    """

    def __init__(
        self,
        store: Store,
        history_days: int,
        forget_files: Callable[[str], Awaitable[int]] = no_files,
        lease_wait_s: float = LEASE_WAIT_S,
        channels: Mapping[str, Channel] = NO_CHANNELS,
        features: Features = NO_FEATURES,
    ) -> None:
        self._store = store
        self._forget_files = forget_files
        self._lease_wait_s = lease_wait_s
        self._channels = channels
        self._features = features
        self._history_s = history_days * DAY_S + HOUR_S

    async def remember(self, conversation: str, events: Sequence[InboundEvent]) -> None:
        """Index the conversation under its authors, so that ``/forget me`` finds all conversations
        of a person."""
        for person, entry in _entries_of(conversation, events):
            await self._store.belongings.add(person, entry, self._history_s)

    def remember_later(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> list[asyncio.Future[Any]]:
        """The same with the process's next request; done, or failed, when that is answered."""
        add, entries = self._store.belongings.add_later, _entries_of(conversation, events)
        return [add(person, [entry], self._history_s) for person, entry in entries]

    async def apply(self, lease: Lease, edits: Mapping[str, Message | None]) -> None:
        """Make edits to messages of earlier turns.

        Raises:
            LeaseLost: nothing was changed.
        """
        if edits:
            await self._rewrite(lease, lambda messages: apply_changes(messages, edits))
            await self._features.change(lease.conversation, edits)
        if deleted := [message_id for message_id, new in edits.items() if new is None]:
            for dead_letter in await self._store.dead_letters.of(lease.conversation):
                if _names(dead_letter, *deleted):
                    await self._store.dead_letters.discard(dead_letter)

    async def reset(self, lease: Lease) -> None:
        """Delete the history. The outbox stays: its answers may be for other people.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._store.history.purge(lease, self._features.purged)
        for dead_letter in await self._store.dead_letters.of(lease.conversation):
            await self._store.dead_letters.discard(dead_letter)

    async def end_membership(self, lease: Lease, leavers: Collection[str]) -> None:
        """Delete what features keep of people who have left this group, also reminders that have
        come and were not delivered yet, and their unmentioned messages.

        Raises:
            LeaseLost: those that have come may still be delivered.
        """
        for author_id in leavers:
            await self._forget_kept(lease.conversation, SHARED, author_id)
        await self._withdraw_rung(lease, SHARED, leavers)
        reminders = []
        for raw, delivery in await read_undelivered(self._store, lease.conversation):
            if delivery.asker in leavers and not delivery.address:
                reminders.append(raw)
        if reminders:
            await self._store.journal.withdraw(lease, reminders)
        overheard = await self._features.overheard(lease.conversation)
        if gone := [one.id for one in overheard if one.author and one.author.id in leavers]:
            await self._features.change(lease.conversation, dict.fromkeys(gone))

    async def forget(self, lease: Lease, event: InboundEvent) -> Forgotten:
        """Delete a person's own conversations, and their messages in shared conversations.

        If another process keeps a conversation's lease for longer than ``lease_wait_s``, the
        conversation gets an entry in its inbox and deletes the messages after its present turn.

        Raises:
            LeaseLost: this conversation's lease is lost.
        """
        forgotten, done = Forgotten(), set[str]()
        # Some entries are added while others are forgotten.
        while left := await self._entries(lease, event) - done:
            for entry in sorted(left):
                forgotten += await self._forget_entry(lease, entry, event)
            done |= left
        await self._erase(lease.conversation, event.author_id, done)
        if (person := person_of(lease.conversation, event)) is not None:
            await self._store.belongings.remove(person, done)
        return forgotten

    async def _entries(self, lease: Lease, event: InboundEvent) -> set[str]:
        """The person's conversations, as ``remember`` writes them."""
        person = person_of(lease.conversation, event)
        known = await self._store.belongings.read(person) if person else []
        conversations = [entry for entry in known if entry.startswith((OWN, SHARED))]
        return {*conversations, entry_of(lease.conversation, event)}

    async def _forget_entry(self, lease: Lease, entry: str, event: InboundEvent) -> Forgotten:
        kind, _, conversation = entry.partition(" ")
        if conversation == lease.conversation:
            return await self._forget_in(lease, kind, event, is_here=True)
        if (other := await wait_for_lease(self._store, conversation, self._lease_wait_s)) is None:
            await self._forget_kept(conversation, kind, event.author_id)
            await self._request_deletion(conversation, kind, event)
            return Forgotten()
        return await self._forget_under(other, kind, event)

    async def delete_conversation(self, lease: Lease, event: InboundEvent) -> None:
        """Delete everything after somebody has blocked the bot, or a group has removed it.

        Raises:
            LeaseLost: the deletion is incomplete.
        """
        if event.group:
            await self._forget_in(lease, OWN, event, is_here=True)
            await self._erase(lease.conversation, "", {f"{OWN} {lease.conversation}"})
        else:
            await self.forget(lease, event)

    async def _forget_under(self, lease: Lease, kind: str, event: InboundEvent) -> Forgotten:
        """Forget a person in another conversation, and release its lease."""
        try:
            if kind == SHARED:
                await self._withdraw(lease, event.author_id)
            return await self._forget_in(lease, kind, event)
        finally:
            await self._store.leases.release(lease)

    async def _request_deletion(self, conversation: str, kind: str, event: InboundEvent) -> None:
        """Put deletions into the inbox of a conversation that another process answers.

        A person's own conversation ends. In a shared one each of their messages is taken back.
        """
        empty = Message(f"{event.message.id}:{conversation}", "user", (), event.message.at)
        deletion = InboundEvent(empty, event=CONVERSATION_DELETED)
        if kind == OWN:
            await self._store.inbox.accept(
                conversation, deletion.message.id, encode(deletion), ASIDE
            )
            return
        running = readable_events(await self._store.journal.read(conversation))
        asked = {one.message.id for one in running}
        waiting = await read_waiting(self._store, conversation)
        turns = read_turns(await self._store.history.recall(conversation, KEEP_TURNS))
        known = messages_of(turns.all)
        known += await self._features.overheard(conversation)  # a turn under way may quote it
        known += [one.message for one in (*running, *waiting)]
        own, quoted = _ids_of(event.author_id, known)
        for message_id in dict.fromkeys(own + quoted):
            back = Message(f"{deletion.message.id}:{message_id}", "user", (), event.message.at)
            unsent = encode(InboundEvent(back, event="unsent", target=message_id))
            await self._store.inbox.accept(conversation, back.id, unsent, CHANGE)
            if message_id in asked:
                # The request to the model ends, so that it asks for no call that stores more.
                change = Change(conversation, message_id, back.id, is_unsent=True)
                await self._store.live.publish(CHANGES, encode(change))

    async def _withdraw(self, lease: Lease, author_id: str) -> None:
        """Delete a person's unanswered messages; give up a turn that answers them, with what it has
        shown."""
        waiting = await self._store.inbox.read(lease.conversation)
        frames = [entry.frame for entry in waiting if _is_by(entry.body, author_id)]
        others, gives_up = [], False
        for entry in await self._store.journal.read(lease.conversation):
            if entry.kind not in INBOUND:
                continue
            if _is_by(entry.body, author_id):
                gives_up = True
            else:
                others.append(entry)
        if gives_up:
            await self._take_back(lease, await self._shown_by_turn(lease.conversation))
        if frames or gives_up:
            await self._store.journal.withdraw(lease, frames, others if gives_up else None)

    async def _erase(self, conversation: str, author_id: str, entries: Collection[str]) -> None:
        """Delete dead letters, and what belongs to a person and to their own conversations.

        Args:
            entries: the person's conversations, as ``remember`` writes them.
        """
        channel, person = channel_of(conversation), f"{channel_of(conversation)}:{author_id}"
        own = _conversations(entries, OWN)
        await self._forget_dead_letters(channel, author_id, entries)
        data = self._store.personal_data
        if author_id:
            shared = _conversations(entries, SHARED)
            await self._withdraw_shown(person, author_id, {*own, *shared})
            await data.erase_in_shared(shared, author_id)
            await data.erase_person(person, self._features.kept)
        for place in sorted(self._places(own)):
            await data.erase_place(place, self._features.kept)
        names = {author_id, *(one.rpartition(":")[2] for one in own)}
        await self._store.files.erase(channel, names - {""})
        self._store.prefetches.clear()
        await self._store.dead_letters.compact()

    def _places(self, conversations: Iterable[str]) -> set[str]:
        """Where what belongs to conversations is stored."""
        places = set(conversations)
        for conversation in conversations:
            if channel := self._channels.get(channel_of(conversation)):
                places.add(channel.place(conversation).id)
                places |= self._features.places(conversation)
        return places

    async def _forget_dead_letters(
        self, channel: str, author_id: str, entries: Collection[str]
    ) -> None:
        """Delete the dead letters of a person's own conversations, and others of the channel that
        hold their id."""
        for dead_letter in await self._store.dead_letters.read():
            conversation = dead_letter.conversation
            is_named = channel_of(conversation) == channel and _names(dead_letter, author_id)
            if is_named or f"{OWN} {conversation}" in entries:
                await self._store.dead_letters.discard(dead_letter)

    async def _withdraw_shown(self, person: str, author_id: str, done: Collection[str]) -> None:
        """Delete what is to be shown of what features keep of a person, but for conversations where
        that is done. Where another process is about to show it, it soon goes."""
        shows = set[str]()
        for entry in await self._store.belongings.read(person):
            kind, conversation, *_ = entry.split(" ")
            if kind in self._features.shown:
                shows.add(conversation)
        for conversation in sorted(shows - set(done)):
            if not await self._deliveries_with(conversation, author_id):
                continue
            lease = await wait_for_lease(self._store, conversation, self._lease_wait_s)
            if lease is not None:
                theirs = await self._deliveries_with(conversation, author_id)
                await self._store.journal.withdraw(lease, theirs)
                await self._store.leases.release(lease)

    async def _deliveries_with(self, conversation: str, author_id: str) -> list[bytes]:
        """The deliveries of an outbox that hold a person's id."""
        deliveries = await self._store.outbox.read(conversation)
        return [one for one in deliveries if _holds(one, author_id)]

    async def _forget_in(
        self, lease: Lease, kind: str, event: InboundEvent, *, is_here: bool = False
    ) -> Forgotten:
        author_id = event.author_id
        deleted = 0

        def without(messages: list[Message]) -> list[Message]:
            nonlocal deleted
            left: list[Message] = []
            if kind == SHARED:
                own, quoted = _ids_of(author_id, messages)
                others = apply_changes(messages, dict.fromkeys(own))
                left = [without_quotes(message, set(quoted)) for message in others]
            deleted += len(messages) - len(left)
            return left

        # A summary does not name the authors of what it holds.
        await self._rewrite(lease, without, stale=True)
        await self._forget_kept(lease.conversation, kind, author_id)
        await self._withdraw_rung(lease, kind, {author_id})
        if kind == OWN:
            await self._erase_history(lease, whole=not is_here)
            return Forgotten(1, deleted, await self._forget_files(lease.conversation))
        theirs = []
        for raw in await read_stored(self._store, lease.conversation):
            if _holds(raw, author_id) and not stays_without(author_id, raw):
                theirs.append(raw)
        waiting = await read_undelivered(self._store, lease.conversation)
        shown = [one.delivery for one in waiting if one.raw in theirs]
        await self._take_back(lease, taking_back_each(shown))
        await self._store.journal.withdraw(lease, theirs)
        return Forgotten(1, deleted)

    async def _erase_history(self, lease: Lease, *, whole: bool) -> None:
        """Erase a conversation (``History.erase``), with what was shown of answers that are not
        finished."""
        left: list[Delivery] = []
        if self._can_take_back(lease.conversation):
            undelivered = await read_undelivered(self._store, lease.conversation)
            waiting = [one.delivery for one in undelivered]
            left += filter(takes_back, waiting)
            left += taking_back_each(waiting)
            if whole:
                left += await self._shown_by_turn(lease.conversation)
        sends, erased = [encode(one) for one in left], self._features.erased
        await self._store.history.erase(lease, sends, erased, whole=whole)

    async def _take_back(self, lease: Lease, deliveries: Sequence[Delivery]) -> None:
        """Have the channel delete what was shown, if it can."""
        if deliveries and self._can_take_back(lease.conversation):
            for one in deliveries:
                await self._store.journal.dismiss(lease, b"", encode(one))

    async def _shown_by_turn(self, conversation: str) -> list[Delivery]:
        """The delivery that deletes what the turn under way has shown, if there is one."""
        turn_id = await self._store.journal.turn_id(conversation)
        events = readable_events(await self._store.journal.read(conversation))
        address = newest_address(events)
        return [taking_back(turn_id, address, 0)] if turn_id and address else []

    def _can_take_back(self, conversation: str) -> bool:
        channel = self._channels.get(channel_of(conversation))
        return channel is not None and channel.abilities.deletes

    async def _forget_kept(self, conversation: str, kind: str, author_id: str) -> None:
        if kind == OWN or author_id:
            await self._features.forget_in(conversation, None if kind == OWN else author_id)

    async def _withdraw_rung(self, lease: Lease, kind: str, author_ids: Collection[str]) -> None:
        """Delete reminders that have come and were not delivered yet."""
        frames = []
        for entry, event in readable(await self._store.inbox.read(lease.conversation)):
            if event.scheduled and (kind == OWN or event.author_id in author_ids):
                frames.append(entry.frame)
        if frames:
            await self._store.journal.withdraw(lease, frames)

    async def _rewrite(
        self, lease: Lease, change: Callable[[list[Message]], list[Message]], *, stale: bool = False
    ) -> None:
        """Change every turn. A turn without user messages is deleted, with its answers and results.

        A summary is deleted if one of its turns has changed.

        Args:
            stale: delete the summary and all unreadable turns too.
        """
        turns = read_turns(await self._store.history.recall(lease.conversation, KEEP_TURNS))
        changes: dict[bytes, bytes] = {}
        for entry, record in turns.all:
            messages = change(list(record.messages))
            if tuple(messages) != record.messages or (stale and not record.turn_id):
                changes[entry] = _encode(record, messages)
        stale = stale or any(entry in changes for entry, _ in turns.summarised)
        if changes or (stale and turns.summary):
            await self._store.history.rewrite(lease, changes, stale=stale)


def entry_of(conversation: str, event: InboundEvent) -> str:
    return f"{SHARED if event.group else OWN} {conversation}"


def _conversations(entries: Iterable[str], kind: str) -> list[str]:
    """The conversations of the entries of a kind."""
    return [entry.partition(" ")[2] for entry in entries if entry.startswith(f"{kind} ")]


def _encode(record: TurnRecord, messages: list[Message]) -> bytes:
    asked = any(message.role == "user" for message in messages)
    return encode(replace(record, messages=tuple(messages))) if asked else b""


def _ids_of(author_id: str, messages: Iterable[Message]) -> tuple[list[str], list[str]]:
    """The ids of a person's messages, and of those that are quoted in messages."""
    own, quoted = [], []
    for message in messages:
        if message.author and message.author.id == author_id:
            own.append(message.id)
        for quote in message.quotes:
            if quote.author_id == author_id:
                quoted.append(quote.id)
    return own, quoted


def _names(dead_letter: DeadLetter, *names: str) -> bool:
    """Whether a dead letter holds one of these ids as a whole word; works on bytes that cannot be
    decoded too."""
    for part in (dead_letter.conversation.encode(), dead_letter.delivery, *dead_letter.arrivals):
        if part and any(_holds(part, name) for name in names):
            return True
    return False


def _holds(data: bytes, name: str) -> bool:
    word = rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode())
    return bool(name) and re.search(word, data) is not None


def _is_by(body: bytes, author_id: str) -> bool:
    """Whether an event is by this author; an unreadable one is if it holds the author's id."""
    event = read_event(body)
    if event is None:
        return _holds(body, author_id)
    return bool(author_id) and event.author_id == author_id


def person_of(conversation: str, event: InboundEvent) -> str | None:
    return keys.person_of(conversation, event.author_id) if event.author_id else None


def _entries_of(conversation: str, events: Iterable[InboundEvent]) -> set[tuple[str, str]]:
    """The events' authors and everybody whom they quote, with the conversation's entry."""
    entries = set[tuple[str, str]]()
    for event in events:
        people = {event.author_id, *(quote.author_id for quote in event.message.quotes)} - {""}
        for author_id in people:
            person = keys.person_of(conversation, author_id)
            entries.add((person, entry_of(conversation, event)))
    return entries
