"""The hooks that a feature may override, and the values they take and give."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Raw
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from bot.agent.loop import Configuration
from bot.agent.turn import ActingCall, ApprovalDecision
from bot.channels import (
    STOP,
    Accept,
    ButtonCard,
    DailyUse,
    Delivery,
    InboundEvent,
    KeptSection,
    PlaceSettings,
    Reply,
)
from bot.commands import CANCELS, FORGETS, STOPS
from bot.errors import StoreUnavailable
from bot.store import Erase, JournalledTurn, Lease
from bot.telemetry.observed import Observe
from bot.transcript import Author, Message, Spending
from toolset.tool import ToolError

NOBODY_DECIDES = "rejected: nobody decides here about calls that act"
SILENT = "[silent]"  # what the model writes where nothing is to be sent; nobody ever sees it
NOTHING: Mapping[Any, Any] = MappingProxyType({})
AWAY = "the store cannot take this now: say that it was not done"


class TurnRequest(NamedTuple):
    """Whom a turn answers: the author of its newest message, in a conversation."""

    conversation: str
    event: InboundEvent
    author: Author


class ParsedEvent(NamedTuple):
    """An inbound event and the command that its whole text is, if it is one.

    Attributes:
        command: a row of the table in ``bot.pipeline.commands``.
        kind: of the command, as ``bot.commands.STOPS``; empty for most.
    """

    event: InboundEvent
    command: str | None
    kind: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it is a message for the model."""
        is_said = self.event.event == "message" and self.event.scheduled != "shown"
        return is_said and self.command is None

    @property
    def is_stop(self) -> bool:
        """Whether it ends the turn under way."""
        return self.event.action == STOP or self.kind == STOPS

    @property
    def forgets(self) -> bool:
        """Whether it leaves out all that its author has planned too, and no history."""
        return self.kind == FORGETS

    @property
    def cancels(self) -> bool:
        """Whether it leaves out the messages before it."""
        return self.forgets or self.kind == CANCELS


MakeStore = Callable[[TurnRequest], Any]
Work = Callable[[], Awaitable[None]]


class CommandContext(NamedTuple):
    """The event that holds a command, and where it came from.

    Attributes:
        ends_turn: the messages before the command are not answered.
    """

    lease: Lease
    event: InboundEvent
    ends_turn: bool


RunCommand = Callable[[CommandContext], Awaitable[Reply]]


class Outgoing(NamedTuple):
    """A reply and where it goes.

    Attributes:
        asker: id of the person for whom it came at its time; empty for an answer, which is
            for whom the turn answers.
        deletes: nothing is said: what the turn has streamed is deleted.
    """

    reply: Reply
    address: str
    asker: str = ""
    deletes: bool = False


