"""The loop, readable aloud: ask the model, run what it calls, tell it the results, until it has answered.

It knows no channel, no Redis and no vendor.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import structlog

from bot.errors import ModelError, TurnFailed
from bot.live import AnswerRestarted, AnswerText, ToolFinished, ToolStarted
from bot.metrics import Metrics
from bot.providers import NONE, Completed, ModelResponse, Provider, Restarted, TextDelta
from bot.transcript import Message, ToolCall, ToolResult, Usage
from bot.turn import Turn
from toolset.tool import ToolContext, ToolMap, ToolOutcome

log = structlog.stdlib.get_logger(__name__)

NO_APPROVAL = "rejected: this call needs a person's approval, which cannot be asked for here"
INTERRUPTED = "interrupted: the outcome is unknown"


class Agent:
    """A model with tools.

    Args:
        system: the system prompt; the channel's style is added to it.
        max_tool_turns: rounds of tools before the model must answer with what it has.
    """

    def __init__(
        self, provider: Provider, tools: ToolMap, system: str, metrics: Metrics, max_tool_turns: int = 10
    ) -> None:
        self.provider = provider
        self.tools = tools
        self.system = system
        self.max_tool_turns = max_tool_turns
        self._metrics = metrics

    async def run(self, turn: Turn) -> Message | None:
        """Carry a turn to its answer, from wherever it stands; None where what was asked has been taken back.

        Raises:
            ModelError: the model could not be asked.
            TurnFailed: it was asked, and its answer is of no use.
        """
        while turn.answer is None:
            if turn.calls:
                await self._run_calls(turn)
            await turn.hear()
            if turn.withdrawn:
                return None
            may_call = turn.rounds < self.max_tool_turns
            response = await self._ask(turn, may_call)
            _refuse_useless(response, may_call)
            await turn.say(response.message, response.stop_reason)
        return turn.answer

    async def close(self, turn: Turn) -> None:
        """Give every call that is still open its one result, so that the transcript stays whole."""
        for _, call in turn.open_calls():
            await turn.finish(ToolResult(call.id, call.name, {"error": INTERRUPTED}, is_error=True))

    async def _ask(self, turn: Turn, may_call: bool) -> ModelResponse:
        choice = turn.tool_choice if may_call else NONE
        system = system_prompt(self.system, turn.surroundings.style)
        show = turn.surroundings.watcher.show
        started = time.monotonic()
        asked = self.provider.stream(system, turn.messages, self.tools.definitions, choice)
        try:
            async with aclosing(asked) as events:
                async for event in events:
                    match event:
                        case TextDelta(text):
                            await show(AnswerText(text))
                        case Restarted():
                            await show(AnswerRestarted())
                        case Completed(response):
                            turn.usage += response.usage
                            self._count(response.model, response.stop_reason, response.usage, started)
                            return response
        except ModelError:
            self._count(self.provider.model, "failed", Usage(), started)
            raise
        raise TurnFailed("malformed", "the model's stream ended without an answer")

    async def _run_calls(self, turn: Turn) -> None:
        """Run the open calls side by side; the turn puts their results into call order."""
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in turn.open_calls():
                    group.create_task(self._run_call(turn, call, index))
        except ExceptionGroup as failed:  # tools do not raise: this is the ledger's, and one is as good as all
            raise failed.exceptions[0] from failed

    async def _run_call(self, turn: Turn, call: ToolCall, index: int) -> None:
        show = turn.surroundings.watcher.show
        await show(ToolStarted(call.id, call.name, call.arguments))
        started = time.monotonic()
        tool = self.tools.get(call.name)
        rejected = tool is not None and tool.definition.risk == "high"
        if rejected:
            outcome = ToolOutcome.error(NO_APPROVAL)
        elif tool and not tool.definition.idempotent and not await turn.begin(call):
            outcome = ToolOutcome.error(INTERRUPTED)
        else:
            outcome = await self.tools.call(call.name, call.arguments, _context(turn, call, index))
        seconds = time.monotonic() - started
        name = call.name if tool else "unknown"
        self._metrics.tool_calls.labels(name, "error" if outcome.is_error else "ok").inc()
        self._metrics.tool_seconds.labels(name).observe(seconds)
        log.info("tool call", tool=name, error=outcome.is_error, ms=round(seconds * 1000))
        await turn.finish(ToolResult(call.id, call.name, outcome.response, outcome.is_error, rejected))
        await show(ToolFinished(call.id, call.name, outcome.response, outcome.is_error, round(seconds * 1000)))

    def _count(self, model: str, outcome: str, usage: Usage, started: float) -> None:
        seconds = time.monotonic() - started
        self._metrics.model_calls.labels(model, outcome).inc()
        self._metrics.model_seconds.labels(model).observe(seconds)
        for kind in ("input", "cached", "output", "thinking"):
            self._metrics.tokens.labels(model, kind).inc(getattr(usage, kind))
        log.info("model call", model=model, outcome=outcome, ms=round(seconds * 1000))


def system_prompt(persona: str, style: str) -> str:
    """The whole system prompt of a channel: the same bytes in every turn, so that it caches."""
    return f"{persona}\n\n{style}" if style else persona


def _refuse_useless(response: ModelResponse, may_call: bool) -> None:
    """Raise where there is nothing to tell the user and nothing to run."""
    reason = response.stop_reason
    if reason == "blocked":
        raise TurnFailed("blocked", f"{response.model} declined to answer: {response.detail}")
    calls = response.message.calls
    if reason == "malformed" or (calls and not may_call) or not (calls or response.message.text.strip()):
        raise TurnFailed("malformed", f"{response.model} gave no usable answer: {reason} {response.detail}")


def _context(turn: Turn, call: ToolCall, index: int) -> ToolContext:
    """The batch is named after the model's message: one per response, and the same after a resume."""
    place = turn.surroundings
    return ToolContext(
        call_id=call.id,
        batch_id=turn.added[-1].id,
        call_index=index,
        conversation=place.conversation,
        user=turn.asker.id,
        locale=place.locale,
        time_zone=place.time_zone,
        idempotency_key=f"{turn.turn_id}:{call.id}",
        deadline=turn.deadline,
    )
