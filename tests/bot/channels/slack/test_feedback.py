"""Feedback as people give it in Slack: the whole path on a real store, with presses by webhook and by Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from msgspec.structs import replace as changed
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels import Reply
from bot.channels.slack.channel import Slack
from bot.clock import Days
from bot.commands import SpokenCommands
from bot.conversation.feedback import Feedback, KnownRating, read_ratings
from bot.conversation.intake import Intake
from bot.conversation.runner import build
from bot.errors import StoreUnavailable
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from tests.bot.channels.slack.rig import QUICK, TS, Rig, delivery, open_rig, slack_config, slack_host
from tests.bot.harness import ours
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import (
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    as_interaction,
    as_json,
    mention,
    message,
    press,
    signed,
)
from tests.fakes.slack_streams import asks_for_feedback
from tests.fakes.tools import tool_map
from tests.waiting import until

NATIVE, PLAIN = "context_actions", "actions"
EPHEMERAL = "chat.postEphemeral"
OTHER = "U00000002"
JSON = dict[str, Any]


class Process:
    """One process with Slack's channel and a scripted model.

    Attributes:
        due: conversations to process.
    """

    def __init__(self, fake: SlackFake, store: Store, *steps: Step, **settings: Any) -> None:
        self.fake = fake
        self.store = store
        self.due: list[str] = []
        texts, metrics = load(), Metrics()
        intake = Intake(store, lambda conversation, _: self.due.append(conversation), SpokenCommands(texts), metrics)
        host = replace(slack_host(intake, store.kv), rate=Feedback(store, metrics, Days("UTC")))
        self.slack = Slack(slack_config(fake.api_base_url, **settings), host, timing=QUICK)
        agent = Agent(Scripted(list(steps)), tool_map(), "SYSTEM", metrics)
        self.runner = build(store, agent, {"slack": self.slack}, texts, metrics)
        transport = httpx.ASGITransport(Starlette(routes=list(self.slack.routes())))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test")

    async def post(self, body: bytes) -> int:
        """A signed webhook; the status of the answer."""
        return (await self.http.post("/webhooks/slack", content=body, headers=signed(body))).status_code

    async def ask(self, payload: JSON) -> None:
        """Somebody writes, and is answered."""
        assert await self.post(as_json(payload)) == 200
        due, self.due = list(dict.fromkeys(self.due)), []
        for conversation in due:
            await self.runner.process(conversation)

    async def press(self, choice: str, channel: str = CHANNEL, *, again: bytes = b"", **fields: Any) -> bytes:
        """A press of the newest buttons, and all that comes of it; its body."""
        body = again or as_interaction(pressed(self.fake, choice, channel, **fields))
        assert await self.post(body) == 200
        await self.slack.tasks.join()
        return body

    async def ratings(self) -> list[KnownRating]:
        """All that is kept."""
        return await read_ratings(self.store, Days("UTC").latest(2))


def buttons_of(posted: JSON) -> list[str]:
    """The types of the blocks with buttons for feedback."""
    return [block["type"] for block in posted.get("blocks", ()) if asks_for_feedback(block)]


def pressed(fake: SlackFake, choice: str, channel: str = CHANNEL, **fields: Any) -> JSON:
    """A press of the newest buttons."""
    asked = [one for one in fake.messages[channel] if buttons_of(one)][-1]
    half = {"good": "positive", "bad": "negative"}[choice]
    url = fields.pop("response_url", f"{fake.origin}/actions/1")
    if buttons_of(asked) == [PLAIN]:
        return press(asked, f"kaiwa_feedback_{choice}", channel=channel, response_url=url, **fields)
    return press(asked, "kaiwa_feedback", channel=channel, response_url=url, choice=half, **fields)


@asynccontextmanager
async def open_process(fake: SlackFake, store: Store, *steps: Step, **settings: Any) -> AsyncIterator[Process]:
    """A process, running."""
    process = Process(fake, store, *steps, **settings)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(process.http)
        await stack.enter_async_context(process.slack)
        yield process


@pytest.fixture
async def process(fake: SlackFake, store: Store) -> AsyncIterator[Process]:
    """It has answered a mention."""
    fake.add_user(OTHER, "Taro", "en-US")
    async with open_process(fake, store, Step("**21 °C**")) as process:
        await process.ask(mention("how warm is it?", TS))
        yield process


def thanks(fake: SlackFake) -> list[str]:
    """What people were told alone."""
    return [one["text"] for one in fake.responses["/actions/1"]]


async def test_an_answer_of_the_model_has_buttons_below_it(process: Process) -> None:
    """Slack's own; the notification shows the answer, the values name turn and model."""
    (posted,) = process.fake.posted
    assert posted["text"] == "**21 °C**"
    assert posted["blocks"][0] == {"type": "markdown", "text": "**21 °C**"}
    (element,) = posted["blocks"][1]["elements"]
    assert element["positive_button"]["text"]["text"] == "Good answer"
    turn = posted["metadata"]["event_payload"]["id"].removesuffix("_1")
    assert element["negative_button"]["value"] == f"bad {turn} scripted"


