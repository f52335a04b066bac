"""The Protocol of a channel: routes for what comes in, delivery for what goes out.

``registry`` lists the packages that implement it. Everybody else knows only this Protocol, and what
it speaks of: the events that come in, the replies that leave (``replies``), and what a channel gets
from Kaiwa (``host``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from bot.channels.host import (
    NO_FILES,
    Accept,
    Confirmation,
    DailyUse,
    Files,
    Host,
    KeptCommand,
    KeptItem,
    KeptSection,
    KeyValue,
    Listens,
    MayUse,
    Notify,
    Overviews,
    Upload,
    Uploads,
    notify_nobody,
)
from bot.channels.places import (
    AS_EVERYWHERE,
    PlaceLimit,
    PlaceSettings,
    PlaceUnit,
    SettingsOf,
    Speak,
    as_everywhere,
)
from bot.channels.replies import (
    ButtonCard,
    Delivery,
    KeptDelivery,
    Reply,
    fits,
    say_buttons,
    whole_of,
)
from bot.live_events import SAY, Button, LiveEvent, Watcher
from bot.transcript import Media, Message

# What stands in the other files.
__all__ = [
    "AS_EVERYWHERE",
    "NO_FILES",
    "SAY",
    "Accept",
    "Button",
    "ButtonCard",
    "Confirmation",
    "DailyUse",
    "Delivery",
    "Files",
    "Host",
    "KeptCommand",
    "KeptDelivery",
    "KeptItem",
    "KeptSection",
    "KeyValue",
    "Listens",
    "MayUse",
    "Media",
    "NoWatcher",
    "Notify",
    "Overviews",
    "PlaceLimit",
    "PlaceSettings",
    "PlaceUnit",
    "Reply",
    "SettingsOf",
    "Speak",
    "Upload",
    "Uploads",
    "Watcher",
    "as_everywhere",
    "fits",
    "notify_nobody",
    "say_buttons",
    "whole_of",
]

MOST_FILES = 4  # of one tool call, and of one answer
Take = Callable[[bytes], bool]  # takes the next piece of a file; false if no more of it is wanted
AssertLease = Callable[
    [], Awaitable[None]
]  # raises LeaseLost if another process holds the conversation now


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
        traceparent: of the request that has brought it (W3C Trace Context), where turns are traced.
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
    traceparent: str = ""

    @property
    def is_change(self) -> bool:
        """Whether it changes message ``target``."""
        return self.event in ("edited", "unsent")

    @property
    def author_id(self) -> str:
        """The platform's id of the author; empty if unknown."""
        return self.message.author.id if self.message.author else ""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a platform can do.

    Attributes:
        deletes: it can delete what it has sent.
        streams: it shows an answer while it is written. What was written of one that is stopped
            stays then.
        shows_pictures: people see the pictures that tools make, and not only their words.
        feedback_buttons: it has buttons that ask what people think of an answer.
        most_rows: that the message of a card shows which waits for a decision; a form shows more,
            which a press opens, and a written yes approves nothing then. 0: any number.
        change_pause_s: the least time between two messages that show how a card has changed, or two
            changes of its message.
        is_prompt: a message that arrives while a question is open answers it, as at a terminal's
            prompt. Elsewhere people may write it before they see the question.
        expires: an answer needs the address of its message, which holds for a while only; what is
            later needs another one, as of a press.
    """

    deletes: bool = False
    streams: bool = False
    shows_pictures: bool = True
    feedback_buttons: bool = False
    most_rows: int = 0
    change_pause_s: float = 0.0
    is_prompt: bool = False
    expires: bool = False


class Place(NamedTuple):
    """Where a conversation is held.

    Attributes:
        id: of the conversation, or of what it shares with those beside it, such as the channel of
            a thread: by it a person's facts are kept.
        overhears: messages that do not call the bot are passed on too, marked as unmentioned.
    """

    id: str
    overhears: bool = False

    def aside(self, purpose: str) -> str:
        """A conversation of the same place in which nobody writes: what is delivered there waits
        for no answer, and no answer waits for it.

        It has the purpose as the second of the id's three parts, where LINE has the bot and Slack
        the team. Where ids have two, answers need not wait, and it is the place itself.
        """
        channel, *owner, there = self.id.split(":", 2)
        return f"{channel}:{purpose}:{there}" if owner else self.id


class Validity(NamedTuple):
    """What an address is good for.

    Attributes:
        now: the address for an answer that is ready now: without a token whose time is over.
        later: what is left of it when something is to be sent there much later.
        left_s: seconds until an answer can no longer use it, which is left for a last message; None
            where nothing expires, or it has expired.
        shows_cards: the answer can bring a card with buttons, which everybody there may press.
    """

    now: str
    later: str
    left_s: float | None = None
    shows_cards: bool = True


class Reach(NamedTuple):
    """How an answer reaches a person whose message's address has expired, as far as that is known.

    Attributes:
        way: by a press, by itself (``late``), or so that no answer needs the address (``always``).
        refusal: why nothing can ever be sent there without an address, for the model; empty if it
            can.
    """

    way: Literal["press", "late", "always"]
    refusal: str = ""


class KnownQuote(NamedTuple):
    """What a channel knows of a quoted message by its id alone.

    Attributes:
        turn_id: of the turn that it answered, if it is ours.
        picture: that it consists of.
    """

    turn_id: str = ""
    picture: Media | None = None


ALWAYS_REACHED = Reach("always")
NOTHING_KNOWN = KnownQuote()


class NoWatcher:
    """A watcher without viewers."""

    async def show(self, event: LiveEvent) -> None:
        """Drop the event."""


class Recipient(NamedTuple):
    """Whom ALERT_TO may name behind a channel's name and a colon.

    Attributes:
        pattern: of the platform's id, as a regular expression.
        example: for operators.
    """

    pattern: str
    example: str


class Channel(Protocol):
    """A platform on which people talk to the bot. It needs ``routes``, ``live_view`` and
    ``deliver``.

    Attributes:
        name: first word of its conversations' ids.
        style: how to write on this platform, for the system prompt; the same bytes in every turn.
        approvers: ids of people who may decide besides the asker, in place of APPROVERS, whose ids
            mean other people there; None where APPROVERS is meant.
    """

    name: str
    style: str
    abilities: Abilities = Abilities()
    approvers: Collection[str] | None = None

    @abstractmethod
    def routes(self) -> Sequence[BaseRoute]:
        """What the web server mounts for this channel."""

    @abstractmethod
    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """A watcher that shows a running turn; what it shows as under way ends with the context."""

    @abstractmethod
    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        """Send one reply; returning means delivered.

        A notice, which answers nobody, has no address: the last part of its conversation's id is
        the platform's id of a person, group or channel (``Recipient``).

        Args:
            assert_lease: is called before every request that sends; the first may do without if it
                is made at once.

        Returns:
            When a question was shown, milliseconds since the epoch by the clock that dates people's
            messages; None if the platform does not say, and for other replies.

        Raises:
            DeliverLater: a passing failure.
            DeliverOnPress: only a press of its asker's button could bring it.
            DeliverInParts: its text is too long for one message.
            DeliveryRefused: a final failure.
            LeaseLost: from ``assert_lease``.
        """

    async def check_access(self) -> None:
        """Ask the platform whether it takes our secrets.

        Raises:
            TokenRefused: it does not; the text begins with the variable and says what to do.
            DeliverLater: it does not answer.
        """
        return

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in pieces that are sent as one message each, so that each is delivered once."""
        return [reply]

    def place(self, conversation: str) -> Place:
        """Where a conversation is held."""
        return Place(conversation)

    def validity(self, address: str) -> Validity:
        """What the address of a message is good for."""
        return Validity(address, address)

    async def reach(self, conversation: str, person: str) -> Reach:
        """How something is sent to a person there without a fresh address. Never raises."""
        return ALWAYS_REACHED

    def prefetch(self, conversation: str, author: str) -> None:
        """Read what ``enrich`` will need for a message of this author."""
        return

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        """Look up what the events lack: names, time zones, earlier messages of the thread.

        Never raises: what cannot be looked up is left out.

        Args:
            is_new: the conversation has no history yet.
        """
        return list(arrivals)

    async def prepare(self, media: Media) -> None:
        """Wait until ``fetch`` need not wait, as for a recording that the platform converts. Never
        raises."""
        return

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass the content of a file to ``take``, piece by piece. Never raises.

        Returns:
            Whether the whole content was passed on; False if it is gone or of another type, or
            ``take`` ended it.
        """
        return False

    async def find_quoted(self, conversation: str, message_id: str) -> KnownQuote:
        """Look up a quoted message that the history does not hold. Never raises."""
        return NOTHING_KNOWN
