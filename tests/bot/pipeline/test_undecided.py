"""Calls that act, where no feature decides about them: none is made."""

from __future__ import annotations

import pytest
from msgspec import Raw

from bot.agent.turn import ActingCall, ApprovalDecision, RecordedResponse
from bot.channels import ButtonCard
from bot.errors import SettingsError
from bot.pipeline.feature import NOBODY_DECIDES, CallingTurn, Decisions, Feature
from bot.pipeline.journal import PARKED, RESPONSE, Parked
from bot.pipeline.services import Features
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Message, ToolCall, encode
from tests.bot.harness import HERE, Harness
from tests.bot.store.turns import leased
from tests.fakes.tools import Echo, Launch, tool_map

CALL = ToolCall("c1", "launch", {"what": "rocket"})


class Decides(Feature, Decisions):
    """Is in charge of calls."""

    async def may_call(self, turn: CallingTurn, acting: ActingCall) -> ApprovalDecision:
        return ApprovalDecision(acting.call.id, approved=True, arguments={})


async def test_kaiwa_starts_with_tools_that_only_read(store: Store) -> None:
    """One that acts is refused, in a line that names it and the mend."""
    harness = Harness(store, [Step("Hello!")], tools=tool_map(Echo()), features=())
    await harness.say("Hi", "m1")
    assert harness.box.texts == ["Hello!"]
    with pytest.raises(SettingsError, match=r"^tools: launch act.*bot/features/registry\.py$"):
        Harness(store, [], tools=tool_map(Echo(), Launch()), features=())


async def test_a_tool_that_comes_later_is_not_called(store: Store) -> None:
    """A server may announce one at any time; the model is told why its call was not made."""
    launch, tools = Launch(), tool_map(Echo())
    harness = Harness(store, [Step(calls=(CALL,)), Step("Well")], tools=tools, features=())
    tools.replace("later", list(tool_map(launch).values()))
    await harness.say("Launch it", "m1")
    [result] = harness.model.requests[-1].messages[-1].results
    assert (result.response, launch.contexts) == ({"error": NOBODY_DECIDES}, [])
    assert harness.box.texts == ["Well"]


async def test_a_turn_that_was_parked_before_goes_on_without_its_call(store: Store) -> None:
    """Whoever asked is in charge no more."""
    harness = Harness(store, [Step("Well")], tools=tool_map(Echo()), features=())
    await harness.receive("Launch it", "m1")
    lease = await leased(store, HERE)
    await store.journal.begin(lease, "turn_1")
    response = RecordedResponse(Message("r1", "model", (CALL,), 1), "tool_use")
    await store.journal.record(lease, RESPONSE, encode(response))
    parked = Parked(ButtonCard("May I?", (), key="q1", until=9, call_id="c1"), Raw(b"null"))
    await store.journal.record(lease, PARKED, encode(parked))
    await store.leases.release(lease)
    await harness.process()
    assert harness.box.texts == ["Well"]


def test_one_feature_decides() -> None:
    """Two would have to agree."""
    with pytest.raises(ValueError, match="two features"):
        Features().install([Decides(), Decides()])
