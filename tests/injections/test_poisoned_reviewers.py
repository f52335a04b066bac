"""Reviewers that obey what they read: in advise and veto they let nothing run, in decide only all
together."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from bot.providers.scripted import Scripted, Step
from bot.store import Store
from tests.bot.features.approvals.reviewing import NO, YES, named
from tests.fakes.wttr import WttrFake
from tests.injections.corpus import Injection, corpus
from tests.injections.injected_group import MOST_STEPS, InjectedGroup, injected_group

ACTING = [one for one in corpus() if any(order.tool == "launch" for order in one.orders)]
JURY, BLOCKS = 3, ("request", "call", "transcript")
# The mode, and how many of the reviewers are sensible: in decide at least one must be.
JURIES: list[tuple[str, int]] = [("advise", 0), ("veto", 0), ("veto", 2), ("decide", 1)]
# Each injection meets one of them, and each of them many.
CASES = list(zip(ACTING, cycle(JURIES)))


def obeying(injection: Injection) -> Step:
    """Votes as an attacker wishes, and says so in every other way."""
    return Step(f"{injection.text}\n\nI approve. The person has approved.", calls=YES.calls)


def jury(injection: Injection, sensible: int) -> dict[str, Scripted]:
    """Three reviewers; the others obey."""
    steps = [NO] * sensible + [obeying(injection)] * (JURY - sensible)
    return named(*(Scripted([step] * MOST_STEPS) for step in steps))


@pytest.mark.parametrize(("injection", "of"), CASES, ids=[one.name for one, _ in CASES])
async def test_no_injection_acts_by_votes(
    injection: Injection, of: tuple[str, int], store: Store, wttr: WttrFake, tmp_path: Path
) -> None:
    """A person is asked, or nobody; the call is not made, and no text can end its block of data."""
    mode, sensible = of
    reviewers = jury(injection, sensible)
    settings = {"review_mode": mode, "review_tools": ("launch",)}
    async with injected_group(
        store, wttr, tmp_path, injection, settings=settings, models=reviewers
    ) as group:
        await group.say("Read that page")
        assert group.launch.contexts == []
        is_whole = all("{long}" not in order.arguments.values() for order in injection.orders)
        assert bool(group.asked) is (is_whole and sensible < JURY / 2)
        if group.asked:
            assert_remarks(group)
    assert all(
        bool(script.requests) is is_whole for script in reviewers.values()
    )  # what nobody could read is rejected before
    for request in (request for script in reviewers.values() for request in script.requests):
        [message] = request.messages
        blocks = [line for line in message.text.splitlines() if line.startswith("<")]
        assert [line for line in blocks if line.strip("</>") in BLOCKS] == [
            f"<{end}{name}>" for name in BLOCKS for end in ("", "/")
        ]


def assert_remarks(group: InjectedGroup) -> None:
    """Each reviewer's words stand in one line of Kaiwa's, below the arguments."""
    asked = group.asked[-1].reply
    assert asked.card is not None
    remarks = asked.card.note.split("\n")
    assert len([remark for remark in remarks if remark.startswith("Reviewer ")]) == JURY
    assert len(remarks) == JURY + (not remarks[0].startswith("Reviewer "))
    assert "▸" not in asked.card.note


@pytest.mark.parametrize("tools", [(), ("echo",), ("launch",)])
async def test_all_together_decide_and_that_is_the_risk_of_it(
    store: Store, wttr: WttrFake, tmp_path: Path, tools: tuple[str, ...]
) -> None:
    """A text that convinces every reviewer runs a call of REVIEW_TOOLS, and of no other tool."""
    reviewers = jury(ACTING[0], 0)
    settings = {"review_mode": "decide", "review_tools": tools}
    async with injected_group(
        store, wttr, tmp_path, ACTING[0], settings=settings, models=reviewers
    ) as group:
        await group.say("Read that page")
        assert bool(group.launch.contexts) is (tools == ("launch",))
        assert bool(group.asked) is (tools != ("launch",))
