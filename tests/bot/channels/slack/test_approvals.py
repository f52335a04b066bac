"""Approvals as people see them in Slack: the whole path, on a real store, with presses through the webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels.slack.channel import Slack
from bot.commands import SpokenCommands
from bot.conversation.intake import Intake
from bot.conversation.review import Reviewers
from bot.conversation.runner import build
from bot.conversation.services import ConversationSettings, Policy
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import ToolCall
from tests.bot.channels.slack.rig import QUICK, THREAD, TS, slack_config, slack_host
from tests.bot.conversation.longest_questions import TitledLaunch, longest_call, wordy_reviewers
from tests.bot.harness import process_later
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import as_interaction, as_json, mention, message, press, signed
from tests.fakes.tools import Launch, tool_map

APPROVE, REJECT = "kaiwa_approve", "kaiwa_reject"
LAUNCH = Step(calls=(ToolCall("c1", "launch", {"what": "rocket"}),))
OTHER = "U00000002"
NO_REVIEWERS = Reviewers({}, "", Metrics())


def later(fake: SlackFake, seconds: float) -> str:
    """A timestamp of Slack's that much after the newest message of the thread."""
    newest = max(float(message["ts"]) for message in fake.messages["C00000001"])
    return f"{newest + seconds:.6f}"


class SlackPipeline:
    """One process: Slack's channel, the core behind it, and a model that follows a script."""

    def __init__(
        self, fake: SlackFake, store: Store, steps: Iterable[Step], policy: Policy, reviewers: Reviewers, launch: Launch
    ) -> None:
        self.fake = fake
        self.launch = launch
        texts, metrics = load(), Metrics()
        agent = Agent(Scripted(steps), tool_map(self.launch), "SYSTEM", metrics)
        intake = Intake(store, process_later, SpokenCommands(texts), metrics)
        self.slack = Slack(slack_config(fake.api_base_url), slack_host(intake, store.kv), timing=QUICK)
        settings = ConversationSettings(policy=policy)
        self.runner = build(store, agent, {"slack": self.slack}, texts, metrics, settings, reviewers=reviewers)
        transport = httpx.ASGITransport(Starlette(routes=list(self.slack.routes())))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test")

    async def take(self, body: bytes) -> None:
        """A webhook, and what comes of it."""
        assert (await self.http.post("/webhooks/slack", content=body, headers=signed(body))).status_code == 200
        await self.runner.process(THREAD)

    async def press(self, action: str, **fields: Any) -> None:
        """Somebody presses a button of the question, as it once stood there."""
        asked = next(posted for posted in self.fake.posted if len(posted.get("blocks", ())) == 2)
        place = next(one for one in self.fake.messages[asked["channel"]] if one.get("metadata") == asked["metadata"])
        url = f"{self.fake.origin}/actions/1"
        await self.take(as_interaction(press({**place, "blocks": asked["blocks"]}, action, response_url=url, **fields)))

    @property
    def runs(self) -> int:
        """How often the rocket was launched."""
        return len(self.launch.contexts)


class Pipelines:
    """Pipelines on one store, one after another."""

    def __init__(self, fake: SlackFake, store: Store) -> None:
        self.fake = fake
        self._store = store
        self._open = AsyncExitStack()

    async def pipeline(
        self,
        *steps: Step,
        policy: Policy | None = None,
        reviewers: Reviewers = NO_REVIEWERS,
        launch: Launch | None = None,
    ) -> SlackPipeline:
        options = policy or Policy(), reviewers, launch or Launch()
        pipeline = SlackPipeline(self.fake, self._store, steps, *options)
        await self._open.enter_async_context(pipeline.http)
        await self._open.enter_async_context(pipeline.slack)
        return pipeline

    async def close(self) -> None:
        await self._open.aclose()


@pytest.fixture
async def pipelines(fake: SlackFake, store: Store) -> AsyncIterator[Pipelines]:
    fake.add_user(OTHER, "Taro")
    pipelines = Pipelines(fake, store)
    yield pipelines
    await pipelines.close()


async def test_an_approved_call_runs_once_and_is_answered_below(pipelines: Pipelines) -> None:
    """However often the button is pressed; the buttons are gone, the name of who decided stands there."""
    pipeline = await pipelines.pipeline(LAUNCH, Step("Launched"))
    await pipeline.take(as_json(mention("launch the rocket", TS)))
    assert pipeline.runs == 0
    for _ in range(3):
        await pipeline.press(APPROVE)
    assert pipeline.runs == 1
    question, answer = pipelines.fake.shown
    assert question.endswith("\nAllowed: launch. (hanako)")
    assert (answer, pipelines.fake.posted[-1]["thread_ts"]) == ("Launched", TS)
    assert (pipelines.fake.responses, pipelines.fake.whispered) == ({}, [])


