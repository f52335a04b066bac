"""What a batch of arrivals comes to: the messages a model shall read, and what else is to be done first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.transcript import Message

Command = str  # help, reset, forget, stop or usage


@dataclass(slots=True)
class Triage:
    """A batch, sorted out.

    Attributes:
        messages: for the model, with edits made and messages taken back left out.
        edited: new words for messages of earlier turns, by message id; None takes the message back.
        commands: a command and the arrival that gave it, in order.
        told: arrivals answered with our own sentence.
        left: what ended the conversation.
        stopped: somebody wants the turn under way to end.
        dropped: messages that are therefore not answered, and still part of the conversation.
    """

    messages: list[InboundEvent] = field(default_factory=list)
    edited: dict[str, Message | None] = field(default_factory=dict)
    commands: list[tuple[Command, InboundEvent]] = field(default_factory=list)
    told: list[InboundEvent] = field(default_factory=list)
    left: InboundEvent | None = None
    stopped: bool = False
    dropped: list[InboundEvent] = field(default_factory=list)


def triage(arrivals: Sequence[InboundEvent], command_in: Callable[[str], Command | None]) -> Triage:
    """Go through a batch in order.

    A message that stands before ``/stop``, ``/reset`` or ``/forget me`` is not answered any more. A decision about a
    question that is not open any more is answered with a sentence.

    Args:
        command_in: the command that a message's words are, if they are one.
    """
    batch = Triage()
    for arrival in arrivals:
        if arrival.event == "message":
            command = command_in(arrival.message.text)
            if command is None:
                batch.messages.append(arrival)
                continue
            batch.commands.append((command, arrival))
            if command == "stop":
                _stop(batch)
            elif command in ("reset", "forget"):
                batch.messages.clear()
        elif arrival.event == "told":
            batch.told.append(arrival)
        elif arrival.event == "decision":
            batch.told.append(replace(arrival, target="approval.over"))
        elif arrival.event == "stop":
            _stop(batch)
        elif arrival.event == "left":
            batch = Triage(left=arrival)
        else:
            _change(batch, arrival)
    return batch


def belongs(arrival: InboundEvent, authors: Collection[str]) -> bool:
    """Whether words may join a turn of these people.

    A turn answers one person, who decides about what acts and in whose name it is done; everybody else has turns of
    their own. In a group, two people whose ids the platform keeps back cannot be told apart.
    """
    return arrival.author_id in authors and bool(arrival.author_id or not arrival.group)


def count_of_one_turn(arrivals: Sequence[InboundEvent], command_in: Callable[[str], Command | None]) -> int:
    """How many arrivals, from the first on, one turn takes in: all before the first words of another person."""
    authors: set[str] = set()
    for count, arrival in enumerate(arrivals):
        if arrival.event == "message" and command_in(arrival.message.text) is None:
            if authors and not belongs(arrival, authors):
                return count
            authors.add(arrival.author_id)
    return len(arrivals)


def is_stop(arrival: InboundEvent, command_in: Callable[[str], Command | None]) -> bool:
    """Whether somebody wants the turn under way to end."""
    return arrival.event == "stop" or (arrival.event == "message" and command_in(arrival.message.text) == "stop")


def _stop(batch: Triage) -> None:
    batch.stopped = True
    batch.dropped += batch.messages
    batch.messages.clear()


def _change(batch: Triage, arrival: InboundEvent) -> None:
    """An edit or a message taken back: in this batch where it stands here, else in the history."""
    new = arrival.message if arrival.event == "edited" else None
    place = next((n for n, known in enumerate(batch.messages) if known.message.id == arrival.target), None)
    if place is None:
        batch.edited[arrival.target] = new
    elif new is None:
        del batch.messages[place]
    else:
        known = batch.messages[place]
        batch.messages[place] = replace(known, message=replace(known.message, parts=new.parts))
