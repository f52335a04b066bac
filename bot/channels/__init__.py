"""The channels' Protocol: how a reply leaves, and which routes bring messages in.

Each package here is one place where people talk to the bot; ``registry`` lists them. Callers know this Protocol only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from bot.channels.kv import KeyValue
from bot.live_events import Watcher
from bot.texts import Texts
from bot.transcript import Media, Message


class Question(Struct, frozen=True, omit_defaults=True):
    """A tool call that waits for a person's approval.

    Attributes:
        id: names it; decisions carry it.
        call_id: the call's.
        arguments: what will be run with, word for word.
        asker: who asked for it, by a name people know; may be empty.
        asker_id: the platform's id of that person, who decides.
        until: when it expires, milliseconds since the epoch.
    """

    id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    asker: str = ""
    asker_id: str = ""
    until: int = 0


class Reply(Struct, frozen=True, omit_defaults=True):
    """What a turn says, before a channel gives it the channel's form.

    Attributes:
        text: Markdown, as the model wrote it, or a sentence of ours.
        failed: the text is an apology.
        note: cause and fix, for channels whose reader is the operator.
        question: what the text asks, for channels that have buttons; the text alone can be answered by words too.
        settles: the id of a question that is decided; the text says how. A channel that cannot change what it has
            sent says nothing.
        private: only for the eyes of the person it is addressed to, where the channel can do that.
        fleeting: where it cannot be delivered it is dropped, not kept as a dead letter.
        kind: a greeting, or the help: a channel that has buttons may offer with it what can be said next.
    """

    text: str
    failed: bool = False
    note: str = ""
    question: Question | None = None
    settles: str = ""
    private: bool = False
    kind: Literal["", "greeting", "help"] = ""
    fleeting: bool = False


class Delivery(Struct, frozen=True, omit_defaults=True):
    """A reply on its way, as it stands in the outbox.

    Attributes:
        id: made with the turn, the same at every attempt.
        turn_id: the turn it answers.
        address: what the channel needs to send it (reply token and its age, thread …); the channel's own JSON.
        attempts: how often sending was begun.
        refusals: how many of them a refused token ended.
        refused_since: when the first of these did, milliseconds since the epoch.
        not_before: milliseconds since the epoch; earlier no attempt is made.
        asker: the platform's id of whoever it answers, by which it is found when they want to be forgotten.
    """

    id: str
    turn_id: str
    reply: Reply
    address: str = ""
    attempts: int = 0
    refusals: int = 0
    refused_since: int = 0
    not_before: int = 0
    asker: str = ""


class InboundEvent(Struct, frozen=True, omit_defaults=True):
    """Something that came in, as it stands in the inbox.

    Attributes:
        message: the words; for other events an empty message with the event's own id, author and time.
        address: where its answer goes (reply token and its age, thread …); the channel's own JSON.
        group: several people read along.
        event: ``message`` is for the model; ``edited`` replaces the words of message ``target``; ``unsent`` takes
            message ``target`` back; ``told`` is answered with our own sentence ``target`` (a key of the catalogue);
            ``left`` ends the conversation: all that is kept of it is deleted; ``stop`` ends the turn under way;
            ``decision`` answers question ``target`` with ``approved``.
        album: names pictures that were sent together, ``album_size`` of them, as one question.
        left_out: the event stands for messages that a full inbox did not take, which is what is said in the place of
            ``target``: that is for processes of an older version.
    """

    message: Message
    address: str = ""
    group: bool = False
    event: Literal["message", "edited", "unsent", "told", "left", "stop", "decision"] = "message"
    target: str = ""
    approved: bool = False
    album: str = ""
    album_size: int = 0
    left_out: bool = False

    @property
    def author_id(self) -> str:
        """The platform's id of whoever it is from; empty where the platform does not tell."""
        return self.message.author.id if self.message.author else ""


Take = Callable[[bytes], bool]  # takes the next piece of a content; false where no more of it is wanted
AssertLease = Callable[[], Awaitable[None]]  # raises LeaseLost where another process delivers by now


class Accept(Protocol):
    """The way in: durable before it returns, enqueued, and nothing else."""

    async def __call__(self, conversation: str, event: InboundEvent, /) -> bool:
        """Accept one message; false where its id was seen before.

        Raises:
            StoreUnavailable: nothing was kept, the platform must send it again.
        """
        ...


class Notify(Protocol):
    """Tells the operator about a cause, at most once a day. Never raises."""

    async def __call__(self, cause: Any, *, platform: str = "") -> None:
        """Tell.

        Args:
            cause: a key of the catalogue's table ``alert``.
            platform: what the trouble is with; the notice does not go that way.
        """
        ...


async def notify_nobody(cause: Any, *, platform: str = "") -> None:
    """Tell nobody (``Notify``)."""


@dataclass(frozen=True, slots=True)
class Host:
    """What a channel gets from Kaiwa.

    Attributes:
        accept: takes what came in.
        kv: small values, shared by all processes.
        door_kv: the same values by a connection that is free of turns, for what is read before a webhook is answered.
        language: of our own sentences, where the words around them have none.
        tool_commands: words that call a tool.
        listens: this process takes messages in; a channel without a webhook connects to its platform.
    """

    accept: Accept
    kv: KeyValue
    door_kv: KeyValue
    texts: Texts
    language: str = "en"
    bot_name: str = "Kaiwa"
    notify: Notify = notify_nobody
    tool_commands: Collection[str] = ()
    listens: bool = False


class Channel(Protocol):
    """One place where people talk to the bot.

    Attributes:
        name: first word of its conversation ids.
        style: how to write here, for the system prompt; the same bytes in every turn.
        is_prompt: what is written while a question is open answers it, as at a terminal's prompt. Elsewhere people
            write on while a question is on its way to them.
    """

    name: str
    style: str
    is_prompt: bool = False

    @abstractmethod
    def routes(self) -> Sequence[BaseRoute]:
        """What the web server mounts for this channel."""

    @abstractmethod
    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """Where a turn shows itself while it runs; whatever is shown as under way ends with the context."""

    @abstractmethod
    async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> int | None:
        """Send one reply; returning means delivered.

        Returns:
            Since when a question is shown, milliseconds since the epoch by the clock that also dates what people
            write; None where the platform does not tell, and for other replies.

        Args:
            assert_lease: to be asked before every request that sends, but for the first if it is made at once.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """

    async def enrich(self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool) -> list[InboundEvent]:
        """Fill in what the platform tells only when asked: names, time zones, what was said before the bot came.

        Never raises: what cannot be had is left out.

        Args:
            is_new: nothing has been said with the bot here yet.
        """
        return list(arrivals)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Hand over the content of an image piece by piece, and hold no more than a piece of it. Never raises.

        Returns:
            Whether that was all; False where it is gone, too large, or not for the model, or no more of it is wanted.
        """
        return False

    def notice_target(self, recipient: str) -> tuple[str, str]:
        """A conversation, and an address in it, for words to a person or place that has said nothing here.

        The conversation is none of those people write in, so that what is sent there waits for nobody's turn.

        Args:
            recipient: the platform's id.
        """
        return f"{self.name}:notices:{recipient}", ""

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in as many pieces as there must be messages sent one by one, so that each is delivered once."""
        return [reply]
