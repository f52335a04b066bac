"""Asks a model every question, several at once, each within a time limit."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from bot.agent.loop import Agent
from bot.agent.turn import ActingCall, ApprovalDecision, Turn, TurnContext, TurnStep, TurnUpdate
from bot.channels import InboundEvent, NoWatcher
from bot.errors import ModelError, TurnFailed
from bot.evals.judge import judge
from bot.evals.questions import Question
from bot.pipeline.prepare import context_line
from bot.transcript import NOTE_ID, Author, Message, Spending, Text, ToolCall, Usage, new_id

# A Friday, on the clock of whoever asks.
NOW = datetime(2026, 11, 20, 9, 30)
CHANNEL = "line"
STYLE = ""
LOCALES = {"en": "en-US", "ja": "ja-JP"}


class Attempt(Struct, frozen=True):
    """One answer to a question.

    Attributes:
        wrong: what is wrong with it; empty for a right one.
        error: why there was no answer; then ``wrong`` is empty.
        model: the one that answered.
    """

    question: str
    wrong: str = ""
    error: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    model: str = ""

    @property
    def is_right(self) -> bool:
        return not self.wrong and not self.error


class Limits(Struct, frozen=True):
    """How often each question is asked, how many at once, and the seconds for an answer."""

    repeat: int = 3
    parallel: int = 4
    timeout_s: float = 60.0


class _Ports:
    """The surroundings of a turn: nothing is stored, every call that acts is approved, as its
    result is fixed."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.model = ""

    async def record(self, step: TurnStep) -> None:
        """Store nothing."""

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        return TurnUpdate()

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        return ApprovalDecision(acting.call.id, approved=True, arguments=acting.call.arguments)

    async def spend(self, spending: Spending) -> None:
        self.usage += spending.usage
        self.model = spending.model


async def run_questions(
    agent: Agent,
    questions: Sequence[Question],
    limits: Limits,
    done: Callable[[Attempt], None],
    before: Sequence[Attempt] = (),
) -> list[Attempt]:
    """Ask every question ``limits.repeat`` times; the attempts in the order of the questions.

    Args:
        agent: with the tools of ``canned_tools`` for these questions.
        done: called after each new attempt.
        before: attempts of the same run, which are not made again.
    """
    slots = asyncio.Semaphore(limits.parallel)
    made: dict[str, list[Attempt]] = defaultdict(list)
    for earlier in before:
        made[earlier.question].append(earlier)

    async def attempt(question: Question) -> Attempt:
        if made[question.id]:
            return made[question.id].pop()
        async with slots:
            new = await _ask(agent, question, limits.timeout_s)
        done(new)
        return new

    async with asyncio.TaskGroup() as group:
        tasks = []
        for question in questions:
            for _ in range(limits.repeat):
                tasks.append(group.create_task(attempt(question)))
    return [task.result() for task in tasks]


async def _ask(agent: Agent, question: Question, timeout_s: float) -> Attempt:
    ports, wrong, failure = _Ports(), "", ""
    started = time.monotonic()
    turn = _turn(question, ports, started + timeout_s)
    try:
        async with asyncio.timeout(timeout_s):
            answer = await agent.run(turn)
        acting = [one.name for one in agent.tools.definitions if not one.only_reads]
        calls: list[ToolCall] = []
        for message in turn.added:
            calls += message.calls
        wrong = judge(question, calls, answer.text if answer else "", acting)
    except (ModelError, TurnFailed) as error:
        failure = str(error)
    except TimeoutError:
        failure = f"no answer in {timeout_s:g} s"
    return Attempt(
        question=question.id,
        wrong=wrong,
        error=failure,
        usage=ports.usage,
        seconds=round(time.monotonic() - started, 3),
        model=ports.model,
    )


def _turn(question: Question, ports: _Ports, deadline: float) -> Turn:
    zone, locale = question.time_zone, LOCALES[question.language]
    author = Author("asker", "", locale, zone)
    at = int(NOW.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)

    def from_asker(text: str) -> Message:
        message = Message(new_id("msg"), "user", (Text(text),), at, author)
        line = context_line(InboundEvent(message), CHANNEL, zone)
        return replace(message, context=line)

    history: list[Message] = []
    for exchange in question.before:
        history.append(from_asker(exchange.user))
        history.append(Message(new_id("msg"), "model", (Text(exchange.answer),), at))
    asked = from_asker(question.ask)
    for number, note in enumerate(question.notes):
        history.append(Message(f"{NOTE_ID}{number}", "user", (Text(note),), at))
    context = TurnContext(question.id, STYLE, locale, zone, NoWatcher())
    return Turn(
        turn_id=new_id("turn"),
        context=context,
        history=history,
        asked=[asked],
        ports=ports,
        deadline=deadline,
    )
