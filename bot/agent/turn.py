"""One turn under way: what was said before, what the turn has added, and what is still open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from bot.clock import now_ms
from bot.live_events import Watcher
from bot.providers import AUTO, StopReason, ToolChoice
from bot.transcript import Author, Message, Spending, ToolCall, ToolResult, Usage

NOBODY = Author()


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """What has arrived while the turn was under way.

    Attributes:
        changes: new words for messages said before, by message id; None takes the message back.
        stopped: somebody wants the turn to end.
    """

    messages: tuple[Message, ...] = ()
    changes: Mapping[str, Message | None] = field(default_factory=dict)
    stopped: bool = False


class ApprovalDecision(Struct, frozen=True, omit_defaults=True):
    """What has been decided of a call that acts.

    Attributes:
        arguments: what the decision is about, and what the call is made with.
        reason: of a rejection, for the model.
        address: where the person who decided wants the answer.
        message_id: of the message that said so, where words did.
    """

    call_id: str
    approved: bool
    arguments: dict[str, Any]
    reason: str = ""
    address: str = ""
    message_id: str = ""


class RecordedResponse(Struct, frozen=True):
    """A model response, on record before any of its calls runs."""

    message: Message
    stop_reason: StopReason


class StartedCall(Struct, frozen=True):
    """A call that must not be made twice, on record right before it is made."""

    call_id: str


TurnStep = RecordedResponse | StartedCall | ToolResult


class TurnPorts(Protocol):
    """What joins a turn to its conversation."""

    async def record(self, step: TurnStep) -> None:
        """Write down a step before the next one is taken."""
        ...

    async def check_inbox(self, *, certain: bool) -> TurnUpdate:
        """What has arrived since the last look, made part of the turn's record.

        Args:
            certain: something has arrived, whatever the last record said.
        """
        ...

    async def review(self, call: ToolCall, asker: Author, text: str) -> ApprovalDecision:
        """Whether a call that acts may be made.

        Args:
            text: the asker's last message, for the language.

        Raises:
            AwaitingApproval: a person has been asked.
        """
        ...

    async def spend(self, spending: Spending) -> None:
        """Count the cost of a model response, as soon as it is known, of use or not. Never raises."""
        ...


async def without_media(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages as they are: references to media, no contents."""
    return messages


