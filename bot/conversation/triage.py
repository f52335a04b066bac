"""What a batch of arrivals comes to: the messages a model shall read, and what else is to be done first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.commands import SpokenCommands
from bot.transcript import Message

WAIT_S = 2.0
LOOK_S = 0.2  # pictures of one album arrive one by one

Command = str  # a row of the table in bot.conversation.commands


@dataclass(slots=True)
class Triage:
    """A batch, sorted out.

    Attributes:
        messages: for the model, with edits made and messages taken back left out.
        edited: new words for messages of earlier turns, by message id; None takes the message back.
        commands: a command and the arrival that gave it, in order.
        canned: arrivals answered with our own sentence.
        conversation_deleted: what ended the conversation.
        stopped: somebody wants the turn under way to end.
        superseded: messages that are therefore not answered, and still part of the conversation.
    """

    messages: list[InboundEvent] = field(default_factory=list)
    edited: dict[str, Message | None] = field(default_factory=dict)
    commands: list[tuple[Command, InboundEvent]] = field(default_factory=list)
    canned: list[InboundEvent] = field(default_factory=list)
    conversation_deleted: InboundEvent | None = None
    stopped: bool = False
    superseded: list[InboundEvent] = field(default_factory=list)


def triage(events: Sequence[InboundEvent], commands: SpokenCommands) -> Triage:
    """Go through a batch in order.

    A message that stands before ``/stop``, ``/reset`` or ``/forget me`` is not answered any more. A decision about a
    question that is not open any more is answered with a sentence.
    """
    batch = Triage()
    for event in events:
        if event.event == "message":
            command = command_of(event, commands)
            if command is None:
                batch.messages.append(event)
                continue
            batch.commands.append((command, event))
            if command == "stop":
                _stop(batch)
            elif command in ("reset", "forget"):
                batch.messages.clear()
        elif event.event == "told":
            batch.canned.append(event)
        elif event.event == "decision":
            batch.canned.append(replace(event, target="approval.over"))
        elif event.event == "stop":
            _stop(batch)
        elif event.event == "left":
            batch = Triage(conversation_deleted=event)
        else:
            _change(batch, event)
    return batch


def command_of(event: InboundEvent, commands: SpokenCommands) -> Command | None:
    """The command that the words of an event are, if they are one."""
    return commands.read(event.message.text) if event.event == "message" else None


def is_text(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether an event is a message for the model."""
    return event.event == "message" and commands.read(event.message.text) is None


def belongs(event: InboundEvent, authors: Collection[str]) -> bool:
    """Whether words may join a turn of these people.

    A turn answers one person, who decides about what acts and in whose name it is done; everybody else has turns of
    their own. In a group, two people whose ids the platform keeps back count as two.
    """
    return event.author_id in authors and bool(event.author_id or not event.group)


def count_of_one_turn(events: Sequence[InboundEvent], commands: SpokenCommands) -> int:
    """How many arrivals, from the first on, one turn takes in: all before the first words of another person."""
    authors: set[str] = set()
    for count, event in enumerate(events):
        if is_text(event, commands):
            if authors and not belongs(event, authors):
                return count
            authors.add(event.author_id)
    return len(events)


def is_stop(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether somebody wants the turn under way to end."""
    return event.event == "stop" or command_of(event, commands) == "stop"


def _stop(batch: Triage) -> None:
    batch.stopped = True
    batch.superseded += batch.messages
    batch.messages.clear()


def _change(batch: Triage, event: InboundEvent) -> None:
    """An edit or a message taken back: in this batch where it stands here, else in the history."""
    new = event.message if event.event == "edited" else None
    place = next((n for n, known in enumerate(batch.messages) if known.message.id == event.target), None)
    if place is None:
        batch.edited[event.target] = new
    elif new is None:
        del batch.messages[place]
    else:
        known = batch.messages[place]
        batch.messages[place] = replace(known, message=replace(known.message, parts=new.parts))


async def with_whole_albums(
    events: Sequence[InboundEvent], more: Callable[[], Awaitable[list[InboundEvent]]]
) -> list[InboundEvent]:
    """The arrivals, with those that come in while an album's other pictures are waited for.

    Args:
        more: takes in what has arrived meanwhile.
    """
    known = list(events)
    waited = 0.0
    while waited < WAIT_S and _is_incomplete(known):
        await asyncio.sleep(LOOK_S)
        waited += LOOK_S
        known += await more()
    return known


def _is_incomplete(events: Sequence[InboundEvent]) -> bool:
    albums = {event.album: event.album_size for event in events if event.album}
    return any(sum(event.album == album for event in events) < size for album, size in albums.items())
