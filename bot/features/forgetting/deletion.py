"""Deletes what is kept of a person or a conversation, each conversation under its lease."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bot.agent.turn import apply_changes
from bot.channels import Delivery, InboundEvent
from bot.interrupts import TOPIC, Interrupt
from bot.pipeline.feature import Feature
from bot.pipeline.history import KEEP_TURNS, messages_of, read_turns, rewrite
from bot.pipeline.journal import (
    decode_delivery,
    deletion_of,
    deletions_of,
    newest_address,
    read_event,
    read_stored,
    read_undelivered,
    read_waiting,
    readable,
    readable_events,
)
from bot.pipeline.select import CONVERSATION_DELETED
from bot.pipeline.services import Services
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, OWN, SHARED, Lease, entry_of, holds
from bot.store.keys import person_of
from bot.transcript import UNREADABLE, Message, channel_of, encode, without_quotes

# The kinds of journal entries that are inbound events.
INBOUND = (ARRIVAL, CHANGE, CONTROL, ASIDE)
# The wait for a conversation that another process answers is longer than a lease lives.
LEASE_WAIT_S = 8.0


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


class Deletion:
    """Deletes what is kept.

    Args:
        lease_wait_s: how long to wait for a conversation that another process answers.
    """

    def __init__(self, services: Services, lease_wait_s: float = LEASE_WAIT_S) -> None:
        self._services = services
        self._store = services.store
        self._features = services.features
        self._lease_wait_s = lease_wait_s

    async def end_membership(self, lease: Lease, leavers: Collection[str]) -> None:
        """Delete what features keep of people who have left this group, also reminders that have
        come and were not delivered yet.

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

    async def forget(self, lease: Lease, event: InboundEvent) -> Forgotten:
        """Delete a person's own conversations, and their messages in shared conversations.

        If another process keeps a conversation's lease for longer than ``lease_wait_s``, the
        conversation gets an entry in its inbox and deletes the messages after its present turn.

        Raises:
            LeaseLost: this conversation's lease is lost.
        """
        person = person_of(lease.conversation, event.author_id) if event.author_id else ""
        here = entry_of(lease.conversation, shared=event.group)
        forgotten, done = Forgotten(), set[str]()
        # Some entries are added while others are forgotten.
        while left := {here, *await self._conversations(person)} - done:
            for entry in sorted(left):
                forgotten += await self._forget_entry(lease, entry, event)
            done |= left
        await self._erase(lease.conversation, event.author_id, done)
        if person:
            await self._store.belongings.remove(person, done)
        return forgotten

    async def _conversations(self, person: str) -> list[str]:
        """The entries of the person's conversations."""
        known = await self._store.belongings.read(person) if person else []
        return [entry for entry in known if entry.startswith((OWN, SHARED))]

    async def _forget_entry(self, lease: Lease, entry: str, event: InboundEvent) -> Forgotten:
        kind, _, conversation = entry.partition(" ")
        if conversation == lease.conversation:
            return await self._forget_in(lease, kind, event, is_here=True)
        if (other := await self._store.leases.wait_for(conversation, self._lease_wait_s)) is None:
            await self._request_deletion(conversation, kind, event)
            await self._forget_kept(conversation, kind, event.author_id)
            return Forgotten()
        try:
            if kind == SHARED:
                await self._withdraw(other, event.author_id)
            return await self._forget_in(other, kind, event)
        finally:
            await self._store.leases.release(other)

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
                interrupt = Interrupt(conversation, back.id, message_id, is_unsent=True)
                await self._store.live.publish(TOPIC, encode(interrupt))

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
            entries: of the person's conversations.
        """
        channel, person = channel_of(conversation), person_of(conversation, author_id)
        own = _named_by(entries, OWN)
        await self._forget_dead_letters(channel, author_id, own)
        data = self._store.personal_data
        if author_id:
            shared = _named_by(entries, SHARED)
            await self._withdraw_shown(person, author_id, {*own, *shared})
            await data.erase_in_shared(shared, author_id)
            await data.erase_person(person, self._features.kept)
        places = set(own)
        for one in own:
            places.add(self._services.place(one))
            for places_of in self._features.hooks(Feature.places):
                places.update(places_of(one))
        for place in sorted(places):
            await data.erase_place(place, self._features.kept)
        names = {author_id, *(one.rpartition(":")[2] for one in own)}
        await self._store.files.erase(channel, names - {""})
        self._store.scripts.drop()
        await self._store.dead_letters.compact()

    async def _forget_dead_letters(
        self, channel: str, author_id: str, conversations: Collection[str]
    ) -> None:
        """Delete the dead letters of a person's own conversations, and others of the channel that
        hold their id."""
        for dead_letter in await self._store.dead_letters.read():
            is_named = channel_of(dead_letter.conversation) == channel
            if dead_letter.conversation in conversations or (
                is_named and dead_letter.names(author_id)
            ):
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
            lease = await self._store.leases.wait_for(conversation, self._lease_wait_s)
            if lease is not None:
                theirs = await self._deliveries_with(conversation, author_id)
                await self._store.journal.withdraw(lease, theirs)
                await self._store.leases.release(lease)

    async def _deliveries_with(self, conversation: str, author_id: str) -> list[bytes]:
        """The deliveries of an outbox that hold a person's id."""
        deliveries = await self._store.outbox.read(conversation)
        return [one for one in deliveries if holds(one, author_id)]

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
        await rewrite(self._store, lease, without, stale=True)
        await self._forget_kept(lease.conversation, kind, author_id)
        await self._withdraw_rung(lease, kind, {author_id})
        if kind == OWN:
            await self._erase_history(lease, whole=not is_here)
            return Forgotten(1, deleted, await self._services.tools.forget(lease.conversation))
        theirs = []
        for raw in await read_stored(self._store, lease.conversation):
            if holds(raw, author_id) and not _stays_without(author_id, raw):
                theirs.append(raw)
        waiting = await read_undelivered(self._store, lease.conversation)
        shown = [one.delivery for one in waiting if one.raw in theirs]
        await self._take_back(lease, deletions_of(shown))
        await self._store.journal.withdraw(lease, theirs)
        return Forgotten(1, deleted)

    async def _erase_history(self, lease: Lease, *, whole: bool) -> None:
        """Erase a conversation (``History.erase``), with what was shown of answers that are not
        finished."""
        left: list[Delivery] = []
        if self._can_take_back(lease.conversation):
            undelivered = await read_undelivered(self._store, lease.conversation)
            waiting = [one.delivery for one in undelivered]
            left += [one for one in waiting if one.deletes is not None]
            left += deletions_of(waiting)
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
        return [deletion_of(turn_id, address, 0)] if turn_id and address else []

    def _can_take_back(self, conversation: str) -> bool:
        channel = self._services.channel(conversation)
        return channel is not None and channel.abilities.deletes

    async def _forget_kept(self, conversation: str, kind: str, author_id: str) -> None:
        if kind == OWN or author_id:
            whose = None if kind == OWN else author_id
            await self._features.each(Feature.forget_in, conversation, whose)

    async def _withdraw_rung(self, lease: Lease, kind: str, author_ids: Collection[str]) -> None:
        """Delete reminders that have come and were not delivered yet."""
        frames = []
        for entry, event in readable(await self._store.inbox.read(lease.conversation)):
            if event.scheduled and (kind == OWN or event.author_id in author_ids):
                frames.append(entry.frame)
        if frames:
            await self._store.journal.withdraw(lease, frames)


def _named_by(entries: Iterable[str], kind: str) -> list[str]:
    """The conversations of the entries of a kind."""
    return [entry.partition(" ")[2] for entry in entries if entry.startswith(f"{kind} ")]


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


def _stays_without(author_id: str, raw: bytes) -> bool:
    """Whether a delivery stays when this person is forgotten: it deletes what was shown, or asks
    another person, whose turn waits for the answer."""
    try:
        delivery = decode_delivery(raw)
    except UNREADABLE:
        return False
    asks_another = bool(delivery.reply.awaited) and delivery.asker != author_id
    return delivery.deletes is not None or asks_another


def _is_by(body: bytes, author_id: str) -> bool:
    """Whether an event is by this author; an unreadable one is if it holds the author's id."""
    event = read_event(body)
    if event is None:
        return holds(body, author_id)
    return bool(author_id) and event.author_id == author_id