@dataclass(slots=True)
class TurnResult:
    """What a turn commits.

    Attributes:
        messages: for the history.
        replies: what is sent.
        model: the one that answered.
        may_be_reopened: all that is sent is the model's answer, and its messages may be edited.
        asker: id of the person who is answered, where no message says it.
        answers: ids of messages that are answered and are not for the history.
    """

    messages: tuple[Message, ...] = ()
    replies: list[Outgoing] = field(default_factory=list)
    model: str = ""
    may_be_reopened: bool = False
    asker: str = ""
    answers: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether an apology takes the place of an answer."""
        return any(one.reply.failure for one in self.replies)

    def say(self, reply: Reply, address: str, asker: str = "") -> None:
        """Add a reply."""
        self.replies.append(Outgoing(reply, address, asker))


class AnsweredTurn(NamedTuple):
    """A turn that has its answer.

    Attributes:
        messages: of the turn.
        model: that wrote the answer; empty for a sentence of the catalogue.
        persona: digest of the one it had.
    """

    conversation: str
    turn_id: str
    messages: Sequence[Message]
    model: str = ""
    persona: str = ""


AddToAnswer = Callable[[AnsweredTurn, Reply], Awaitable[Reply]]


class CallingTurn(NamedTuple):
    """A turn that wants to make a call.

    Attributes:
        address: where its answer goes.
        answered: ids of the messages that it answers.
    """

    lease: Lease
    turn_id: str
    address: str
    answered: Collection[str]


class ParkedTurn(NamedTuple):
    """A turn that waits for a decision about a call.

    Attributes:
        card: asks for it (``bot.pipeline.journal.Parked``).
        value: what the feature needs to read the answer.
        events: that the turn answers.
    """

    lease: Lease
    journalled: JournalledTurn
    card: ButtonCard
    value: Raw
    events: Sequence[InboundEvent]


def rejected(call_id: str, reason: str) -> ApprovalDecision:
    """A decision against a call."""
    return ApprovalDecision(call_id, approved=False, arguments={}, reason=reason)


class Limits:
    """Limits what is answered, and counts what it costs. One feature at most is this too; as it
    stands here, nothing is limited. What waits raises ``StoreUnavailable`` as hooks do."""

    async def admit(
        self, conversation: str, turn_id: str, batch: Sequence[ParsedEvent], result: TurnResult
    ) -> Sequence[ParsedEvent]:
        """Those of a turn's events that are answered, the same ones if the turn asks again; what is
        said of the others is added to the result."""
        return batch

    async def admit_joining(
        self, conversation: str, turn_id: str, messages: Sequence[InboundEvent]
    ) -> int:
        """How many messages of one person may join a turn; the others wait for the next."""
        return len(messages)

    async def tokens_left(self, turn_id: str, request: TurnRequest) -> int | None:
        """How many tokens an admitted turn should cost at most; None if that does not matter."""
        return None

    def spend(self, conversation: str, spending: Spending) -> None:
        """Count what a response of a model has cost. Never raises."""

    async def may_use(self, use: DailyUse) -> bool:
        """Whether somebody may use what has a limit a day; a use is counted."""
        return True


class Decisions:
    """Decides about calls that act. One feature at most is this too; by itself it allows none."""

    async def may_call(self, turn: CallingTurn, acting: ActingCall) -> ApprovalDecision:
        """Decide about a call.

        Raises:
            TurnParked: the step ``PARKED`` is recorded, and the turn waits.
        """
        return rejected(acting.call.id, NOBODY_DECIDES)

    async def read_decision(self, turn: ParkedTurn) -> ApprovalDecision | None:
        """Read what has come in while the turn waits.

        Returns:
            The decision; None where the step ``DECIDED`` is recorded already.

        Raises:
            TurnParked: nothing of that decides.
        """
        return rejected(turn.card.call_id, NOBODY_DECIDES)


class Feature:
    """Something that people can do: a folder of ``bot/features``.

    It overrides the hooks that it needs; one that it leaves as it is is never called for it. Every
    hook that waits raises ``StoreUnavailable`` if the store does not answer.

    Attributes:
        actions: of its buttons, each with what takes a press, in one request to the store and
            before the platform gets its answer; None: the press is left to the inbox.
        commands: what runs each; their words are in the table ``words`` of ``texts.toml``, with a
            kind where it has one (``bot.commands``).
        unrecorded: those of them that leave nothing in the history, which in a group is for
            everybody.
        kept: kinds of entries in the index of what belongs to people (``bot.store.kv``),
            each with what deletes it.
        purged, erased: kinds of keys of a conversation that go with its history, or with all of it.
        shown: those of ``kept`` whose entries begin with a conversation that shows what is kept.
        after_calls: of these tools, each with what adds to the answer of a turn that called it.
        where_possible: by an ability of a channel, what adds to each answer where it has that.
        tool_stores: what the feature's tools may keep for the asker of a turn, by the class by
            which they ask for it (``toolset.tool.ToolContext.store``), each with its maker; None
            where the asker may keep nothing. It is made at the first call that asks.
        routes: of the web server, behind the guard of the page; whoever may read the page may ask
            them.
        middleware: of the web server, for every request.
        every: work that is done every so many seconds, by one of all processes, which has as long
            for it; work of each process is a ``run``.
    """

    actions: Mapping[str, Accept | None] = NOTHING
    commands: Mapping[str, RunCommand] = NOTHING
    unrecorded: Collection[str] = ()
    kept: Mapping[str, Erase] = NOTHING
    shown: Collection[str] = ()
    purged: Collection[str] = ()
    erased: Collection[str] = ()
    after_calls: Mapping[str, AddToAnswer] = NOTHING
    where_possible: Mapping[str, AddToAnswer] = NOTHING
    tool_stores: Mapping[type[Any], MakeStore] = NOTHING
    routes: Sequence[BaseRoute] = ()
    middleware: Sequence[Middleware] = ()
    every: Mapping[int, Work] = NOTHING

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Begin to read what a turn for this author needs, with the request that opens it."""

    def add_line(self, key: str, conversation: str, event: InboundEvent) -> str:
        """A line below a sentence of the catalogue, the answer to /help or one that greets; may be
        empty. Other lines of /help are the table ``help`` of ``texts.toml``."""
        return ""

    async def overhear(self, conversation: str, event: InboundEvent) -> bool:
        """Take in a message that does not call the bot, in one request to the store and before the
        platform gets its answer; whether a turn is to take it."""
        return False

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult | None:
        """What a turn of such messages leaves; None where it is another feature's."""
        return None

    async def before_model(self, request: TurnRequest, asked: Sequence[Message]) -> Message | None:
        """A message before those that a turn answers; it is not stored."""
        return None

    async def is_private(self, conversation: str) -> bool:
        """Whether nobody may keep words of a conversation beside its history."""
        return False

    async def overheard(self, conversation: str) -> list[Message]:
        """What the feature keeps of messages that do not call the bot, oldest first, without
        names."""
        return []

    async def leave(self, lease: Lease, event: InboundEvent) -> None:
        """Note that people have left a group, whose ids are the words of ``event.target``, or that
        the conversation is over: somebody blocks the bot, or a group has removed it.

        Raises:
            LeaseLost: another process does it.
        """

    async def begin_with_changes(self, lease: Lease, events: Sequence[InboundEvent]) -> bool:
        """Look at the events with which a turn would begin; some change messages. Whether an
        earlier turn goes on in its place; then the events are in the inbox again.

        Raises:
            LeaseLost: nothing was done.
        """
        return False

    async def change(
        self, lease: Lease, edits: Mapping[str, Message | None], events: Sequence[InboundEvent]
    ) -> None:
        """Make edits of messages of earlier turns, by their ids, to what comes of them or is kept
        of them besides the history; None deletes a message. The events have brought the edits;
        there are none where the turn under way reads them later."""

    def edit_answer(self, text: str, before: Sequence[Message]) -> str | None:
        """The model's text as people are to see it; None where nothing is sent.

        Args:
            before: the history in the request, with what came of ``before_model``.
        """
        return text

    def answer_wordless(self, events: Sequence[InboundEvent], history: Sequence[Message]) -> str:
        """What is said without the model to messages of something else than typed words
        (``InboundEvent.action``); empty where the model has to answer."""
        return ""

    async def receive(
        self, conversation: str, event: InboundEvent, before: Sequence[Message]
    ) -> InboundEvent:
        """A message that a turn answers, with what the feature adds to it: one that quotes another
        one, or of a group; ``before`` are messages of the same turn."""
        return event

    async def configure(self, conversation: str, event: InboundEvent) -> Configuration | None:
        """What differs in a turn whose newest message is this one; None for nothing. A turn that
        goes on in another process asks again."""
        return None

    def settings_of(self, conversation: str, person: str) -> PlaceSettings | None:
        """What is set for a conversation, or for a person there; looked up in memory."""
        return None

    async def read_file(self, person: str, mime: str, data: bytes) -> str:
        """The text of a file that the model does not read as it is; empty if it cannot be read."""
        return ""

    def observer(self, conversation: str, turn_id: str) -> Observe:
        """What is told each step of a turn from now on; it never raises (``guarded``)."""
        return lambda step: None

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """The answer with what the feature adds to each; see also ``after_calls``."""
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """A delivery that replaces something (``Reply.replaces``) as it is sent now; None if it is
        no longer needed; a time (ms of the store's clock) before which it is not to be sent."""
        return delivery

    def holds(self, conversation: str, delivery: Delivery) -> bool:
        """Whether a delivery that could only be sent by a press is held (``Outbox.keep_head``), as
        the feature has it brought by another one; else it becomes a dead letter."""
        return False

    async def with_held(self, conversation: str, delivery: Delivery) -> Delivery | None:
        """A delivery as it is sent now, with what it ``brings``; None if that is gone. It is asked
        at each attempt where something is held, and nothing of it is stored."""
        return delivery

    async def while_waiting(
        self, lease: Lease, asked: InboundEvent | None = None, parked: ParkedTurn | None = None
    ) -> float | None:
        """Do something for people who wait: for the answer to ``asked``, which takes long, or
        behind it; or behind the question of a parked turn. It is called again and again.

        Returns:
            Seconds until the next call is needed; None: it may take its time.

        Raises:
            LeaseLost: another process has the turn.
        """
        return None

    async def address_expired(self, lease: Lease, event: InboundEvent, *, private: bool) -> None:
        """Note that the reply to an event is ready, and too late for the event's address: it is
        stored without one.

        Args:
            private: it is for one person alone.

        Raises:
            LeaseLost: another process has the turn.
        """

    async def cards(self, conversation: str, messages: Sequence[Message]) -> Sequence[ButtonCard]:
        """The cards with buttons that a conversation keeps, and others that these messages showed,
        for a channel that shows a conversation anew."""
        return ()

    def places(self, conversation: str) -> Collection[str]:
        """Where the feature stores what belongs to a conversation, beside the conversation
        itself: it goes with that."""
        return ()

    async def run(self) -> None:
        """Run beside the workers of each process; never returns."""

    async def open(self) -> None:
        """Read what must be known before messages come. ``SettingsError`` ends the start."""

    def history_grown(self, conversation: str, person: str, size: int) -> None:
        """Learn, as no turn waits, that turns nearly fill this person's request: so many bytes."""

    async def aclose(self) -> None:
        """End what runs beside turns, as the process ends."""

    def announce(self, event: InboundEvent, refusal: str) -> Reply | None:
        """What is said of an event that the feature itself has put into the inbox at its time
        (``InboundEvent.scheduled``), or of a press that was left to the inbox and that no turn
        waits for; None where it is another feature's.

        Args:
            refusal: why it is not answered, as a day's limit is reached.
        """
        return None

    async def after_turn(
        self, conversation: str, event: InboundEvent, *, failed: bool
    ) -> Reply | None:
        """Note what has become of such a task; what is said of it besides."""
        return None

    async def after_delivery(self, conversation: str, delivery: Delivery, refusal: str) -> None:
        """Note that the platform has taken a delivery of what came at its time
        (``InboundEvent.scheduled``), or that it refuses it for ever, and why."""

    async def reset(self, conversation: str) -> None:
        """Delete what goes with a conversation's history and no kind of ``purged`` names."""

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        """Delete what is kept of somebody in a conversation, which another process may be working
        on; None: of everybody."""

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection | None:
        """What is kept for the event's author, in all conversations, for a page of their own;
        ``conversation`` is their 1:1."""
        return None

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """Delete an item of the overview, if it is the author's; ``action`` is the section's."""
        return False


@asynccontextmanager
async def store_errors_for_model() -> AsyncIterator[None]:
    """Turn a store that does not answer into an error for the model."""
    try:
        yield
    except StoreUnavailable as error:
        raise ToolError(AWAY) from error
