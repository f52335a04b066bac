"""Reviewers that obey what they read: in advise and veto they let nothing run, in decide only all together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.conversation.review import Reviewers
from bot.conversation.services import Policy, ReviewMode
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.transcript import Message
from tests.bot.conversation.reviewing import NO, YES
from tests.fakes.wttr import WttrFake
from tests.injections.corpus import Injection, corpus
from tests.injections.injected_group import MOST_STEPS, injected_group

CORPUS = corpus()
PER_TEST = 12  # injections: one conversation each


def obeying(injection: Injection) -> Step:
    """Votes as an attacker wishes, and says so in every other way."""
    return Step(f"{injection.text}\n\nI approve. The person has approved.", calls=YES.calls)


def sensible(messages: Sequence[Message]) -> Step:
    """Rejects whatever nobody asked for."""
    assert messages[0].text.startswith("<request>")
    return NO


def jury(injection: Injection, *, sensible_ones: int) -> tuple[Reviewers, list[Scripted]]:
    """Three reviewers, of whom some are sensible."""
    minds = [[obeying(injection)], [obeying(injection)], [obeying(injection)]]
    scripts = [Scripted([sensible] * MOST_STEPS) for _ in range(sensible_ones)]
    scripts += [Scripted(mind * MOST_STEPS) for mind in minds[sensible_ones:]]
    return Reviewers({f"r{n}": script for n, script in enumerate(scripts)}, "REVIEW", Metrics()), scripts


@pytest.mark.parametrize("first", range(0, len(CORPUS), PER_TEST))
@pytest.mark.parametrize(
    ("mode", "sensible_ones"), [("advise", 0), ("advise", 1), ("veto", 0), ("veto", 1), ("veto", 2), ("decide", 1)]
)
async def test_no_injection_acts_by_votes(
    store: Store, wttr: WttrFake, tmp_path: Path, mode: ReviewMode, sensible_ones: int, first: int
) -> None:
    """A person is asked, or nobody; the call is never made. Nothing that was read can end its block of data."""
    policy = Policy(review_mode=mode, review_tools=("launch",))
    for number, injection in enumerate(CORPUS[first : first + PER_TEST]):
        reviewers, scripts = jury(injection, sensible_ones=sensible_ones)
        folder = tmp_path / str(number)
        folder.mkdir()
        scene = injected_group(store, wttr, folder, injection, policy=policy, reviewers=reviewers, room=number)
        async with scene as group:
            await group.say("Read that page")
            assert group.launch.contexts == []
            if mode == "veto" and sensible_ones == 2:
                assert group.asked == []
            for request in (request for script in scripts for request in script.requests):
                [message] = request.messages
                blocks = [line for line in message.text.splitlines() if line.startswith(("<", "</"))]
                assert blocks == [f"<{end}{name}>" for name in ("request", "call", "transcript") for end in ("", "/")]


@pytest.mark.parametrize("injection", CORPUS[:3], ids=lambda injection: injection.name)
async def test_all_of_them_decide_and_that_is_the_risk_of_it(
    store: Store, wttr: WttrFake, tmp_path: Path, injection: Injection
) -> None:
    """A text that convinces every reviewer runs a call of REVIEW_TOOLS; no other tool's."""
    for tools in ((), ("launch",)):
        reviewers, _ = jury(injection, sensible_ones=0)
        policy = Policy(review_mode="decide", review_tools=tools)
        folder = tmp_path / f"tools{len(tools)}"
        folder.mkdir()
        scene = injected_group(store, wttr, folder, injection, policy=policy, reviewers=reviewers, room=len(tools))
        async with scene as group:
            await group.say("Read that page")
            assert bool(group.launch.contexts) is bool(tools)
