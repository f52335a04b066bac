"""Sorts the events of a turn: messages for the model, edits, commands, and what is answered with a
sentence of the catalogue."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from bot.agent.turn import with_edit
from bot.channels import InboundEvent
from bot.commands import OVERHEARD, SpokenCommands
from bot.pipeline.feature import ParsedEvent
from bot.telemetry.observed import OBSERVER, EventTaken, EventUse
from bot.transcript import Message

# The pictures of one album arrive one by one.
ALBUM_WAIT_S = 2.0
ALBUM_POLL_S = 0.2
SLASHES = ("/", "／")

# Stored values of ``InboundEvent.event``:
CANNED: Final = "canned"
CONVERSATION_DELETED: Final = "left"

# In place of messages that a full inbox did not take.
LEFT_OUT: Final = "apology.left_out"


def parse(event: InboundEvent, commands: SpokenCommands) -> ParsedEvent:
    """Find the command in an event's text.

    Where people talk to each other, a word such as "reset" is none: it has to begin with a slash,
    unless its kind is ``OVERHEARD``. A pressed choice is none either, as the model has written it.
    """
    may_be_command = event.event == "message" and not event.action
    command = commands.read(event.message.text) if may_be_command else None
    kind = commands.kinds.get(command or "", "")
    is_meant = kind == OVERHEARD or event.message.text.lstrip().startswith(SLASHES)
    if event.unmentioned and not is_meant:
        return ParsedEvent(event, None)
    return ParsedEvent(event, command, kind)


@dataclass(slots=True)
class Triage:
    """What a batch of events asks for.

    Attributes:
        messages: for the model, with edits made and unsent messages left out.
        edited: new text for messages of earlier turns, by message id; None takes the message back.
        commands: in order.
        canned: events that are answered with a sentence of the catalogue.
        presses: no turn waits for them.
        shown: what features say of them is shown.
        left: people have left the group, or the conversation is over.
        stopped: the turn under way ends.
        superseded: messages before a stop. They stay in the history without an answer.
    """

    messages: list[InboundEvent] = field(default_factory=list)
    edited: dict[str, Message | None] = field(default_factory=dict)
    commands: list[ParsedEvent] = field(default_factory=list)
    canned: list[InboundEvent] = field(default_factory=list)
    presses: list[InboundEvent] = field(default_factory=list)
    shown: list[InboundEvent] = field(default_factory=list)
    left: list[InboundEvent] = field(default_factory=list)
    stopped: bool = False
    superseded: list[InboundEvent] = field(default_factory=list)


def triage(batch: Iterable[ParsedEvent]) -> Triage:
    """Go through a batch in order. What the batch itself takes back is left out, wherever it
    stands.

    A task that came at its time outlives a command that cancels the messages before it.
    """
    found, events, gone = Triage(), list(batch), set[str]()
    ids = {one.event.message.id for one in events}
    unsent = unsent_among(one.event for one in events)
    for one in events:
        event = one.event
        if event.message.id in unsent:
            continue
        if one.is_text:
            found.messages.append(event)
            continue
        if event.scheduled:
            found.shown.append(event)
        if one.command is not None:
            found.commands.append(one)
            if one.cancels:
                found.messages = [event for event in found.messages if event.scheduled]
            if one.forgets:
                gone.add(event.author_id)
        if one.is_stop:
            found.stopped = True
            found.superseded += found.messages
            found.messages.clear()
        elif event.event == CANNED:
            found.canned.append(event)
        elif event.event == "action":
            found.presses.append(event)
        elif event.event == "members_left":
            found.left.append(event)
            gone.update(event.target.split())
        elif event.event == CONVERSATION_DELETED:
            found = Triage(left=[event])
        elif event.target in unsent:
            if event.target not in ids:
                found.edited[event.target] = None
        elif event.is_change:
            _edit(found, event)
    if gone or found.left:
        _drop_scheduled(found, gone)
    if OBSERVER.get():
        for one in events:
            observe_use(one.event, _use(one, found))
    return found


def unsent_among(events: Iterable[InboundEvent]) -> set[str]:
    """The ids of the messages that these events take back."""
    return {event.target for event in events if event.event == "unsent"}


def observe_use(event: InboundEvent, use: EventUse) -> None:
    """Tell observers what becomes of an event."""
    if observe := OBSERVER.get():
        observe(EventTaken(event.message, event.event, use, event.traceparent))


def _use(one: ParsedEvent, found: Triage) -> EventUse:
    """What becomes of an event."""
    uses: dict[EventUse, list[InboundEvent]] = {
        "answered": found.messages,
        "superseded": found.superseded,
        "shown": found.shown,
        "command": [one.event for one in found.commands],
        "canned": found.canned,
        "left": found.left,
    }
    for use, events in uses.items():
        if any(event.message.id == one.event.message.id for event in events):
            return use
    return "changes" if one.event.is_change else "left_out"


def _drop_scheduled(found: Triage, gone: Collection[str]) -> None:
    """Leave out what came at its time for these people, wherever it stands; if the conversation is
    deleted, for all."""
    is_over = any(event.event == CONVERSATION_DELETED for event in found.left)
    for events in (found.messages, found.shown):
        for event in list(events):
            if event.scheduled and (is_over or event.author_id in gone):
                events.remove(event)


def _edit(found: Triage, event: InboundEvent) -> None:
    """Edit a message: here if the batch holds it, else later in the history. Of several edits the
    newest counts."""
    for messages in (found.messages, found.superseded):
        for index, known in enumerate(messages):
            if known.message.id == event.target:
                messages[index] = replace(known, message=with_edit(known.message, event.message))
                return
    other = found.edited.get(event.target)
    if other is None or event.message.at >= other.at:
        found.edited[event.target] = event.message


def belongs(event: InboundEvent, authors: Collection[str]) -> bool:
    """Whether a message may join the turn of these authors.

    A turn answers one person, who decides about calls that act; other people get turns of their
    own. In a group, two people whose ids the platform keeps back count as two.
    """
    return event.author_id in authors and bool(event.author_id or not event.group)


def count_of_one_turn(batch: Sequence[ParsedEvent]) -> int:
    """How many events one turn takes: all before the first message of another person, or their
    command that cancels.

    A task that came at its time shares no turn, nor does an unmentioned message, except with
    changes that follow it.
    """
    first: InboundEvent | None = None
    for count, one in enumerate(batch):
        if first is None:
            if one.is_text:
                first = one.event
            continue
        if first.unmentioned:
            if one.event.is_change:
                continue
            return count
        is_apart = one.is_text and (first.scheduled or one.event.scheduled or one.event.unmentioned)
        if is_apart or ((one.is_text or one.cancels) and not belongs(one.event, {first.author_id})):
            return count
    return len(batch)


async def wait_for_albums(
    batch: Sequence[ParsedEvent], join: Callable[[], Awaitable[list[ParsedEvent]]]
) -> list[ParsedEvent]:
    """Wait until every album in the batch is complete, two seconds at most.

    Args:
        join: takes what has arrived meanwhile out of the inbox.
    """
    known = list(batch)
    waited = 0.0
    while waited < ALBUM_WAIT_S and _is_incomplete(known):
        await asyncio.sleep(ALBUM_POLL_S)
        waited += ALBUM_POLL_S
        known += await join()
    return known


def _is_incomplete(batch: Sequence[ParsedEvent]) -> bool:
    sizes, counts = dict[str, int](), Counter[str]()
    for event, *_ in batch:
        if event.album:
            sizes[event.album.id] = event.album.size
            counts[event.album.id] += 1
    return any(counts[album] < size for album, size in sizes.items())
