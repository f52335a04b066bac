"""One turn: the history, the messages that the turn has added, and its open tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from bot.clock import now_ms
from bot.commands import SpokenCommands
from bot.file_types import kind_of
from bot.live_events import Watcher
from bot.prices import counted_tokens
from bot.providers import AUTO, ModelResponse, StopReason, ToolChoice
from bot.transcript import (
    NOT_GROUNDED,
    Author,
    FileRef,
    Grounding,
    Media,
    Message,
    Spending,
    ToolCall,
    ToolResult,
    Usage,
    encode,
    without_quotes,
)
from toolset.shown import ModelUse, ToolFile
from toolset.stores import FindStore, find_no_store
from toolset.tool import ToolDefinition

NOBODY = Author()
MOST_CALLS = 24  # of one response
MOST_CALLS_OF_TURN = 64
MOST_READ = 512 * 1024  # bytes of all results of a turn
TOO_MANY_CALLS = (
    f"not called: a response may have {MOST_CALLS} calls, and a turn {MOST_CALLS_OF_TURN}. Answer "
    "with what you have."
)
TOO_MUCH_READ = (
    "too much was read in this turn: this result is left out. Answer with what you have."
)


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """What has joined the turn from the inbox.

    Attributes:
        changes: new text for earlier messages, by message id; None takes the message back.
        stopped: somebody stopped the turn.
    """

    messages: tuple[Message, ...] = ()
    changes: Mapping[str, Message | None] = field(default_factory=dict)
    stopped: bool = False


class ApprovalDecision(Struct, frozen=True, omit_defaults=True):
    """A decision about a high-risk call.

    Attributes:
        arguments: those the person has seen; an approved call is made with them.
        reason: of a rejection, for the model.
        address: where the person who decided wants the answer.
        message_id: of the message that decided; empty after a button press.
        by: id of the person who decided; empty where no person has.
    """

    call_id: str
    approved: bool
    arguments: dict[str, Any]
    reason: str = ""
    address: str = ""
    message_id: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ActingCall:
    """A high-risk call that is to be decided.

    Attributes:
        call: as the tool will get it.
        reason: the model's words, why it wants the call; may be empty.
        text: the asker's last message.
        led_to: all messages before the call, oldest first; the last one holds it.
        address: what it would open and nobody gave (``bot.agent.provenance``), so that a person
            decides.
    """

    call: ToolCall
    tool: ToolDefinition
    reason: str
    asker: Author
    text: str
    led_to: Sequence[Message]
    address: str = ""


class RecordedResponse(Struct, frozen=True, omit_defaults=True):
    """A model response, recorded before any of its calls runs."""

    message: Message
    stop_reason: StopReason
    grounding: Grounding = NOT_GROUNDED


class StartedCall(Struct, frozen=True):
    """A call that must not be made twice, recorded right before it is made."""

    call_id: str


TurnStep = RecordedResponse | StartedCall | ToolResult


class TurnPorts(Protocol):
    """What a turn needs of its conversation."""

    async def record(self, step: TurnStep) -> None:
        """Store a step; the turn takes the next one afterwards."""

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        """Let new entries of the inbox join the turn, and record that.

        Args:
            certain: read the inbox even if it was empty at the last record.
            only_changes: messages stay in the inbox.
        """

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        """Decide whether a high-risk call may be made.

        Raises:
            TurnParked: the turn waits for a decision.
        """

    async def spend(self, spending: Spending) -> None:
        """Count what a model response has used, also one that is of no use. Never raises."""


class KeptFiles:
    """The files of a turn's calls. Never raises: of a file that cannot be kept the text is left;
    here none is kept."""

    async def keep(self, idempotency_key: str, files: Sequence[ToolFile]) -> tuple[FileRef, ...]:
        """Keep files; the same call's again change nothing."""
        return ()

    async def read(self, file: FileRef) -> bytes | None:
        """The content of a kept file; None if it is gone or the store does not answer."""
        return None


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What is fixed for the whole turn.

    Attributes:
        style: how to write in this channel, for the system prompt.
        locale: BCP 47 tag of the asker.
        time_zone: IANA name.
        watcher: shows the turn while it runs.
        load: adds contents of media to the messages of a request; None: there are none.
        tool_choice: for the first request only; afterwards the model is free.
        find_store: finds what features keep for the tools, and ``KeptFiles``.
        shows_pictures: people see the pictures that tools make.
        withheld: stands in an answer where a link is left out.
        commands: of the conversation; None where there are none.
        tokens_left: of the day, as the turn began or went on; None without a limit.
    """

    conversation: str
    style: str
    locale: str
    time_zone: str
    watcher: Watcher
    load: Callable[[Sequence[Message]], Awaitable[Sequence[Message]]] | None = None
    tool_choice: ToolChoice = AUTO
    find_store: FindStore = find_no_store
    shows_pictures: bool = True
    withheld: str = "(link withheld)"
    commands: SpokenCommands | None = None
    tokens_left: int | None = None


class Turn:
    """A transcript that grows: the history, then the turn's own messages.

    Args:
        asked: the user messages this turn answers.
        deadline: ``time.monotonic()`` seconds by which the turn must end.
    """

    def __init__(
        self,
        turn_id: str,
        context: TurnContext,
        history: Sequence[Message],
        asked: Iterable[Message],
        ports: TurnPorts,
        deadline: float,
    ) -> None:
        self.turn_id = turn_id
        self.context = context
        self.deadline = deadline
        self.added: list[Message] = list(asked)
        self.stop_reason: StopReason = "other"
        self.grounding = NOT_GROUNDED
        self.model = ""  # the one that answered last, where it was asked here
        self.unfinished: list[str] = []  # pieces of the response that is being written
        self.history = tuple(history)
        self._ports = ports
        self._results: dict[str, ToolResult] = {}
        self._spent = 0  # tokens, also of its calls
        self._read = 0  # bytes of the results of all rounds
        self.started: set[str] = set()
        self._decided: dict[str, ApprovalDecision] = {}
        self.stopped = False
        self._asking: asyncio.Timeout | None = None
        self._is_changed = False  # since the inbox was checked
        self._edited_at = 0  # number of results at the last edit of a question

    async def request(self) -> Sequence[Message]:
        """The messages of the next request."""
        messages = [*self.history, *self.added]
        return await self.context.load(messages) if self.context.load else messages

    @property
    def _asked(self) -> list[Message]:
        return [message for message in self.added if message.role == "user"]

    @property
    def asker(self) -> Author:
        """The author of the user messages: a turn answers one person."""
        return (self._asked[-1].author if self._asked else None) or NOBODY

    @property
    def last_user_text(self) -> str:
        """The text of the newest user message."""
        return self._asked[-1].text if self._asked else ""

    @property
    def tokens_left(self) -> int | None:
        """What is left of the day's tokens; None without a limit."""
        return None if self.context.tokens_left is None else self.context.tokens_left - self._spent

    @property
    def rejections(self) -> int:
        """How many calls of the turn were rejected."""
        return sum(result.is_rejected for result in (*self.results, *self._results.values()))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest message; empty unless it is a model message."""
        return self.added[-1].calls if self.added else ()

    @property
    def answer(self) -> Message | None:
        """The model's answer; None while the turn goes on."""
        return next((last for last in self.added[-1:] if last.is_answer), None)

    @property
    def shown(self) -> tuple[ToolResult, ...]:
        """The results with something for people: those since the last edit, if there are any."""
        shown: list[ToolResult] = []
        for since in (self._edited_at, 0):
            later = self.results[since:]
            shown = shown or [one for one in later if one.files or one.card or one.choices]
        return tuple(shown)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of all rounds that have theirs, oldest first."""
        return tuple(result for message in self.added for result in message.results)

    @property
    def withdrawn(self) -> bool:
        """Whether all user messages were taken back."""
        return not self._asked

    def repeated(self, index: int) -> int:
        """How often in a row the call at this index of the newest message was made before."""
        call = self.calls[index]
        made = sum(_same(call, other) for other in self.calls[:index])
        for message in reversed(self.added[:-1]):
            if message.calls and not any(_same(call, other) for other in message.calls):
                break
            made += bool(message.calls)
        return made

    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """The calls without a result, each with its index in the response."""
        calls = enumerate(self.calls)
        return [(index, call) for index, call in calls if call.id not in self._results]

    async def spend(self, response: ModelResponse, persona: str = "") -> None:
        """Count what a model response has used; ``persona`` is the digest of the one it had."""
        self._spent += counted_tokens(response.model, response.usage)
        since = list(takewhile(lambda message: message.role != "model", reversed(self.added)))
        messages = sum(message.role == "user" for message in since)
        spending = Spending(
            response.model,
            response.usage,
            self.asker,
            messages,
            is_first=len(since) == len(self.added),
            searches=response.searches,
            refusal=response.refusal,
            persona=persona,
        )
        await self._ports.spend(spending)

    async def spend_in_call(self, used: ModelUse) -> None:
        """Count what a tool call has used of a model."""
        usage = Usage(used.input, output=used.output)
        self._spent += usage.total
        await self._ports.spend(Spending(used.model, usage, self.asker, 0, is_first=False))

    async def newest_picture(self) -> tuple[str, bytes] | None:
        """Type and content of the newest picture in the request, sent or made by a tool."""
        kept = self.context.find_store(KeptFiles)
        for message in reversed(await self.request()):
            for part in reversed(message.parts):
                if isinstance(part, Media) and part.data and kind_of(part.mime) == "image":
                    return part.mime, part.data
                if kept and isinstance(part, ToolResult):
                    for file in reversed(part.files):
                        if data := await kept.read(file):
                            return file.mime, data
        return None

    async def record_response(self, response: RecordedResponse) -> None:
        """Add a model response to the turn, then record it: after a cancellation in between its
        calls are open."""
        self.restore(response)
        await self._ports.record(response)

    async def record_started(self, call: ToolCall) -> bool:
        """Record that a call which must not be made twice is made; False if it is recorded."""
        if is_new := call.id not in self.started:
            await self._ports.record(StartedCall(call.id))
            self.started.add(call.id)
        return is_new

    def is_decided(self, call: ToolCall) -> bool:
        """Whether somebody has decided about the call."""
        return call.id in self._decided

    async def review(
        self, call: ToolCall, tool: ToolDefinition, reason: str, address: str
    ) -> ApprovalDecision:
        """Decide whether a call may be made that is high-risk, or opens an address; a call is
        decided once.

        Raises:
            TurnParked: the turn waits for a decision.
        """
        if call.id not in self._decided:
            text, led_to = self.last_user_text, [*self.history, *self.added]
            acting = ActingCall(
                call, tool, reason, self.asker, text=text, led_to=led_to, address=address
            )
            self.restore(await self._ports.review(acting))
        return self._decided[call.id]

    async def check_inbox(self, *, certain: bool = False) -> None:
        """Let new messages join the turn, which must have no open call; if it is stopped, only
        changes: other messages are for the next turn."""
        certain, self._is_changed = certain or self._is_changed, False
        joining = asyncio.ensure_future(
            self._ports.check_inbox(certain=certain, only_changes=self.stopped)
        )
        try:
            self.restore_update(await asyncio.shield(joining))
        except asyncio.CancelledError:
            # A stop ends the turn, but what its journal already holds is part of it: the commit
            # deletes the journal, and a retraction in it would be lost.
            self.restore_update(await joining)
            raise

    def asking(self) -> asyncio.Timeout:
        """The time limit of a request to the model: ``restart`` makes it expire, also one since the
        inbox was checked."""
        self._asking = limit = asyncio.timeout(0 if self._is_changed else None)
        return limit

    def restart(self, message_id: str) -> None:
        """End the request to the model, and check the inbox before anything is answered, if the
        turn answers this message, which was changed."""
        if any(message.id == message_id for message in self._asked):
            self._is_changed = True
            # The limit of an earlier request is over.
            with suppress(RuntimeError):
                if self._asking is not None:
                    self._asking.reschedule(0)

    def fitting(self, result: ToolResult) -> ToolResult:
        """A tool's result; beyond ``MOST_READ`` an error that takes its place."""
        if self._read + len(encode(result)) > MOST_READ and not result.is_error:
            # The call was made, so its files stay.
            error = {"error": TOO_MUCH_READ}
            return ToolResult(result.call_id, result.name, error, is_error=True, files=result.files)
        return result

    async def record_result(self, result: ToolResult) -> None:
        """Record a fitting result, then add it to the turn."""
        self._read += len(encode(result))  # before others are recorded beside it
        await self._ports.record(result)
        self._results[result.call_id] = result
        self._end_round()

    def restore(self, step: TurnStep | ApprovalDecision) -> None:
        """Add a recorded step. Calls beyond the limits have their results at once, which nothing
        records."""
        match step:
            case RecordedResponse(message):
                earlier = sum(min(len(one.calls), MOST_CALLS) for one in self.added)
                self.unfinished.clear()
                self.added.append(message)
                self.grounding += step.grounding
                self.stop_reason = step.stop_reason
                most = max(0, min(MOST_CALLS, MOST_CALLS_OF_TURN - earlier))
                for call in message.calls[most:]:
                    self._results[call.id] = error_of(call, TOO_MANY_CALLS)
            case StartedCall(call_id):
                self.started.add(call_id)
            case ApprovalDecision():
                self._decided[step.call_id] = step
            case ToolResult():
                self._read += len(encode(step))
                self._results[step.call_id] = step
        self._end_round()

    def restore_update(self, update: TurnUpdate) -> None:
        """Add recorded messages and changes."""
        self.stopped = self.stopped or update.stopped
        if update.changes:
            if any(update.changes.get(message.id) for message in self._asked):
                self._edited_at = len(self.results)
            self.history = tuple(apply_changes(self.history, update.changes))
            self.added = apply_changes(self.added, update.changes)
        self.added += update.messages

    def _end_round(self) -> None:
        """Make one message of all results of the round, in call order, if none is missing."""
        if self.calls and not self.open_calls():
            response = self.added[-1]
            results = tuple(self._results[call.id] for call in self.calls)
            self._results.clear()
            self.started.clear()
            self._decided.clear()
            self.added.append(Message(f"{response.id}_results", "tool", results, now_ms()))


def error_of(call: ToolCall, error: str) -> ToolResult:
    """The result of a call that was not made, or whose outcome is unknown."""
    return ToolResult(call.id, call.name, {"error": error}, is_error=True)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.arguments == other.arguments


def apply_changes(
    messages: Sequence[Message], changes: Mapping[str, Message | None]
) -> list[Message]:
    """The messages with edits made and others taken back, together with the answers to those taken
    back, and with what is quoted of a changed message."""
    stored: list[Message] = []
    for message in messages:
        if message.role != "user":
            if stored and not stored[-1].is_answer:
                stored.append(message)
        elif message.id not in changes:
            stored.append(without_quotes(message, changes))
        elif (new := changes[message.id]) is not None:
            stored.append(with_edit(message, new))
    return stored


def with_edit(message: Message, new: Message) -> Message:
    """The message with the words of an edit; of several edits the newest counts, in whichever order
    they come."""
    if new.at < message.edited_at:
        return message
    return replace(message, parts=(*message.quoted_pictures, *new.parts), edited_at=new.at)
