"""Runs the tool calls of a response: low-risk calls in parallel, then high-risk calls one by one,
after a review.

Every call gets exactly one result. Results are recorded as they come; the turn puts them in the
order of the calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter

from msgspec import structs

from bot.agent.hooks import Hooks
from bot.agent.provenance import Provenance
from bot.agent.turn import KeptFiles, Turn, error_of
from bot.commands import SpokenCommands
from bot.live_events import ToolFinished, ToolStarted
from bot.telemetry import Metrics, Span
from bot.telemetry.observed import OBSERVER, CallBegun, CallDecided, CallEnded
from bot.transcript import FileRef, ToolCall, ToolResult
from toolset.schema import shortened
from toolset.tool import ToolContext, ToolOutcome
from toolset.tool_map import ToolMap

MAX_PARALLEL = 8  # calls of one turn
MAX_REJECTED = 3  # calls of one turn; after so many noes nobody is asked again
MAX_REPEATED = 2  # times the same call in a row; the next one is not made
INTERRUPTED = "interrupted: the outcome is unknown"
REPEATED = (
    "stopped: the same call was made {times} times running. Use the results you have, or call "
    "differently."
)
CALLED_ENOUGH = "not called: a turn may call {name} {limit} times. Use the results you have."
ADDRESS_CAP = 200  # characters of an address in an error
CARD = "card"  # in the response the model reads, where people see a card
CARD_SHOWN = "shown below your answer: say what matters, do not repeat its rows"
COMPOSED = (
    "not kept: {address} is no address that the user gave or a result named. Leave it out, or ask "
    "the user."
)
ASKED_ENOUGH = (
    "rejected: calls of this turn were rejected {times} times already. Answer without calls that "
    "act."
)


class ToolRunner:
    """Runs the tool calls of a turn, each after its hooks, its validation and its approval.

    Args:
        find_tools: the tools of the place and the person, as they are now; asked at each call.
        provenance: of the turn's addresses.
    """

    def __init__(
        self,
        find_tools: Callable[[], ToolMap],
        hooks: Hooks,
        metrics: Metrics,
        provenance: Provenance,
    ) -> None:
        self._find_tools = find_tools
        self._hooks = hooks
        self._metrics = metrics
        self._provenance = provenance

    async def run(self, turn: Turn) -> None:
        """Run every open call of the turn.

        Raises:
            TurnParked: a call waits for a person's decision; all low-risk calls have their
                results.
            TurnFailed: a hook has aborted the turn.
        """
        slots = asyncio.Semaphore(MAX_PARALLEL)
        reviewed: list[tuple[int, ToolCall]] = []

        async def one(index: int, call: ToolCall) -> None:
            async with slots:
                tools = self._find_tools()
                # A risk may change meanwhile; what somebody has decided about stays decided.
                if self._needs_review(tools, call) or turn.is_decided(call):
                    reviewed.append((index, call))
                else:
                    await self._call(turn, index, call, tools)

        try:
            async with asyncio.TaskGroup() as group:
                for index, call in turn.open_calls():
                    group.create_task(one(index, call))
        except (
            ExceptionGroup
        ) as failed:  # raised by a hook or the ports, never by a tool; the first is enough
            raise failed.exceptions[0] from failed
        for index, call in sorted(reviewed, key=itemgetter(0)):
            await self._call(turn, index, call, self._find_tools())

    async def close(self, turn: Turn, error: str) -> None:
        """Give every call that is still open its one result, so that the transcript stays whole."""
        for _, call in turn.open_calls():
            result = error_of(call, error)
            if call.id in turn.started:
                self._observe_end(self._find_tools(), call, call, result, 0)
            await turn.record_result(result)

    def _needs_review(self, tools: ToolMap, call: ToolCall) -> bool:
        """Whether the call acts, or would open an address that nobody gave."""
        tool = tools.get(call.name)
        return bool(tool and (tool.definition.risk == "high" or self._composed_in(tools, call)))

    def _composed_in(self, tools: ToolMap, call: ToolCall) -> str:
        """The address that the model has composed for the call to open; what a hook changes is the
        operator's."""
        tool = tools.get(call.name)
        return self._provenance.composed_in(call, tool.definition) if tool is not None else ""

    async def _call(self, turn: Turn, index: int, call: ToolCall, tools: ToolMap) -> None:
        show = turn.context.watcher.show
        title = tools.title(call.name, turn.context.locale)
        await show(ToolStarted(call.id, call.name, call.arguments, title))
        context = _context(turn, call, index)
        name = call.name if call.name in tools else "unknown"
        if observe := OBSERVER.get():
            observe(CallBegun(call, name))
        measured = Span("tool", self._metrics)
        made, outcome = await self._hooks.before(call, context)
        checked = structs.replace(made, reason=call.reason)
        composed = self._composed_in(tools, call)
        outcome = outcome or await self._run_checked(turn, index, checked, tools, context, composed)
        outcome = await self._hooks.after(made, context, outcome)
        result = "rejected" if outcome.is_rejected else "error" if outcome.is_error else "ok"
        ms = measured.end("tool.called", result, name)
        kept = turn.context.find_store(KeptFiles)
        if outcome.used:
            await turn.spend_in_call(outcome.used)
        # Before the result is recorded: after a crash in between, the repeated call stores the same
        # files again.
        files: tuple[FileRef, ...] = ()
        if kept and outcome.files:
            files = await kept.keep(context.idempotency_key, outcome.files)
        response = outcome.response
        if outcome.card:
            response = {**response, CARD: response.get(CARD, CARD_SHOWN)}
        made_result = ToolResult(
            call.id,
            call.name,
            response,
            is_error=outcome.is_error,
            is_rejected=outcome.is_rejected,
            files=files,
            card=outcome.card,
            choices=_choices(outcome, turn.context.commands),
        )
        recorded = turn.fitting(made_result)
        self._observe_end(tools, call, made, recorded, ms)
        await turn.record_result(recorded)
        await show(
            ToolFinished(
                call.id,
                call.name,
                recorded.response,
                is_error=recorded.is_error,
                ms=ms,
                is_rejected=outcome.is_rejected,
            )
        )

    def _observe_end(
        self, tools: ToolMap, call: ToolCall, made: ToolCall, result: ToolResult, ms: int
    ) -> None:
        """Show a call's end, before it is recorded."""
        if observe := OBSERVER.get():
            tool = tools.get(call.name)
            risk = tool.definition.risk if tool else ""
            observe(CallEnded(call, made, risk, result, ms))

    async def _run_checked(
        self,
        turn: Turn,
        index: int,
        call: ToolCall,
        tools: ToolMap,
        context: ToolContext,
        composed: str,
    ) -> ToolOutcome:
        """Check number, repetition, arguments, addresses, approval and earlier starts; then make
        the call.

        Args:
            composed: the address that the call would open and nobody gave.
        """
        tool, reason = tools.get(call.name), call.reason
        call = ToolCall(call.id, call.name, call.arguments)
        if (times := turn.repeated(index)) >= MAX_REPEATED:
            return ToolOutcome.error(REPEATED.format(times=times))
        if tool is not None and 0 < tool.per_turn <= _earlier_calls(turn, index, call.name):
            return ToolOutcome.error(CALLED_ENOUGH.format(name=call.name, limit=tool.per_turn))
        if tool is None or tool.complaint(call.arguments):
            # the outcome says what is wrong
            return await tools.call(call.name, call.arguments, context)
        if stored := self._provenance.composed_to_keep(call, tool.definition):
            return ToolOutcome.error(COMPOSED.format(address=shortened(stored, ADDRESS_CAP)))
        if tool.definition.risk == "high" or composed or turn.is_decided(call):
            if (times := turn.rejections) >= MAX_REJECTED:
                return replace(
                    ToolOutcome.error(ASKED_ENOUGH.format(times=times)), is_rejected=True
                )
            decision = await turn.review(call, tool.definition, reason, composed)
            if observe := OBSERVER.get():
                observe(CallDecided(call, decision.approved, decision.by, decision.reason))
            if not decision.approved:
                return replace(ToolOutcome.error(decision.reason), is_rejected=True)
            call = ToolCall(call.id, call.name, decision.arguments)
        if tool.definition.idempotent:
            turn.started.add(call.id)
        elif not await turn.record_started(call):
            return ToolOutcome.error(INTERRUPTED)
        return await tool.call(call.arguments, context)


def _earlier_calls(turn: Turn, index: int, name: str) -> int:
    """How often the turn has called a tool before the call at this index of its newest message."""
    calls = [call for message in turn.added[:-1] for call in message.calls]
    calls += turn.calls[:index]
    return sum(call.name == name for call in calls)


def _choices(outcome: ToolOutcome, commands: SpokenCommands | None) -> tuple[str, ...]:
    """The choices. Words that are a command, such as "reset", stand in quotation marks: a press
    runs none."""
    return tuple(
        f"“{choice}”" if commands and commands.read(choice) else choice
        for choice in outcome.choices
    )


def _context(turn: Turn, call: ToolCall, index: int) -> ToolContext:
    """The context of one call. ``batch_id`` is the id of the model's message, which stays the same
    after a crash."""
    context = turn.context
    return ToolContext(
        call_id=call.id,
        batch_id=turn.added[-1].id,
        call_index=index,
        conversation=context.conversation,
        user=turn.asker.id,
        locale=context.locale,
        time_zone=context.time_zone,
        idempotency_key=f"{turn.turn_id}:{call.id}",
        deadline=turn.deadline,
        find_store=context.find_store,
        newest_picture=turn.newest_picture,
        shows_pictures=context.shows_pictures,
    )