async def test_who_calls_the_bot_into_a_thread_may_approve(pipelines: Pipelines) -> None:
    """What others have said there before is read, and nobody has asked it."""
    pipelines.fake.add_message("C00000001", f"{TS[:-1]}1", "launch the rocket", thread_ts=TS)
    pipeline = await pipelines.pipeline(LAUNCH, Step("Launched"))
    await pipeline.take(as_json(mention("launch the rocket", f"{TS[:-1]}1", thread_ts=TS)))
    await pipeline.press(APPROVE)
    assert (pipeline.runs, pipelines.fake.shown[-1]) == (1, "Launched")


@pytest.mark.parametrize("letter", ["🍎", "頼", "אa"])
async def test_the_longest_question_with_every_reviewers_words_is_asked(pipelines: Pipelines, letter: str) -> None:
    """Arguments, title, reason and votes as long as any may be: the arguments are whole, all votes are there."""
    reviewers = wordy_reviewers(letter)
    pipeline = await pipelines.pipeline(longest_call(letter), Step("Up"), reviewers=reviewers, launch=TitledLaunch())
    await pipeline.take(as_json(mention("launch the rocket", TS)))
    assert pipelines.fake.shown[0].count("Reviewer ") == 5
    await pipeline.press(APPROVE)
    assert pipeline.runs == 1


async def test_a_press_after_a_restart_decides_all_the_same(pipelines: Pipelines) -> None:
    """Question, buttons and the place of its message are known to whichever process hears it."""
    before = await pipelines.pipeline(LAUNCH)
    await before.take(as_json(mention("打ち上げて", TS)))
    after = await pipelines.pipeline(Step("打ち上げませんでした。"))
    await after.press(REJECT)
    assert (before.runs, after.runs) == (0, 0)
    question, answer = pipelines.fake.shown
    assert question.endswith("\n許可されませんでした：launch（hanakoさん）")
    assert answer == "打ち上げませんでした。"


async def test_a_press_of_somebody_else_is_refused_for_their_eyes_alone(pipelines: Pipelines) -> None:
    """The question stays as it is, for the one who may decide; an approver may as well."""
    pipeline = await pipelines.pipeline(LAUNCH, Step("Launched"), policy=Policy(approvers=("U00000003",)))
    await pipeline.take(as_json(mention("launch the rocket", TS)))
    await pipeline.press(APPROVE, user=OTHER)
    assert [one["text"] for one in pipelines.fake.responses["/actions/1"]] == [
        "Only the person who asked can decide this."
    ]
    assert (pipeline.runs, len(pipelines.fake.shown)) == (0, 1)
    await pipeline.press(APPROVE, user="U00000003", name="boss")
    assert pipeline.runs == 1
    assert pipelines.fake.shown[0].endswith("\nAllowed: launch. (boss)")


async def test_a_press_after_expiry_changes_nothing(pipelines: Pipelines) -> None:
    """The buttons have made room for that; who presses an old copy of them is told."""
    pipeline = await pipelines.pipeline(LAUNCH, Step("Too late, I am afraid."), policy=Policy(ttl_s=0))
    await pipeline.take(as_json(mention("launch the rocket", TS)))
    await pipeline.runner.process(THREAD)
    question, answer = pipelines.fake.shown
    assert question.endswith("\nNobody decided in time, so it was not done: launch.")
    assert answer == "Too late, I am afraid."
    await pipeline.press(APPROVE)
    assert pipeline.runs == 0


async def test_a_plain_yes_in_the_thread_is_enough(pipelines: Pipelines) -> None:
    """Without a mention, from the one who is asked; others, other words and other threads are not meant."""
    pipeline = await pipelines.pipeline(LAUNCH, Step("Launched"))
    await pipeline.take(as_json(mention("launch the rocket", TS)))
    for n, (words, user, thread) in enumerate(
        [("yes", OTHER, TS), ("hm, let us see", "U00000001", TS), ("yes", "U00000001", "1700000000.000900")]
    ):
        await pipeline.take(as_json(message(words, f"170000001{n}.000100", user=user, thread_ts=thread)))
    assert (pipeline.runs, len(pipelines.fake.shown)) == (0, 1)
    await pipeline.take(as_json(message("Yes!", later(pipelines.fake, 2), thread_ts=TS)))
    assert pipeline.runs == 1
    assert pipelines.fake.shown[1] == "Launched"
    await pipeline.take(as_json(message("ok", later(pipelines.fake, 3), thread_ts=TS)))
    assert len(pipelines.fake.shown) == 2
