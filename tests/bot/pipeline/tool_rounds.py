"""One response's calls under way, with ports that note everything in its order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bot.agent.hooks import Hook, Hooks
from bot.agent.provenance import Provenance
from bot.agent.tool_runner import ToolRunner
from bot.agent.turn import (
    ActingCall,
    ApprovalDecision,
    RecordedResponse,
    StartedCall,
    Turn,
    TurnContext,
    TurnStep,
    TurnUpdate,
)
from bot.live_events import LiveEvent
from bot.telemetry import Metrics
from bot.transcript import Author, Message, Spending, Text, ToolCall, ToolResult
from tests.fakes.tools import Echo, Launch, tool_map
from toolset.tool_map import ToolMap

STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


class Diary:
    """Ports and a watcher that note what happens, in order; decisions are written down
    beforehand."""

    def __init__(self, decisions: Mapping[str, bool | Exception]) -> None:
        self.events: list[str] = []
        self.shown: list[LiveEvent] = []
        self.reviewed: list[ActingCall] = []
        self._decisions = decisions

    async def record(self, step: TurnStep) -> None:
        match step:
            case StartedCall(call_id):
                self.events.append(f"begun {call_id}")
            case ToolResult():
                self.events.append(f"got {step.call_id}")

    async def spend(self, spending: Spending) -> None:
        """No model is asked while calls run."""

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        return TurnUpdate()

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        call = acting.call
        self.events.append(f"asked {call.id}")
        self.reviewed.append(acting)
        decision = self._decisions[call.id]
        if isinstance(decision, Exception):
            raise decision
        return ApprovalDecision(
            call.id, decision, call.arguments, "" if decision else "rejected by the user"
        )

    async def show(self, event: LiveEvent) -> None:
        self.shown.append(event)


class Round:
    """One response's calls with tools that echo: ``echo`` reads, ``launch`` acts."""

    def __init__(
        self, *calls: ToolCall, hooks: Sequence[Hook] = (), **decisions: bool | Exception
    ) -> None:
        self.echo, self.launch = Echo(), Launch()
        self.diary = Diary(decisions)
        self.hooks = hooks
        self.metrics = Metrics()
        place = TurnContext("console:test", "", "ja", "Asia/Tokyo", self.diary)
        asked = Message("m1", "user", (Text("hello"),), 1, Author("u1"))
        self.turn = Turn("turn_1", place, [], [asked], self.diary, time.monotonic() + 30)
        self.respond(*calls)

    def respond(self, *calls: ToolCall) -> None:
        """The model calls."""
        message = Message(f"msg_{len(self.turn.added)}", "model", calls, 2)
        self.turn.restore(RecordedResponse(message, "tool_use"))

    async def run(self, *offered: ToolMap) -> list[ToolResult]:
        """Make the calls; their results as the model gets them.

        Args:
            offered: the tools; of several, the next ones are on offer after each ``echo``.
        """
        offered = offered or (tool_map(self.echo, self.launch),)

        def find_tools() -> ToolMap:
            return offered[min(len(self.echo.contexts), len(offered) - 1)]

        provenance, hooks = Provenance(self.turn, offered[0]), Hooks(self.hooks)
        await ToolRunner(find_tools, hooks, self.metrics, provenance).run(self.turn)
        return list(self.turn.added[-1].results)

    def responses(self) -> list[object]:
        """What the model is told, call by call."""
        return [result.response for result in self.turn.added[-1].results]


def call(name: str, call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments)


def launches(*ids: str) -> tuple[ToolCall, ...]:
    return tuple(call("launch", call_id, what=call_id) for call_id in ids)
