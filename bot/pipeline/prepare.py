"""Takes events from the inbox into one turn, and makes the model's messages of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from msgspec.structs import replace

from bot.agent.turn import ApprovalDecision, TurnUpdate, apply_changes
from bot.channels import InboundEvent
from bot.clock import DAY_S, HOUR_S
from bot.errors import StoreUnavailable
from bot.live_events import Joined, Watcher
from bot.pipeline.feature import Feature, ParsedEvent
from bot.pipeline.history import rewrite
from bot.pipeline.journal import newest_address, read_event, read_undelivered
from bot.pipeline.select import (
    belongs,
    count_of_one_turn,
    parse,
    triage,
    wait_for_albums,
)
from bot.pipeline.services import Services
from bot.safe_text.glyphs import safe_name
from bot.store import ARRIVAL, CHANGE, CONTROL, InboxEntry, JournalledTurn, Lease, entry_of
from bot.store.keys import person_of
from bot.transcript import Message, channel_of

log = structlog.stdlib.get_logger(__name__)

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# After so many changes of its messages a turn reads no more edits: it would never end.
MOST_CHANGES = 10


# An entry of the inbox, and its content.
WaitingEvent = tuple[InboxEntry, ParsedEvent]


class Attempt:
    """One attempt at a turn: it receives the turn's events.

    Args:
        events: those that its journal holds.

    Attributes:
        quietly: show nothing of the answer before it is delivered.
        history_changed: since the turn began.
        begun_at: ``time.monotonic()`` of the attempt.
        address: where the answer goes: the address of the newest message or decision.
        authors: ids of the people whose messages may join; others get turns of their own. None may
            join a routine.
        decisions: ids of messages that have decided a question; they belong to this turn wherever
            they stand.
        newest: the newest message.
        has_left_some: what this turn does not answer is in the inbox again.
        received: the messages, with names.
        changes: ids of the edits and retractions that have joined the turn.
        message_ids: ids of the other events, so of all messages that the turn answers.
        is_blocked: an entry of the inbox cannot be read, so nothing after it can join.
    """

    def __init__(
        self,
        services: Services,
        lease: Lease,
        journalled: JournalledTurn,
        events: Iterable[InboundEvent],
        *,
        quietly: bool = False,
    ) -> None:
        self._services = services
        self.lease = lease
        self.channel = services.channels[channel_of(lease.conversation)]
        self.journalled = journalled
        self.quietly = quietly
        self.history_changed = False
        self.begun_at = time.monotonic()
        self.address = ""
        self.authors: set[str] = set()
        self.decisions: set[str] = set()
        self.newest: InboundEvent | None = None
        self.has_left_some = False
        self.received: list[InboundEvent] = []
        self.changes: set[str] = set()
        self.message_ids: set[str] = set()
        self._note_ids(events)
        self.is_blocked = False
        self._indexing: list[asyncio.Future[Any]] = []

    @property
    def may_be_edited(self) -> bool:
        """Whether edits still count before the answer; messages taken back always do."""
        return len(self.changes) < MOST_CHANGES

    async def begin(self, batch: list[ParsedEvent]) -> list[ParsedEvent]:
        """Choose what a turn without steps answers: the messages of one person, with complete
        albums, or one task.

        Raises:
            LeaseLost: another process has the turn.
        """
        own = batch[: count_of_one_turn(batch)]
        if others := len(batch) - len(own):
            self.has_left_some = True
            await self._services.store.journal.give_back(self.lease, others)
            return own
        for one in own:
            if one.is_text and not one.event.scheduled:
                self.authors.add(one.event.author_id)
        if self.journalled.is_resumed:  # messages may have been changed since it was begun
            own += await self._join_changes()
        return await wait_for_albums(own, self._join_waiting)

    async def check(self, watcher: Watcher, *, only_changes: bool = False) -> TurnUpdate:
        """Let what may join the turn do so, in the middle of the turn.

        Raises:
            LeaseLost: another process has the turn.
        """
        if only_changes:
            joined = await self._join_changes()
        else:
            joined = await wait_for_albums(await self._join_admitted(), self._join_admitted)
        events = [one.event for one in joined]
        return await self.join(watcher, events) if joined else TurnUpdate()

    async def join(self, watcher: Watcher, events: Sequence[InboundEvent]) -> TurnUpdate:
        """Make events that the journal has part of the turn: messages, and changes to earlier
        messages.

        Raises:
            LeaseLost: another process has the turn.
        """
        found = triage(parse(event, self._services.commands) for event in events)
        if found.edited:
            await self.change_history(events, found.edited)
        new = found.superseded + [one.event for one in found.commands] + found.messages
        messages: tuple[Message, ...] = ()
        if new:
            await watcher.show(Joined(tuple(event.message.id for event in new)))
            messages = await self.receive(new, is_new=False)
        else:
            self._note(events)
        return TurnUpdate(messages, found.edited, found.stopped)

    async def change_history(
        self, events: Sequence[InboundEvent], edits: Mapping[str, Message | None]
    ) -> None:
        """Make edits to earlier turns, and have features make them to what came of these.

        Args:
            events: have brought the edits.

        Raises:
            LeaseLost: another process has the turn.
        """
        # Features may need the history as it was.
        await self._services.features.each(Feature.change, self.lease, edits, events)
        await rewrite(
            self._services.store, self.lease, lambda messages: apply_changes(messages, edits)
        )

    async def receive(self, events: Sequence[InboundEvent], *, is_new: bool) -> tuple[Message, ...]:
        """Make messages for the model, with names, dates and references to pictures.

        Args:
            is_new: the conversation has no history yet.
        """
        self._note(events)
        conversation = self.lease.conversation
        enriched = await self.channel.enrich(conversation, events, is_new=is_new)
        before = [event.message for event in (*self.received, *enriched)]
        received, messages = list[InboundEvent](), list[Message]()
        for event in enriched:
            if event.quotes or event.group:
                for add_to in self._services.features.hooks(Feature.receive):
                    event = await add_to(conversation, event, before)
            received.append(event)
            line = context_line(event, self.channel.name, self._services.time_zone(event))
            messages.append(replace(event.message, context=line))
        self.received += received
        belongings, index_s = self._services.store.belongings, _index_s(self._services)
        for person, entry in _entries_of(conversation, received):
            self._indexing.append(belongings.add_later(person, [entry], index_s))
        return tuple(messages)

    async def finish(self) -> None:
        """Make sure that the conversation is indexed under its authors, after the commit that went
        with that."""
        outcomes = await asyncio.gather(*self._indexing, return_exceptions=True)
        if any(isinstance(outcome, BaseException) for outcome in outcomes):
            try:
                await index(self._services, self.lease.conversation, self.received)
            except StoreUnavailable as error:
                # The turn is committed, and its answer has to go out.
                log.warning("person.not_indexed", cause=str(error))

    async def is_to_stop(self) -> bool:
        """Whether the inbox holds a stop that cannot join the turn yet."""
        return any(one.is_stop for _, one in await self._read_inbox())

    def note_decision(self, decision: ApprovalDecision) -> None:
        """Answer where the decision was taken: the person who took it reads there."""
        self.address = decision.address or self.address
        if decision.message_id:
            self.decisions.add(decision.message_id)

    async def _join_waiting(self) -> list[ParsedEvent]:
        """Move what may join from the inbox into the turn's journal."""
        return await self._join(self._select_joining(await self._read_inbox()))

    async def _join_admitted(self) -> list[ParsedEvent]:
        """Move what may join, within the day's limits, into the turn's journal; the rest is for the
        next turn.

        With a stop nothing is limited: the turn ends, and no message before it is answered.
        """
        joining = self._select_joining(await self._read_inbox())
        messages = []
        for entry, one in joining:
            if entry.kind == ARRIVAL and one.event.message.id not in self.decisions:
                messages.append(one.event)
        if messages and not any(one.is_stop for _, one in joining):
            admit = self._services.features.limits.admit_joining
            number = await admit(self.lease.conversation, self.journalled.turn_id, messages)
            later = {event.message.id for event in messages[number:]}
            joining = [each for each in joining if each[1].event.message.id not in later]
            joining = _without_changes_of(later, joining)
        return await self._join(joining)

    async def _join_changes(self) -> list[ParsedEvent]:
        """Move changes into the turn's journal, except those of messages that wait too."""
        waiting = await self._read_inbox()
        return await self._join(_without_changes_of(_message_ids(waiting), _changes_among(waiting)))

    async def _join(self, waiting: Sequence[WaitingEvent]) -> list[ParsedEvent]:
        """Move these into the turn's journal.

        An edit stays until the turn's end where it reopens another turn, whose answer waits; a
        message that is taken back leaves the requests at once. An edit of this turn's own messages
        never stays: the commit would wait for it, whatever the outbox holds.
        """
        store, elsewhere = self._services.store, set[str]()
        if _changes_among(waiting):
            for _, delivery in await read_undelivered(store, self.lease.conversation):
                if delivery.may_be_reopened:
                    elsewhere.update(delivery.answers)
        elsewhere -= self.message_ids
        frames, joined = [], []
        for entry, one in waiting:
            if one.event.event != "edited" or one.event.target not in elsewhere:
                frames.append(entry.frame)
                joined.append(one)
        if joined:
            await store.journal.join(self.lease, frames)
            self._note_ids(one.event for one in joined)
        return joined

    def _note_ids(self, events: Iterable[InboundEvent]) -> None:
        """Remember what the journal holds."""
        for event in events:
            ids = self.changes if event.is_change else self.message_ids
            ids.add(event.message.id)

    async def _read_inbox(self) -> list[WaitingEvent]:
        waiting = []
        self.is_blocked = False
        for entry in await self._services.store.inbox.read(self.lease.conversation):
            if (event := read_event(entry.body)) is None:
                # The next turn deals with this entry and with all that follow.
                self.is_blocked = True
                break
            waiting.append((entry, parse(event, self._services.commands)))
        return waiting

    def _select_joining(self, waiting: Sequence[WaitingEvent]) -> list[WaitingEvent]:
        """Select what may join now.

        With a stop in the inbox: all before it and the changes after it, except messages of people
        whose turn does not end, and changes to messages that wait. Otherwise: all before the first
        entry that has to wait, messages that have decided a question, and changes to messages that
        do not wait.
        """
        ended, after_stop = set(self.authors), 0
        for number, (_, one) in enumerate(waiting, 1):
            if one.is_stop:
                ended.add(one.event.author_id)
                after_stop = number
        if after_stop:
            run = [each for each in waiting[:after_stop] if _ends_with_stop(each, ended)]
            stay = _message_ids(waiting) - _message_ids(run)
            return _without_changes_of(stay, run + _changes_among(waiting[after_stop:]))
        run = list(takewhile(self._may_join, waiting))
        later = waiting[len(run) :]
        free = []
        for entry, one in later:
            if entry.kind == CHANGE or one.event.message.id in self.decisions:
                free.append((entry, one))
        return run + _without_changes_of(_message_ids(later), free)

    def _may_join(self, waiting: WaitingEvent) -> bool:
        entry, one = waiting
        is_message = entry.kind == ARRIVAL and not one.event.scheduled
        return entry.kind == CHANGE or (is_message and belongs(one.event, self.authors))

    def _note(self, events: Sequence[InboundEvent]) -> None:
        for event in events:
            if event.event == "message":
                self.newest = event
                if not event.scheduled:
                    self.authors.add(event.author_id)
        self.address = newest_address(events, self.address)


