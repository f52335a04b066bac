"""Feedback as people give it in Slack: the whole path on a real store, with presses by webhook and
by Socket Mode."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from bot.channels import Reply
from bot.clock import Days
from bot.features.feedback.store import Rating, Ratings
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import RATING, THREAD, TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, JSON, TEAM, USER, mention, press
from tests.fakes.slack_streams import asks_for_feedback

NATIVE, PLAIN = "context_actions", "actions"
EPHEMERAL = "chat.postEphemeral"
OTHER = "U00000002"


class RatedPipeline(SlackPipeline):
    """A process whose answers people rate."""

    async def press(self, choice: str, channel: str = CHANNEL, **fields: Any) -> JSON:
        """A press of the newest buttons, and all that comes of it."""
        payload = pressed(self.fake, choice, channel, **fields)
        await self.send(payload)
        return payload

    async def ratings(self) -> list[Rating]:
        """All that is kept."""
        return await Ratings(self.store).read(Days("UTC").latest(2))


def buttons_of(posted: JSON) -> list[str]:
    """The types of the blocks with buttons for feedback."""
    return [block["type"] for block in posted.get("blocks", ()) if asks_for_feedback(block)]


def pressed(fake: SlackFake, choice: str, channel: str = CHANNEL, **fields: Any) -> JSON:
    """A press of the newest buttons."""
    asked = [one for one in fake.messages[channel] if buttons_of(one)][-1]
    half = {"good": "positive", "bad": "negative"}[choice]
    url = fields.pop("response_url", f"{fake.origin}/actions/1")
    if buttons_of(asked) == [PLAIN]:
        number = {"good": 0, "bad": 1}[choice]
        action = f"feedback.{choice}#{number}"
        return press(asked, action, channel=channel, response_url=url, **fields)
    return press(asked, "kaiwa_feedback", channel=channel, response_url=url, choice=half, **fields)


@pytest.fixture
async def process(fake: SlackFake, store: Store) -> AsyncIterator[RatedPipeline]:
    """It has answered a mention."""
    fake.add_user(OTHER, "Taro", "en-US")
    async with RatedPipeline(store, fake, [Step("**21 °C**")]) as process:
        await process.send(mention("how warm is it?", TS))
        yield process


def thanks(fake: SlackFake) -> list[str]:
    """What people were told alone."""
    return [one["text"] for one in fake.responses["/actions/1"]]


async def test_an_answer_of_the_model_has_buttons_below_it(process: RatedPipeline) -> None:
    """Slack's own; the notification shows the answer, the values name turn and model."""
    (posted,) = process.fake.posted
    assert posted["text"] == "**21 °C**"
    assert posted["blocks"][0] == {"type": "markdown", "text": "**21 °C**"}
    (element,) = posted["blocks"][1]["elements"]
    assert element["positive_button"]["text"]["text"] == "Good answer"
    turn = posted["metadata"]["event_payload"]["id"].removesuffix("_1")
    assert re.fullmatch(
        rf"feedback\.bad \d+:{turn}:scripted~[0-9a-f]{{8}}", element["negative_button"]["value"]
    )


async def test_a_press_is_kept_and_thanked_for(process: RatedPipeline) -> None:
    """By the day of the answer, without the person; the thanks are for them alone and in their
    language."""
    await process.press("good")
    (rating,) = await process.ratings()
    assert (rating.place, rating.model, rating.is_good) == (
        f"slack:{TEAM}:{CHANNEL}",
        "scripted",
        True,
    )
    assert rating.turn_id in str(process.fake.posted)
    text = "フィードバックをありがとうございます。"
    assert thanks(process.fake) == [text]
    assert process.fake.responses["/actions/1"][0] == {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": text,
        "blocks": [{"type": "markdown", "text": text}],
        "thread_ts": TS,
    }
    assert (len(process.fake.posted), process.due) == (1, [])


async def test_a_mind_may_change(process: RatedPipeline) -> None:
    """One rating a person and answer; what says nothing new is not thanked for."""
    body = await process.press("good")
    await process.send(body)
    await process.press("good")
    assert len(thanks(process.fake)) == 1
    await process.press("bad")
    await process.send(body)
    await process.press("bad", user=OTHER)
    assert [rating.is_good for rating in await process.ratings()] == [False, False]
    assert thanks(process.fake)[1:] == [
        "フィードバックをありがとうございます。",
        "Thank you for your feedback.",
    ]


