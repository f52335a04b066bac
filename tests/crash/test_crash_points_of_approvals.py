"""A process may die at any request while a call waits for approval: it is made once, and never
without."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.loop import CANCELLED
from bot.agent.tool_runner import INTERRUPTED
from bot.features.approvals.answers import REJECTED
from bot.features.approvals.feature import EXPIRED
from bot.features.approvals.rules import VETOED
from bot.pipeline.deliver import CANNOT_ASK
from bot.store import Depths, Store
from tests.bot.features.approvals.reviewing import NO, YES
from tests.crash.driver import crash_at_every_request, run
from tests.crash.evidence import Ending, ending_of
from tests.crash.rig import CrashRig
from tests.crash.scenarios import TOKYO, after, asks, presses, says, takes_back
from tests.crash.simulation import Conversation, Meanwhile, Scenario
from tests.fakes.cut_wire import Cut

ALLOWED, FORBIDDEN = "Allowed: launch.", "Not allowed: launch."
TOO_LATE = "Nobody decided in time, so it was not done: launch."
NOT_YOURS = "Only the person who asked can decide this."
OVER = "This has been decided already, or it has expired."
ANSWER, STOPPED = "Heard: Tokyo?", "Stopped."
PAST = ["Tokyo?", ANSWER]
DECIDE = {"review_mode": "decide", "review_tools": ("launch",)}


def question(n: int, tool: str = "launch") -> str:
    return f"May I do this? {tool} with\n\n```\n▸ n: {n}\n```\n\nAnswer yes or no."


def launching(*during: tuple[Meanwhile, ...], **other: Any) -> Scenario:
    """Somebody wants something that leads to a call that acts."""
    return Scenario((TOKYO,), asks("launch", 1), during=tuple(one for (one,) in during), **other)


def ends(*reported: str, past: list[str], asked: int = 2, **result: Any) -> Ending:
    """What people are told after the question; what comes of the call, which is made where it has
    not failed."""
    called = [] if "error" in result or not result else [1]
    return Ending([question(1), *reported], past, {1: result} if result else {}, asked, called)


SCENARIOS = {
    "allowed by two presses": (
        launching(after("asked", presses("p1")), after("take_head", presses("p2"))),
        ends(ALLOWED, ANSWER, OVER, past=PAST, heard={"n": 1}),
    ),
    "allowed by words": (
        launching(after("asked", says("m2", "yes"))),
        ends(
            ALLOWED,
            "Heard: Tokyo? yes",
            past=["Tokyo?", "yes", "Heard: Tokyo? yes"],
            heard={"n": 1},
        ),
    ),
    "pressed by somebody else": (
        launching(after("asked", presses("p1", author="u2")), after("take_head", presses("p2"))),
        ends(NOT_YOURS, ALLOWED, ANSWER, past=PAST, heard={"n": 1}),
    ),
    "taken back while it waits": (
        launching(after("asked", takes_back("e1", "m1"))),
        ends(FORBIDDEN, past=[], asked=1),
    ),
    "stopped while it waits": (
        launching(after("asked", says("m2", "/stop"))),
        ends(FORBIDDEN, STOPPED, past=["Tokyo?", "/stop", STOPPED], asked=1, error=CANCELLED),
    ),
    "too late": (
        launching(settings={"approval_ttl_s": 0}),
        ends(TOO_LATE, ANSWER, past=PAST, error=EXPIRED),
    ),
    "allowed by all reviewers": (
        launching(
            votes=(YES, YES), settings={"review_mode": "decide", "review_tools": ("launch",)}
        ),
        Ending([ANSWER], PAST, {1: {"heard": {"n": 1}}}, asked=2, called=[1]),
    ),
    "rejected by most reviewers": (
        launching(votes=(NO, NO, YES), settings={"review_mode": "veto"}),
        Ending(
            [ANSWER],
            PAST,
            {1: {"error": f"{VETOED}: Nobody asked for it. Nobody asked for it."}},
            2,
            [],
        ),
    ),
    "one of two": (
        Scenario(
            (TOKYO,),
            asks("launch", 1, 2),
            during=after("asked", presses("p1")) + after("asked", presses("p2", approved=False)),
        ),
        Ending(
            [question(1), ALLOWED, question(2), FORBIDDEN, ANSWER],
            PAST,
            {1: {"heard": {"n": 1}}, 2: {"error": REJECTED}},
            asked=2,
            called=[1],
        ),
    ),
}

every_death = pytest.mark.parametrize(
    "carried_out", [False, True], ids=["before the request", "after the request"]
)


@every_death
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_death_changes_nothing(
    name: str, carried_out: bool, rig: CrashRig, store: Store
) -> None:
    """One question, one decision, one call where it is allowed, one answer, nothing left to do."""
    scenario, ending = SCENARIOS[name]
    assert await crash_at_every_request(scenario, rig, carried_out=carried_out) == ending
    assert await store.depths() == Depths(due=0, dead_letters=0)


@every_death
async def test_a_question_that_cannot_be_asked_is_a_no(
    carried_out: bool, rig: CrashRig, store: Store
) -> None:
    """Also where the process dies that was told so; each such question is one dead letter."""
    ending = await crash_at_every_request(launching(is_mute=True), rig, carried_out=carried_out)
    assert ending == Ending([ANSWER], PAST, {1: {"error": CANNOT_ASK}}, asked=2, called=[])
    assert await store.depths() == Depths(due=0, dead_letters=len(rig.reported))


@every_death
async def test_a_call_that_is_stopped_while_it_runs_is_over(
    carried_out: bool, rig: CrashRig, store: Store
) -> None:
    """It is not made again; where the process died before it was made, nobody had a reason to
    stop."""
    during = after("asked", presses("p1")) + after("call", says("m2", "/stop"))
    scenario = Scenario((TOKYO,), asks("drill", 1), during=during)

    async def ends_well(point: int) -> bool:
        conversation = Conversation(f"mailbox:{point}", scenario, rig)
        first, record, last = await run(conversation, Cut(point, carried_out))
        ending = await ending_of(conversation, last, record)
        was_made = bool(conversation.called)
        assert conversation.to_come == ([] if was_made else list(during[1:]))
        assert ending.answers == [
            question(1, "drill"),
            "Allowed: drill.",
            STOPPED if was_made else ANSWER,
        ]
        assert ending.past == ["Tokyo?", "/stop", STOPPED] if was_made else PAST
        assert ending.results == {1: {"error": CANCELLED if was_made else INTERRUPTED}}
        assert (ending.marked_twice, ending.left, ending.by_the_dead) == ([], [], 0)
        return first.is_dead

    point = 0
    assert not await ends_well(point)
    while await ends_well(point := point + 1):
        pass
    assert point > 15
