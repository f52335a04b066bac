"""The Protocol of a channel: routes for what comes in, delivery for what goes out.

``registry`` lists the packages that implement it. Everybody else knows only this Protocol, and what
it speaks of: the events that come in (``inbound``), the replies that leave (``replies``), and what
a channel gets from Kaiwa (``host``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, NamedTuple, Protocol

from starlette.routing import BaseRoute

from bot.channels.host import (
    NO_FILES,
    NO_UPLOADS,
    UNCOUNTED_USES,
    Accept,
    DailyUses,
    Files,
    Host,
    KeptItem,
    KeptSection,
    KeyValue,
    Listens,
    NoFiles,
    Notify,
    Overview,
    Overviews,
    Upload,
    Uploads,
    notify_nobody,
)
from bot.channels.inbound import (
    APPROVE,
    REJECT,
    STICKER,
    STOP,
    Album,
    InboundEvent,
)
from bot.channels.replies import (
    ButtonCard,
    Delivery,
    KeptDelivery,
    Reply,
    say_buttons,
    whole_of,
)
from bot.live_events import SAY, Button, Watcher
from bot.transcript import Media

__all__ = [
    "APPROVE",
    "MOST_FILES",
    "NOTHING_KNOWN",
    "NO_FILES",
    "NO_UPLOADS",
    "REJECT",
    "SAY",
    "STICKER",
    "STOP",
    "UNCOUNTED_USES",
    "Accept",
    "Album",
    "AssertLease",
    "Button",
    "ButtonCard",
    "Channel",
    "DailyUses",
    "Delivery",
    "Files",
    "Host",
    "InboundEvent",
    "KeptDelivery",
    "KeptItem",
    "KeptSection",
    "KeyValue",
    "KnownQuote",
    "Listens",
    "NoFiles",
    "Notify",
    "Overview",
    "Overviews",
    "Reach",
    "Recipient",
    "Reply",
    "Take",
    "Upload",
    "Uploads",
    "notify_nobody",
    "say_buttons",
    "whole_of",
]

MOST_FILES = 4  # of one tool call, and of one answer
Take = Callable[[bytes], bool]  # takes the next piece of a file; false if no more of it is wanted
# How an answer reaches a person whose message's address has expired: by a press, by itself, or so
# that no answer needs the address.
Reach = Literal["press", "late", "always"]
AssertLease = Callable[
    [], Awaitable[None]
]  # raises LeaseLost if another process holds the conversation now


class KnownQuote(NamedTuple):
    """What a channel knows of a quoted message by its id alone.

    Attributes:
        turn_id: of the turn that it answered, if it is ours.
        picture: that it consists of.
    """

    turn_id: str = ""
    picture: Media | None = None


NOTHING_KNOWN = KnownQuote()


class Recipient(NamedTuple):
    """Whom ALERT_TO may name behind a channel's name and a colon.

    Attributes:
        pattern: of the platform's id, as a regular expression.
        example: for operators.
    """

    pattern: str
    example: str


class Channel(Protocol):
    """A platform on which people talk to the bot.

    Attributes:
        name: first word of its conversations' ids.
        style: how to write on this platform, for the system prompt; the same bytes in every turn.
        is_prompt: a message that arrives while a question is open answers it, as at a terminal's
            prompt. Elsewhere people may write it before they see the question.
        takes_back: it can delete what it has sent.
        shows_pictures: people see the pictures that tools make, and not only their words.
        streams: it shows an answer while it is written. What was written of one that is stopped
            stays then.
        expires: an answer needs the address of its message, which holds for a while only; what is
            later needs another one, as of a press.
        rates: it has buttons that ask what people think of an answer.
        most_rows: that the message of a card shows which waits for a decision; a form shows more,
            which a press opens, and a written yes approves nothing then. 0: any number.
        change_pause_s: the least time between two messages that show how a card has changed, or two
            changes of its message.
    """

    name: str
    style: str
    is_prompt: bool = False
    takes_back: bool = False
    shows_pictures: bool = True
    streams: bool = False
    expires: bool = False
    most_rows: int = 0
    rates: bool = False
    change_pause_s: float = 0.0

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

    def place(self, conversation: str) -> str:
        """Where a conversation is held, by which a person's facts are kept: conversations beside it
        may share it."""
        return conversation

    def side_conversation(self, conversation: str, purpose: str) -> str:
        """A conversation of the same place in which nobody writes: what is delivered there waits
        for no answer, and no answer waits for it.

        It is the conversation itself where answers need not wait. The side conversation of one is
        that one.
        """
        return conversation

    def shows_cards(self, address: str) -> bool:
        """Whether the answer to a message of this address can bring a card with buttons, which
        everybody there may press."""
        return True

    def time_left(self, address: str) -> float | None:
        """Seconds until an answer can no longer use the address, which is left for a last message;
        None where nothing expires, or it has expired."""
        return None

    def current(self, address: str) -> str:
        """The address of an answer that is ready now: without a token whose time is over."""
        return address

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

    def lasting(self, address: str) -> str:
        """What is left of a message's address when something is to be sent there much later."""
        return address

    async def reach(self, conversation: str, person: str) -> Reach:
        """How an answer would reach a person there, as far as that is known. Never raises."""
        return "always"

    async def refuses_reminders(self, conversation: str) -> str:
        """Why reminders can never be delivered there, for the model; empty if they can. Never
        raises."""
        return ""

    def hears_all(self, conversation: str) -> bool:
        """Whether a message there need not call the bot."""
        return True

    async def prepare(self, media: Media) -> None:
        """Wait until ``fetch`` need not wait, as for a recording that the platform converts. Never
        raises."""
        return

    def overhears(self, conversation: str) -> bool:
        """Whether messages there that do not call the bot are passed on too, marked as
        unmentioned."""
        return False

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

    def notice_target(self, recipient: str) -> tuple[str, str]:
        """The conversation and the address for a notice to somebody who has not written.

        People never write in that conversation, so a notice waits for no turn.

        Args:
            recipient: the platform's id of a person, group or channel.
        """
        return f"{self.name}:notices:{recipient}", ""

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in pieces that are sent as one message each, so that each is delivered once."""
        return [reply]