async def index(services: Services, conversation: str, events: Sequence[InboundEvent]) -> None:
    """Index the conversation under its people, so that whoever deletes what is kept of a person
    finds all of their conversations."""
    for person, entry in _entries_of(conversation, events):
        await services.store.belongings.add(person, entry, _index_s(services))


def _entries_of(conversation: str, events: Iterable[InboundEvent]) -> set[tuple[str, str]]:
    """The events' authors and everybody whom they quote, with the conversation's entry."""
    entries = set[tuple[str, str]]()
    for event in events:
        people = {event.author_id, *(quote.author_id for quote in event.message.quotes)} - {""}
        entry = entry_of(conversation, shared=event.group)
        entries.update((person_of(conversation, author_id), entry) for author_id in people)
    return entries


def _index_s(services: Services) -> int:
    return services.defaults.history_days * DAY_S + HOUR_S


def _ends_with_stop(waiting: WaitingEvent, ended: Collection[str]) -> bool:
    """Whether an entry before a stop joins the turn that it ends. What is no message is for the
    next turn.

    Args:
        ended: the authors whose turn ends.
    """
    entry, one = waiting
    if entry.kind == ARRIVAL:
        return belongs(one.event, ended) and not one.event.scheduled
    return entry.kind in (CHANGE, CONTROL)


