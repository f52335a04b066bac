"""Live events: what a viewer sees of a turn while it runs. Events may be lost; the outbox holds the
answer."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.json import Decoder

from toolset.shown import Card

SAY = "message.say"  # the action of buttons that say something in the presser's name


class Button(Struct, frozen=True, omit_defaults=True):
    """A button: its press is an event of kind ``action`` with this action and value; with the
    action ``SAY`` it is a message, whose text is the value.

    Attributes:
        action: a feature's name and a verb, as ``poll.vote``; at most 40 characters.
        value: what the action is about; at most 200 characters, none of them white space.
        closes: it closes what the card asks, and is set apart from the others.
        style: ``main`` is the one that a card is about; ``quick`` is shown only where it goes with
            the next message; ``good`` and ``bad`` ask what people think of an answer, where a
            platform has such buttons; ``open`` and ``done`` tick a row, and say what it is now.
    """

    label: str
    action: str
    value: str = ""
    closes: bool = False
    style: Literal["", "main", "quick", "good", "bad", "open", "done"] = ""


class TurnStarted(Struct, frozen=True, tag="started"):
    """A turn answers these messages; ``user_ids`` are their ids."""

    turn_id: str
    user_ids: tuple[str, ...]


class Joined(Struct, frozen=True, tag="joined"):
    """These messages have joined the turn."""

    user_ids: tuple[str, ...]


class AnswerText(Struct, frozen=True, tag="text"):
    """More text of the answer."""

    text: str


class AnswerRestarted(Struct, frozen=True, tag="restarted"):
    """The text since the last tool result is void: the model is asked again."""


class ToolStarted(Struct, frozen=True, tag="tool_started"):
    """A tool runs; ``title`` is its name for people, where it has one."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    title: str = ""


class ToolFinished(Struct, frozen=True, tag="tool_finished"):
    """A tool has its result after ``ms`` milliseconds."""

    call_id: str
    name: str
    response: dict[str, Any]
    is_error: bool
    ms: int
    is_rejected: bool = False


class CardShown(Struct, frozen=True, tag="card"):
    """A card with buttons as it stands, in place of an earlier one with the same key.

    Attributes:
        until: when it expires, milliseconds since the epoch, if it waits for a decision (see
            ``bot.channels.ButtonCard``); 0 for others.
        call_id: of the tool call that waits for the decision, and is not made yet.
    """

    key: str
    title: str
    rows: tuple[tuple[str, str], ...]
    note: str
    buttons: tuple[Button, ...]
    until: int = 0
    call_id: str = ""


class CardClosed(Struct, frozen=True, tag="card_closed"):
    """What a card waited for is decided; the text says how."""

    key: str
    text: str


class Noticed(Struct, frozen=True, tag="noticed"):
    """A sentence outside of turns, such as that a question was decided already."""

    text: str


class ShownFile(Struct, frozen=True):
    """A file of the answer.

    Attributes:
        path: on this server; empty if there are only words.
        text: the content in words.
        url: the whole address; empty without PUBLIC_URL.
    """

    path: str
    name: str
    text: str
    url: str = ""


class Answered(Struct, frozen=True, tag="answered"):
    """The turn is over; ``text`` is the whole answer, ``note`` cause and fix for an operator after
    a failure."""

    turn_id: str
    text: str
    failed: bool = False
    note: str = ""
    files: tuple[ShownFile, ...] = ()
    cards: tuple[Card, ...] = ()
    buttons: tuple[Button, ...] = ()
    ratings: tuple[Button, ...] = ()


LiveEvent = (
    TurnStarted
    | Joined
    | AnswerText
    | AnswerRestarted
    | ToolStarted
    | ToolFinished
    | CardShown
    | CardClosed
    | Noticed
    | Answered
)
decode_event = Decoder(LiveEvent).decode


class Watcher(Protocol):
    """Takes live events; must not raise and must not wait for a slow viewer."""

    async def show(self, event: LiveEvent) -> None:
        """Pass one event on."""
        ...
