"""Hooks around every call: go on with other arguments, refuse, answer, abort, and edit what came of
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot.agent.hooks import Abort, Answer, Hook, Intervention, Proceed, Refuse
from bot.errors import TurnFailed
from bot.live_events import ToolFinished, ToolStarted
from bot.transcript import ToolCall, ToolResult
from tests.bot.pipeline.tool_rounds import STRICT, Round, call, launches
from tests.fakes.tools import ANY_OBJECT, Launch
from toolset.tool import ToolContext, ToolOutcome, ValidatedTool
from toolset.tool_map import ToolMap


class Intervening(Hook):
    """Intervenes before calls of ``launch`` and ``echo`` alike."""

    def __init__(self, intervention: Intervention) -> None:
        self._intervention = intervention
        self.seen: list[Mapping[str, Any]] = []

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        self.seen.append(call.arguments)
        return self._intervention


class Signing(Hook):
    """Adds its name to every outcome."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def after(
        self, call: ToolCall, context: ToolContext, outcome: ToolOutcome
    ) -> ToolOutcome:
        return ToolOutcome(
            {**outcome.response, self._name: call.arguments}, outcome.is_error, outcome.is_rejected
        )


async def test_a_hook_that_refuses_keeps_the_call_from_being_made_or_asked_about() -> None:
    """The model reads why."""
    round_ = Round(*launches("a1"), hooks=[Intervening(Refuse("not on Sundays"))], a1=True)
    assert await round_.run() == [
        ToolResult("a1", "launch", {"error": "not on Sundays"}, is_error=True, is_rejected=True)
    ]
    assert (round_.diary.reviewed, round_.launch.contexts) == ([], [])


async def test_a_hook_may_answer_in_the_tools_place() -> None:
    """Nothing is called; later hooks are not asked before it, and all of them after it."""
    second = Intervening(None)
    round_ = Round(
        call("echo", "r1"), hooks=[Intervening(Answer({"from": "cache"})), second, Signing("seal")]
    )
    assert [result.response for result in await round_.run()] == [{"from": "cache", "seal": {}}]
    assert (second.seen, round_.echo.contexts) == ([], [])


async def test_replaced_arguments_are_validated_shown_to_who_decides_and_used() -> None:
    """Each hook sees what the one before it made of them."""
    second = Intervening(None)
    round_ = Round(*launches("a1"), hooks=[Intervening(Proceed({"what": "kite"})), second], a1=True)
    await round_.run()
    assert second.seen == [{"what": "kite"}]
    assert [acting.call.arguments for acting in round_.diary.reviewed] == [{"what": "kite"}]
    assert round_.responses() == [{"heard": {"what": "kite"}}]


async def test_replaced_arguments_that_do_not_fit_are_refused_before_anybody_is_asked() -> None:
    """A hook is no way round the schema."""
    round_ = Round(call("launch", "a1", n=1), hooks=[Intervening(Proceed({"n": "many"}))])
    await round_.run(ToolMap([ValidatedTool(Launch(), STRICT, ANY_OBJECT)]))
    assert round_.responses() == [
        {"error": "invalid parameters: n: 'many' is not of type 'integer'"}
    ]
    assert round_.diary.reviewed == []


async def test_a_hook_may_abort_the_turn() -> None:
    """It ends in an apology; the cause is for the operator."""
    round_ = Round(call("echo", "r1"), hooks=[Intervening(Abort("too many of them"))])
    with pytest.raises(TurnFailed) as failed:
        await round_.run()
    assert (failed.value.apology, failed.value.cause) == ("aborted", "too many of them")
    assert round_.echo.contexts == []


async def test_hooks_edit_the_outcome_in_their_order() -> None:
    """What is recorded, shown and told is the edited one."""
    round_ = Round(call("echo", "r1", n=1), hooks=[Signing("one"), Signing("two")])
    (result,) = await round_.run()
    assert list(result.response) == ["heard", "one", "two"]
    started, finished = round_.diary.shown
    assert started == ToolStarted("r1", "echo", {"n": 1})
    assert isinstance(finished, ToolFinished)
    assert finished.response == result.response