def _without_changes_of(
    ids: Collection[str], waiting: Iterable[WaitingEvent]
) -> list[WaitingEvent]:
    """The entries without changes of these messages, which stay in the inbox: there the changes are
    found with them."""
    left = []
    for entry, one in waiting:
        if entry.kind != CHANGE or one.event.target not in ids:
            left.append((entry, one))
    return left


def _changes_among(waiting: Iterable[WaitingEvent]) -> list[WaitingEvent]:
    return [each for each in waiting if each[0].kind == CHANGE]


def _message_ids(waiting: Iterable[WaitingEvent]) -> set[str]:
    return {one.event.message.id for _, one in waiting}


def context_line(event: InboundEvent, channel: str, time_zone: str) -> str:
    """``[Saturday 2026-11-21 21:57 Asia/Tokyo, line, group, from Hanako]``.

    The same event always gives the same bytes, so that a model's prompt cache holds. A name can
    neither close the brackets nor imitate the words between them.
    """
    author = event.message.author
    at = datetime.fromtimestamp(event.message.at / 1000, ZoneInfo(time_zone))
    words = [
        f"{WEEKDAYS[at.weekday()]} {at:%Y-%m-%d %H:%M} {time_zone}",
        channel,
        "group" if event.group else "1:1",
    ]
    if author and (name := safe_name(author.name)):
        words.append(f"from {name}")
    return f"[{', '.join(words)}]"
