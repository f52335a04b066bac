"""What comes in: the events of an inbox."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from bot.transcript import Message


class InboundEvent(Struct, frozen=True, omit_defaults=True):
    """An event in the inbox.

    Attributes:
        message: the text; for other events an empty message with the event's own id, author and
            time.
        address: where the answer goes (reply token and its age, thread …); the channel's own JSON.
        group: several people read the conversation.
        event: ``message`` is for the model; ``edited`` replaces the text of message ``target``;
            ``unsent`` deletes message ``target``; ``told`` gets the canned answer ``target`` (a key
            of the catalogue); ``left`` deletes the conversation and everything stored of it;
            ``members_left`` ends what ``leavers`` had in the group; ``stop`` ends the turn under
            way; ``decision`` answers question ``target`` with ``approved``; ``vote`` presses a
            button of poll ``target``, ``fetch`` the button for late answers of conversation
            ``target``, and neither gets into an inbox.
        album: id of a set of ``album_size`` images that were sent together; they make one question.
        reminder: the event is a reminder of the author whose time has come. The text of one that is
            ``due``, ``late`` or ``missed`` is shown; a ``routine`` or a ``late_routine`` is a
            message for the model. ``target`` is the reminder's id.
        planned_at: of a reminder, milliseconds since the epoch.
        choice: of a vote, the number of an option, from 1; 0 closes the poll. Of a message, the
            number of the choice that was pressed, if the platform tells it from words: then it
            decides no question.
        courtesy: what a message without words says and asks nothing with, such as a sticker; a row
            of the catalogue's table ``courtesy``.
        quotes: id of the message that this one quotes.
        indexed: of a message whose conversation the platform does not name when the message is
            changed: ``Host.find_conversation`` knows it.
        leavers: ids of people who have left the group: their reminders in it end, and their
            unmentioned messages go.
        unmentioned: several people read the conversation, and the message does not call the bot.
    """

    message: Message
    address: str = ""
    group: bool = False
    event: Literal[
        "message",
        "edited",
        "unsent",
        "canned",
        "left",
        "members_left",
        "stop",
        "decision",
        "vote",
        "fetch",
    ] = "message"
    target: str = ""
    approved: bool = False
    album: str = ""
    album_size: int = 0
    reminder: Literal["", "due", "late", "missed", "routine", "late_routine"] = ""
    planned_at: int = 0
    choice: int = 0
    courtesy: str = ""
    quotes: str = ""
    unmentioned: bool = False
    indexed: bool = False
    leavers: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether it changes message ``target``."""
        return self.event in ("edited", "unsent")

    @property
    def is_routine(self) -> bool:
        return self.reminder.endswith("routine")

    @property
    def author_id(self) -> str:
        """The platform's id of the author; empty if unknown."""
        return self.message.author.id if self.message.author else ""