async def test_a_press_is_kept_and_thanked_for(process: Process) -> None:
    """By the day of the answer, without the person; the thanks are for them alone and in their language."""
    await process.press("good")
    (rating,) = await process.ratings()
    assert (rating.place, rating.model, rating.is_good) == (f"slack:{TEAM}:{CHANNEL}", "scripted", True)
    assert rating.turn_id in str(process.fake.posted)
    assert thanks(process.fake) == ["フィードバックをありがとうございます。"]
    assert process.fake.responses["/actions/1"][0] == {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": "フィードバックをありがとうございます。",
        "thread_ts": TS,
    }
    assert (len(process.fake.posted), process.due) == (1, [])


async def test_a_mind_may_change(process: Process) -> None:
    """One rating a person and answer; what says nothing new is not thanked for."""
    body = await process.press("good")
    await process.press("", again=body)
    await process.press("good")
    assert len(thanks(process.fake)) == 1
    await process.press("bad")
    await process.press("", again=body)
    await process.press("bad", user=OTHER)
    assert [rating.is_good for rating in await process.ratings()] == [False, False]
    assert thanks(process.fake)[1:] == ["フィードバックをありがとうございます。", "Thank you for your feedback."]


async def test_two_processes_count_one_press(process: Process) -> None:
    """Slack may send it to either, or to both."""
    async with open_process(process.fake, process.store) as other:
        body = await process.press("good")
        await other.press("", again=body)
        await other.press("bad")
    assert [rating.is_good for rating in await process.ratings()] == [False]


async def test_by_socket_mode_it_is_the_same(fake: SlackFake, store: Store, process: Process) -> None:
    """The press is acknowledged once it is kept."""
    await process.slack.identity.learn()
    async with open_process(fake, store, slack_signing_secret="", slack_app_token=APP_TOKEN):
        await until(lambda: fake.connected == 1)
        sent = fake.send(pressed(fake, "bad"), "interactive")
        await until(lambda: sent in fake.acknowledged)
        assert [rating.is_good for rating in await process.ratings()] == [False]
        await until(lambda: len(thanks(fake)) == 1)


async def test_a_press_that_cannot_be_kept_is_no_success(fake: SlackFake) -> None:
    """Slack tells whoever pressed that it did not work."""

    async def away(_: object) -> bool:
        raise StoreUnavailable("away")

    async with open_rig(fake, rate=away) as rig:
        await rig.slack.deliver("slack:x", changed(delivery(), reply=Reply("Hi", model="m")), ours)
        assert await rig.send(pressed(fake, "good")) == 503
    assert thanks(fake) == []


async def test_what_kaiwa_says_itself_is_not_asked_about(fake: SlackFake, store: Store) -> None:
    """Commands, canned answers and apologies are no work of the model's."""
    async with open_process(fake, store, Step(stop_reason="blocked")) as process:
        await process.ask(mention("/help", TS))
        await process.ask(mention("hello?", "1700000000.000300", thread_ts=TS))
        await process.ask(mention("/usage", "1700000000.000400", thread_ts=TS))
    assert len(fake.posted) == 3
    assert [buttons_of(posted) for posted in fake.posted] == [[]] * len(fake.posted)


async def test_a_long_answer_is_asked_about_once(fake: SlackFake, rig: Rig) -> None:
    """Below its last part; files and polls follow it."""
    parts = rig.slack.split(Reply("\n\n".join(f"{n} " + "x" * 8_000 for n in range(3)), model="m"))
    assert [part.model for part in parts] == ["", "", "m"]


async def test_a_1_to_1_is_a_place_too(fake: SlackFake, store: Store) -> None:
    """With the channel of the 1:1."""
    fake.add_message(DIRECT, TS, "hello")
    async with open_process(fake, store, Step("Hi.")) as process:
        await process.ask(message("hello", TS, channel=DIRECT))
        await process.press("good", DIRECT)
        (rating,) = await process.ratings()
    assert rating.place == f"slack:{TEAM}:{DIRECT}"
    assert "thread_ts" not in fake.responses["/actions/1"][0]


