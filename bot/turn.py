"""One turn under way: what was said before, what the turn has added, and what is still open."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from bot.live import Watcher
from bot.providers import AUTO, StopReason, ToolChoice
from bot.transcript import Author, Message, ToolCall, ToolResult, Usage

NOBODY = Author()


@dataclass(frozen=True, slots=True)
class Heard:
    """What has arrived while the turn was under way.

    Attributes:
        changes: new words for messages said before, by message id; None takes the message back.
    """

    messages: tuple[Message, ...] = ()
    changes: Mapping[str, Message | None] = field(default_factory=dict)


class Ledger(Protocol):
    """Writes down what happened before the next thing happens."""

    async def said(self, message: Message, stop_reason: StopReason) -> None:
        """A model response, before any of its calls runs."""
        ...

    async def begun(self, call: ToolCall) -> None:
        """A call that must not be made twice, right before it is made."""
        ...

    async def got(self, result: ToolResult) -> None:
        """A tool's result, as it arrives."""
        ...

    async def heard(self) -> Heard:
        """What has arrived since this was asked last, made part of the turn's record."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a turn takes place.

    Attributes:
        style: how to write in this channel, for the system prompt.
        locale: BCP 47 tag of the asker.
        time_zone: IANA name.
        watcher: is shown the turn while it runs.
    """

    conversation: str
    style: str
    locale: str
    time_zone: str
    watcher: Watcher


class Turn:
    """A transcript that grows: the history, then the turn's own messages.

    Args:
        arrived: the user messages this turn answers.
        deadline: ``time.monotonic()`` seconds by which the turn must end.
        tool_choice: for the first request only; afterwards the model is free.
    """

    def __init__(
        self,
        turn_id: str,
        surroundings: Surroundings,
        history: Sequence[Message],
        arrived: Iterable[Message],
        ledger: Ledger,
        deadline: float,
        tool_choice: ToolChoice = AUTO,
    ) -> None:
        self.turn_id = turn_id
        self.surroundings = surroundings
        self.deadline = deadline
        self.added: list[Message] = list(arrived)
        self.stop_reason: StopReason = "other"
        self.usage = Usage()
        self._history = tuple(history)
        self._ledger = ledger
        self._first_choice = tool_choice
        self._results: dict[str, ToolResult] = {}
        self._begun: set[str] = set()

    @property
    def messages(self) -> list[Message]:
        """Everything the model is sent."""
        return [*self._history, *self.added]

    @property
    def asker(self) -> Author:
        """The author of the newest user message."""
        return next((m.author or NOBODY for m in reversed(self.added) if m.role == "user"), NOBODY)

    @property
    def rounds(self) -> int:
        """How many rounds of tools have their results."""
        return sum(message.role == "tool" for message in self.added)

    @property
    def tool_choice(self) -> ToolChoice:
        """The choice for the next request: a forced one holds for the first request only."""
        return AUTO if any(message.role == "model" for message in self.added) else self._first_choice

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest message, where it is the model's."""
        return self.added[-1].calls if self.added else ()

    @property
    def answer(self) -> Message | None:
        """The model's last word, once it has spoken it."""
        last = self.added[-1] if self.added else None
        return last if last and _is_answer(last) else None

    @property
    def withdrawn(self) -> bool:
        """Everything that was asked has been taken back."""
        return not any(message.role == "user" for message in self.added)

    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """The calls without a result yet, each with its place in the response."""
        return [(index, call) for index, call in enumerate(self.calls) if call.id not in self._results]

    async def say(self, message: Message, stop_reason: StopReason) -> None:
        """Record a model response, then make it part of the turn."""
        await self._ledger.said(message, stop_reason)
        self.restore_message(message, stop_reason)

    async def begin(self, call: ToolCall) -> bool:
        """Record that a call which must not be made twice is made now; False where that is on record already."""
        if call.id in self._begun:
            return False
        await self._ledger.begun(call)
        self.restore_begun(call.id)
        return True

    async def hear(self) -> None:
        """Let what has arrived meanwhile join the turn; only between two steps, where no call is open."""
        self.restore_heard(await self._ledger.heard())

    async def finish(self, result: ToolResult) -> None:
        """Record a tool's result; with the last open one, all go into one tool message, in call order."""
        await self._ledger.got(result)
        self.restore_result(result)

    def restore_message(self, message: Message, stop_reason: StopReason) -> None:
        """Take a model response that is recorded already."""
        self.added.append(message)
        self.stop_reason = stop_reason

    def restore_begun(self, call_id: str) -> None:
        """Take a call that is recorded as made."""
        self._begun.add(call_id)

    def restore_heard(self, heard: Heard) -> None:
        """Take what has arrived and is recorded already."""
        if heard.changes:
            self._history = tuple(changed(self._history, heard.changes))
            self.added = changed(self.added, heard.changes)
        self.added += heard.messages

    def restore_result(self, result: ToolResult) -> None:
        """Take a result that is recorded already."""
        self._results[result.call_id] = result
        if self.calls and not self.open_calls():
            asked = self.added[-1]
            results = tuple(self._results[call.id] for call in self.calls)
            self._results.clear()
            self._begun.clear()
            self.added.append(Message(f"{asked.id}_results", "tool", results, now_ms()))


def changed(messages: Sequence[Message], changes: Mapping[str, Message | None]) -> list[Message]:
    """The messages after edits and messages taken back; what only these had led to goes with them."""
    kept: list[Message] = []
    for message in messages:
        if message.role != "user":
            if kept and not _is_answer(kept[-1]):
                kept.append(message)
        elif message.id not in changes:
            kept.append(message)
        elif (new := changes[message.id]) is not None:
            kept.append(replace(message, parts=new.parts))
    return kept


def _is_answer(message: Message) -> bool:
    return message.role == "model" and not message.calls


def now_ms() -> int:
    """Milliseconds since the epoch by this process's clock; for messages, never compared between processes."""
    return time.time_ns() // 1_000_000
