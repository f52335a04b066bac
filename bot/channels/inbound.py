"""What comes in: the events of an inbox."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from bot.transcript import Message

# Actions, by feature.
STOP = "turn.stop"
STICKER = "sticker."  # before what a sticker says, such as thanks


class Album(Struct, frozen=True):
    """A set of images that were sent together; they make one question."""

    id: str
    size: int


class InboundEvent(Struct, frozen=True, omit_defaults=True):
    """An event in the inbox.

    Attributes:
        message: the text; for other events an empty message with the event's own id, author and
            time.
        address: where the answer goes (reply token and its age, thread …); the channel's own JSON.
        group: several people read the conversation.
        event: ``message`` is for the model; ``edited`` replaces the text of message ``target``;
            ``unsent`` deletes message ``target``; ``canned`` gets the answer ``target`` (a key of
            the catalogue); ``left`` deletes the conversation and everything stored of it;
            ``members_left`` ends what people had in the group, whose ids are the words of
            ``target``; ``action`` is a pressed button.
        target: what the event is about. Of an action, the button's value.
        action: a feature's name and a verb: what a button does, or what a message is made of in
            place of words that were typed.
        scheduled: a feature has put the event into the inbox at its time, in the author's name:
            what the feature says of it is ``shown`` (``Feature.announce``), or it is a ``task`` for
            the model, which shares no turn.
        quotes: id of the message that this one quotes.
        unmentioned: several people read the conversation, and the message does not call the bot.
        indexed: of a message whose conversation the platform does not name when the message is
            changed: ``Host.find_conversation`` knows it.
        album: that the message is of.
    """

    message: Message
    address: str = ""
    group: bool = False
    event: Literal["message", "edited", "unsent", "canned", "left", "members_left", "action"] = (
        "message"
    )
    target: str = ""
    action: str = ""
    scheduled: Literal["", "shown", "task"] = ""
    quotes: str = ""
    unmentioned: bool = False
    indexed: bool = False
    album: Album | None = None

    @property
    def is_change(self) -> bool:
        """Whether it changes message ``target``."""
        return self.event in ("edited", "unsent")

    @property
    def author_id(self) -> str:
        """The platform's id of the author; empty if unknown."""
        return self.message.author.id if self.message.author else ""