async def test_a_forgotten_person_has_rated_nothing(fake: SlackFake, store: Store) -> None:
    """/forget me takes it back, and leaves others' ratings."""
    fake.add_message(DIRECT, TS, "hello")
    async with open_process(fake, store, Step("Hi."), Step("Hello.")) as process:
        await process.ask(mention("hello", TS))
        await process.press("good")
        await process.press("bad", user=OTHER)
        await process.ask(message("/forget me", "1700000000.000500", channel=DIRECT))
        assert [rating.is_good for rating in await process.ratings()] == [False]


@pytest.mark.parametrize(
    "settings",
    [{"allowed_users": ("U9",)}, {"allowed_channels": ("C9",)}],
)
async def test_whoever_may_not_use_the_bot_does_not_rate_it(
    process: Process, fake: SlackFake, store: Store, settings: JSON
) -> None:
    """Nor in a channel where it does not answer."""
    async with open_process(fake, store, **settings) as strict:
        await strict.press("good")
    assert (await process.ratings(), thanks(fake)) == ([], [])


@pytest.mark.parametrize(
    "fields",
    [{"value": "good"}, {"value": "best turn_1 m"}, {"value": f"good {'x' * 65} m"}, {"action_id": "feedback"}],
)
async def test_what_is_no_press_of_ours_is_nothing(process: Process, fields: JSON) -> None:
    """Whatever it looks like."""
    payload = pressed(process.fake, "good")
    payload["actions"] = [payload["actions"][0] | fields]
    assert await process.post(as_interaction(payload)) == 200
    assert await process.ratings() == []


async def test_without_an_address_for_it_the_thanks_go_by_the_api(process: Process) -> None:
    """And where they cannot be said nothing is lost."""
    await process.press("good", response_url="https://elsewhere.test/x")
    assert [told["markdown_text"] for told in process.fake.whispered] == ["フィードバックをありがとうございます。"]
    process.fake.expired.add("/actions/1")
    process.fake.fail(EPHEMERAL, "user_not_in_channel")
    await process.press("bad")
    assert [rating.is_good for rating in await process.ratings()] == [False]


@pytest.mark.parametrize(
    ("unknown", "first", "later"),
    [({NATIVE}, [PLAIN], [PLAIN]), ({NATIVE, PLAIN}, [], [])],
)
async def test_a_workspace_that_does_not_know_the_buttons_gets_others(
    fake: SlackFake, store: Store, unknown: set[str], first: list[str], later: list[str]
) -> None:
    """Each answer is posted once, and what was refused is not tried again for a while."""
    fake.no_blocks = unknown
    async with open_process(fake, store, Step("One"), Step("Two"), Step("Three")) as process:
        for number in range(3):
            await process.ask(mention("hello", f"170000000{number}.000100", thread_ts=TS))
        assert [buttons_of(posted) for posted in fake.posted] == [first, later, later]
        assert fake.answers == ["One", "Two", "Three"]
        assert len(fake.called("chat.postMessage")) <= 3 + len(unknown) + (len(unknown) > 1)
        if first:
            await process.press("bad")
            assert [rating.is_good for rating in await process.ratings()] == [False]


async def test_too_many_words_are_not_held_against_the_buttons(fake: SlackFake, rig: Rig) -> None:
    """The next answer has them."""
    fake.fail("chat.postMessage", "msg_blocks_too_long")
    for number in (1, 2):
        await rig.slack.deliver("slack:x", changed(delivery(number=number), reply=Reply("Hi", model="m")), ours)
    assert [buttons_of(posted) for posted in fake.posted] == [[PLAIN], [NATIVE]]


async def test_an_operator_can_do_without(fake: SlackFake, store: Store) -> None:
    """SLACK_FEEDBACK=0."""
    async with open_process(fake, store, Step("Hi."), slack_feedback=False) as process:
        await process.ask(mention("hello", TS))
    assert fake.posted[0]["markdown_text"] == "Hi."


async def test_an_answer_with_buttons_that_arrived_after_all_is_not_posted_twice(fake: SlackFake, rig: Rig) -> None:
    """It is looked for like any other."""
    fake.hang_up("chat.postMessage", after=True)
    answer = changed(delivery(), reply=Reply("Hi", model="m"))
    with pytest.raises(Exception, match=r"chat\.postMessage"):
        await rig.slack.deliver("slack:x", answer, ours)
    await rig.slack.deliver("slack:x", changed(answer, attempts=2), ours)
    assert (fake.answers, USER in str(fake.posted)) == (["Hi"], False)