async def test_a_press_that_cannot_be_kept_is_no_success(fake: SlackFake) -> None:
    """Slack tells whoever pressed that it did not work."""

    async with open_rig(fake) as rig:
        await rig.slack.deliver(
            THREAD, replace(delivery(), reply=Reply("Hi", buttons=RATING)), ours
        )
        rig.inbox.away = True
        assert await rig.send(pressed(fake, "good")) == 503
    assert thanks(fake) == []


async def test_what_kaiwa_says_itself_is_not_asked_about(fake: SlackFake, store: Store) -> None:
    """Commands, canned answers and apologies are no work of the model's."""
    async with RatedPipeline(store, fake, [Step(stop_reason="blocked")]) as process:
        await process.send(mention("/help", TS))
        await process.send(mention("hello?", "1700000000.000300", thread_ts=TS))
        await process.send(mention("/usage", "1700000000.000400", thread_ts=TS))
    assert len(fake.posted) == 3
    assert [buttons_of(posted) for posted in fake.posted] == [[]] * len(fake.posted)


@pytest.mark.parametrize(
    "settings",
    [{"allowed_users": ("U9",)}, {"allowed_channels": ("C9",)}],
)
async def test_whoever_may_not_use_the_bot_does_not_rate_it(
    process: RatedPipeline, fake: SlackFake, store: Store, settings: JSON
) -> None:
    """Nor in a channel where it does not answer."""
    async with RatedPipeline(store, fake, **settings) as strict:
        await strict.press("good")
    assert (await process.ratings(), thanks(fake)) == ([], [])


@pytest.mark.parametrize(
    "fields",
    [
        {"value": "feedback.good"},
        {"value": "feedback.best 1:turn_1:m"},
        {"value": f"feedback.good 1:{'x' * 65}:m"},
        {"value": "feedback.good 1:turn_1:m", "block_id": "elsewhere"},
        {"action_id": "feedback"},
    ],
)
async def test_what_is_no_press_of_ours_is_nothing(process: RatedPipeline, fields: JSON) -> None:
    """Whatever it looks like."""
    payload = pressed(process.fake, "good")
    payload["actions"] = [payload["actions"][0] | fields]
    await process.send(payload)
    assert await process.ratings() == []


async def test_without_an_address_for_it_the_thanks_go_by_the_api(process: RatedPipeline) -> None:
    """And where they cannot be said nothing is lost."""
    await process.press("good", response_url="https://elsewhere.test/x")
    assert [reported["markdown_text"] for reported in process.fake.whispered] == [
        "フィードバックをありがとうございます。"
    ]
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
    async with RatedPipeline(store, fake, [Step("One"), Step("Two"), Step("Three")]) as process:
        for number in range(3):
            await process.send(mention("hello", f"170000000{number}.000100", thread_ts=TS))
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
        await rig.slack.deliver(
            THREAD, replace(delivery(number=number), reply=Reply("Hi", buttons=RATING)), ours
        )
    assert [buttons_of(posted) for posted in fake.posted] == [[PLAIN], [NATIVE]]


async def test_an_operator_can_do_without(fake: SlackFake, store: Store) -> None:
    """SLACK_FEEDBACK=0."""
    async with RatedPipeline(store, fake, [Step("Hi.")], slack_feedback=False) as process:
        await process.send(mention("hello", TS))
    assert fake.posted[0]["markdown_text"] == "Hi."


async def test_an_answer_with_buttons_that_arrived_after_all_is_not_posted_twice(
    fake: SlackFake, rig: Rig
) -> None:
    """It is looked for like any other."""
    fake.hang_up("chat.postMessage", after=True)
    answer = replace(delivery(), reply=Reply("Hi", buttons=RATING))
    with pytest.raises(Exception, match=r"chat\.postMessage"):
        await rig.slack.deliver("slack:x", answer, ours)
    await rig.slack.deliver("slack:x", replace(answer, attempts=2), ours)
    assert (fake.answers, USER in str(fake.posted)) == (["Hi"], False)