@dataclass(frozen=True, slots=True)
class TurnContext:
    """Where a turn takes place.

    Attributes:
        style: how to write in this channel, for the system prompt.
        locale: BCP 47 tag of the asker.
        time_zone: IANA name.
        watcher: is shown the turn while it runs.
        load: adds contents of media to the messages of a request.
        tool_choice: for the first request only; afterwards the model is free.
    """

    conversation: str
    style: str
    locale: str
    time_zone: str
    watcher: Watcher
    load: Callable[[Sequence[Message]], Awaitable[Sequence[Message]]] = without_media
    tool_choice: ToolChoice = AUTO


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
        self.usage = Usage()
        self.model = ""  # the one that answered last, where it was asked here
        self._history = tuple(history)
        self._ports = ports
        self._results: dict[str, ToolResult] = {}
        self._started: set[str] = set()
        self._decided: dict[str, ApprovalDecision] = {}
        self.stopped = False

    async def request(self) -> Sequence[Message]:
        """Everything the model is sent."""
        return await self.context.load([*self._history, *self.added])

    @property
    def asker(self) -> Author:
        """The author of the user messages; nobody where they are of several people, as earlier versions let them be."""
        authors = [message.author or NOBODY for message in self.added if message.role == "user"]
        return authors[-1] if len({author.id for author in authors}) == 1 else NOBODY

    @property
    def last_user_text(self) -> str:
        """What the user has said last."""
        return next((message.text for message in reversed(self.added) if message.role == "user"), "")

    @property
    def rounds(self) -> int:
        """How many rounds of tools have their results."""
        return sum(message.role == "tool" for message in self.added)

    @property
    def rejections(self) -> int:
        """How many calls were rejected."""
        earlier = [result for message in self.added for result in message.results]
        return sum(result.is_rejected for result in (*earlier, *self._results.values()))

    @property
    def tool_choice(self) -> ToolChoice:
        """The choice for the next request: a forced one holds for the first request only."""
        return AUTO if any(message.role == "model" for message in self.added) else self.context.tool_choice

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest message, where it is the model's."""
        return self.added[-1].calls if self.added else ()

    @property
    def answer(self) -> Message | None:
        """The model's last word, once it has spoken it."""
        last = self.added[-1] if self.added else None
        return last if last and last.is_answer else None

    @property
    def withdrawn(self) -> bool:
        """Everything that was asked has been taken back."""
        return not any(message.role == "user" for message in self.added)

    def repeated(self, index: int) -> int:
        """How often the call at this place of the newest message has been made right before, with these arguments."""
        calls = self.calls
        made = sum(_same(calls[index], other) for other in calls[:index])
        for message in reversed(self.added[:-1]):
            if message.calls and not any(_same(calls[index], other) for other in message.calls):
                break
            made += bool(message.calls)
        return made

    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """The calls without a result yet, each with its place in the response."""
        return [(index, call) for index, call in enumerate(self.calls) if call.id not in self._results]

    async def spend(self, model: str, usage: Usage) -> None:
        """Have the cost of a model response counted."""
        self.usage += usage
        since = list(takewhile(lambda message: message.role != "model", reversed(self.added)))
        messages = sum(message.role == "user" for message in since)
        await self._ports.spend(Spending(model, usage, self.asker, messages, len(since) == len(self.added)))

    async def record_response(self, message: Message, stop_reason: StopReason) -> None:
        """Make a model response part of the turn, and record it; whoever stops that in between finds its calls open."""
        self.restore_response(message, stop_reason)
        await self._ports.record(RecordedResponse(message, stop_reason))

    async def record_started(self, call: ToolCall) -> bool:
        """Record that a call which must not be made twice is made now; False where that is on record already."""
        if call.id in self._started:
            return False
        await self._ports.record(StartedCall(call.id))
        self.restore_started(call.id)
        return True

    async def review(self, call: ToolCall) -> ApprovalDecision:
        """Find out whether a call that acts may be made; decided once in its round, it stays decided.

        Raises:
            AwaitingApproval: a person has been asked.
        """
        if call.id not in self._decided:
            self.restore_decision(await self._ports.review(call, self.asker, self.last_user_text))
        return self._decided[call.id]

    async def check_inbox(self, *, certain: bool = False) -> None:
        """Let what has arrived meanwhile join the turn, which must stand between two steps: without an open call."""
        self.restore_update(await self._ports.check_inbox(certain=certain))

    async def record_result(self, result: ToolResult) -> None:
        """Record a tool's result; with the last open one, all go into one tool message, in call order."""
        await self._ports.record(result)
        self.restore_result(result)

    def restore_response(self, message: Message, stop_reason: StopReason) -> None:
        """Take a model response that is recorded already."""
        self.added.append(message)
        self.stop_reason = stop_reason

    def restore_started(self, call_id: str) -> None:
        """Take a call that is recorded as made."""
        self._started.add(call_id)

    def restore_decision(self, decision: ApprovalDecision) -> None:
        """Take a decision that is recorded already."""
        self._decided[decision.call_id] = decision

    def restore_update(self, update: TurnUpdate) -> None:
        """Take what has arrived and is recorded already."""
        self.stopped = self.stopped or update.stopped
        if update.changes:
            self._history = tuple(changed(self._history, update.changes))
            self.added = changed(self.added, update.changes)
        self.added += update.messages

    def restore_result(self, result: ToolResult) -> None:
        """Take a result that is recorded already."""
        self._results[result.call_id] = result
        if self.calls and not self.open_calls():
            response = self.added[-1]
            results = tuple(self._results[call.id] for call in self.calls)
            self._results.clear()
            self._started.clear()
            self._decided.clear()
            self.added.append(Message(f"{response.id}_results", "tool", results, now_ms()))


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.arguments == other.arguments


def changed(messages: Sequence[Message], changes: Mapping[str, Message | None]) -> list[Message]:
    """The messages after edits and messages taken back; what only these had led to goes with them."""
    kept: list[Message] = []
    for message in messages:
        if message.role != "user":
            if kept and not kept[-1].is_answer:
                kept.append(message)
        elif message.id not in changes:
            kept.append(message)
        elif (new := changes[message.id]) is not None:
            kept.append(replace(message, parts=new.parts))
    return kept
