"""Approvals as people see them in Slack: the whole path, on a real store, with presses through the
webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot.pipeline.services import NO_OTHERS
from bot.providers import Provider
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import THREAD, TS
from tests.bot.features.approvals.longest_questions import TitledLaunch, longest_call, wordy_models
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import mention, press
from tests.fakes.tools import Launch, tool_map

APPROVE, REJECT = "approval.approve", "approval.reject"
LAUNCH = Step(calls=(ToolCall("c1", "launch", {"what": "rocket"}),))
OTHER = "U00000002"


class LaunchPipeline(SlackPipeline):
    """A process with a tool that acts."""

    def __init__(
        self,
        store: Store,
        fake: SlackFake,
        *steps: Step,
        other_models: Mapping[str, Provider] = NO_OTHERS,
        launch: Launch | None = None,
        **settings: Any,
    ) -> None:
        self.launch = launch or Launch()
        super().__init__(
            store,
            fake,
            steps,
            tool_map(self.launch),
            other_models=other_models,
            **settings,
        )

    async def press(self, action: str, **fields: Any) -> None:
        """Somebody presses a button of the question, as it once stood there."""
        asked = next(posted for posted in self.fake.posted if len(posted.get("blocks", ())) == 2)
        place = next(
            one
            for one in self.fake.messages[asked["channel"]]
            if one.get("metadata") == asked["metadata"]
        )
        url = f"{self.fake.origin}/actions/1"
        await self.send(
            press({**place, "blocks": asked["blocks"]}, action, response_url=url, **fields)
        )

    @property
    def runs(self) -> int:
        """How often the rocket was launched."""
        return len(self.launch.contexts)


@pytest.fixture(autouse=True)
def others(fake: SlackFake) -> None:
    """Somebody else reads along."""
    fake.add_user(OTHER, "Taro")


async def test_an_approved_call_runs_once_and_is_answered_below(
    store: Store, fake: SlackFake
) -> None:
    """However often the button is pressed; the buttons are gone, the name of who decided stands
    there."""
    async with LaunchPipeline(store, fake, LAUNCH, Step("Launched")) as pipeline:
        await pipeline.send(mention("launch the rocket", TS))
        assert pipeline.runs == 0
        for _ in range(3):
            await pipeline.press(APPROVE)
        assert pipeline.runs == 1
        question, answer = fake.shown
        assert question.endswith("\nAllowed: launch. (hanako)")
        assert (answer, fake.posted[-1]["thread_ts"]) == ("Launched", TS)
        assert (fake.responses, fake.whispered) == ({}, [])


async def test_who_calls_the_bot_into_a_thread_may_approve(store: Store, fake: SlackFake) -> None:
    """What others have said there before is read, and nobody has asked it."""
    fake.add_message("C00000001", f"{TS[:-1]}1", "launch the rocket", thread_ts=TS)
    async with LaunchPipeline(store, fake, LAUNCH, Step("Launched")) as pipeline:
        await pipeline.send(mention("launch the rocket", f"{TS[:-1]}1", thread_ts=TS))
        await pipeline.press(APPROVE)
        assert (pipeline.runs, fake.shown[-1]) == (1, "Launched")


@pytest.mark.parametrize("letter", ["🍎", "頼", "אa"])
async def test_the_longest_question_with_every_reviewers_words_is_asked(
    store: Store, fake: SlackFake, letter: str
) -> None:
    """Arguments, title, reason and votes as long as any may be: the arguments are whole, all votes
    are there."""
    given: dict[str, Any] = {"other_models": wordy_models(letter), "launch": TitledLaunch()}
    async with LaunchPipeline(store, fake, longest_call(letter), Step("Up"), **given) as pipeline:
        await pipeline.send(mention("launch the rocket", TS))
        assert fake.shown[0].count("Reviewer ") == 5
        await pipeline.press(APPROVE)
        assert pipeline.runs == 1


async def test_a_press_after_a_restart_decides_all_the_same(store: Store, fake: SlackFake) -> None:
    """Question, buttons and the place of its message are known to whichever process hears it."""
    async with LaunchPipeline(store, fake, LAUNCH) as before:
        await before.send(mention("打ち上げて", TS))
    async with LaunchPipeline(store, fake, Step("打ち上げませんでした。")) as after:
        await after.press(REJECT)
        assert (before.runs, after.runs) == (0, 0)
        question, answer = fake.shown
        assert question.endswith("\n許可されませんでした：launch（hanakoさん）")
        assert answer == "打ち上げませんでした。"


async def test_a_press_of_somebody_else_is_refused_for_their_eyes_alone(
    store: Store, fake: SlackFake
) -> None:
    """The question stays as it is, for the one who may decide; an approver may as well."""
    approvers = ("U00000003",)
    async with LaunchPipeline(
        store, fake, LAUNCH, Step("Launched"), approvers=approvers
    ) as pipeline:
        await pipeline.send(mention("launch the rocket", TS))
        await pipeline.press(APPROVE, user=OTHER)
        assert [one["text"] for one in fake.responses["/actions/1"]] == [
            "Only the person who asked can decide this."
        ]
        assert (pipeline.runs, len(fake.shown)) == (0, 1)
        await pipeline.press(APPROVE, user="U00000003", name="boss")
        assert pipeline.runs == 1
        assert fake.shown[0].endswith("\nAllowed: launch. (boss)")


async def test_a_press_after_expiry_changes_nothing(store: Store, fake: SlackFake) -> None:
    """The buttons have made room for that; who presses an old copy of them is told."""
    async with LaunchPipeline(
        store, fake, LAUNCH, Step("Too late, I am afraid."), approval_ttl_s=0
    ) as pipeline:
        await pipeline.send(mention("launch the rocket", TS))
        await pipeline.runner.process(THREAD)
        question, answer = fake.shown
        assert question.endswith("\nNobody decided in time, so it was not done: launch.")
        assert answer == "Too late, I am afraid."
        await pipeline.press(APPROVE)
        assert pipeline.runs == 0


async def test_whoever_waits_behind_a_question_is_told_so_once(
    store: Store, fake: SlackFake
) -> None:
    """For their eyes, in their language, without a word of the call; answers come after the
    decision."""
    fake.add_user(OTHER, "Taro", locale="en-US")
    fake.add_user("U00000003", "Jiro", locale="ja-JP")
    steps = LAUNCH, Step("Launched"), Step("Noon."), Step("正午です。")
    async with LaunchPipeline(store, fake, *steps) as pipeline:
        await pipeline.send(mention("launch the rocket", TS))
        asked = [("When is lunch?", OTHER), ("And where?", OTHER), ("いつですか", "U00000003")]
        for number, (text, user) in enumerate(asked, 1):
            ts = f"{TS[:-1]}{number}"
            fake.add_message("C00000001", ts, text, user=user, thread_ts=TS)
            await pipeline.send(mention(text, ts, user=user, thread_ts=TS))
        reported = [(one["user"], one["thread_ts"], one["markdown_text"]) for one in fake.whispered]
        assert reported == [
            (
                OTHER,
                TS,
                "Somebody has asked me for something that needs their approval. I am waiting for "
                "their decision, and "
                "answer you right after it.",
            ),
            (
                "U00000003",
                TS,
                "先にご依頼いただいた方の承認が必要な操作があり、その方のお返事を待っています。そのあとすぐにお答えします。",
            ),
        ]
        await pipeline.press(APPROVE)
        await pipeline.process()
        assert fake.shown[1:] == ["Launched", "Noon.", "正午です。"]
    assert len(fake.whispered) == 2
