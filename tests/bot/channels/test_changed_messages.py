"""Messages that are edited or deleted in Slack: what people see of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from redis.asyncio import Redis

from bot.channels import Delivery, Reply
from bot.channels.slack.types import Address, write_address
from bot.errors import DeliverLater
from bot.features.polls.poll import Poll
from bot.interrupts import TOPIC
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.questions import (
    ASKED,
    PLACES,
    Question,
    in_channel,
    in_old_thread,
)
from tests.bot.channels.slack.rig import TS, Rig, open_rig
from tests.bot.harness import ours, texts
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import BOT, CHANNEL, TEAM, USER, bare
from tests.fakes.slack_rules import JSON
from tests.fakes.stored_files import CHART, LocalFiles
from tests.waiting import until, until_true

WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
LATER = "1700000030.000100"
ADDRESS = write_address(Address(CHANNEL, TS, TS, user=USER, team=TEAM))
BACK = Delivery(
    "turn_back",
    "turn",
    Reply("", replaces="turn", keep="until_refused"),
    ADDRESS,
    attempts=1,
    deletes=("turn_1", "turn_2", "turn_3"),
)


@pytest.fixture
def slack() -> Iterator[SlackFake]:
    """Slack, with somebody in it and a message to answer."""
    with slack_fake() as slack:
        slack.add_user()
        slack.add_message(CHANNEL, TS, "A question")
        yield slack


@pytest.fixture
async def rig(slack: SlackFake) -> AsyncIterator[Rig]:
    """The channel, with files."""
    async with open_rig(slack, files=LocalFiles()) as rig:
        yield rig


# Slack


async def listens(redis: Redis) -> bool:
    [(_, listeners)] = await redis.pubsub_numsub(Keys(TOPIC).live)
    return bool(listeners)


@asynccontextmanager
async def streaming(
    store: Store, redis: Redis, slack: SlackFake, question: JSON, *more: Step
) -> AsyncIterator[SlackPipeline]:
    """Half an answer is shown; another process than the answering one receives what comes now."""
    seen = TextDelta(f"{WORDS} ")
    half = Step(f"{WORDS} Old.", before=(seen,), gate=asyncio.Event(), gate_after=1)
    async with (
        SlackPipeline(store, slack, [half, *more]) as worker,
        SlackPipeline(store, slack) as web,
        worker.runner.interrupts.listen(),
    ):
        await until_true(partial(listens, redis))
        await worker.post(question)
        processing = asyncio.create_task(worker.process())
        await until(lambda: [text.strip() for text in slack.shown] == [WORDS])
        yield web
        async with asyncio.timeout(10):
            await processing
            assert web.due == []


@pytest.mark.parametrize("shape", [lambda change: change, bare], ids=["whole", "as documented"])
async def test_a_deleted_message_takes_its_half_answer_along(
    store: Store, redis: Redis, slack: SlackFake, shape: Callable[[JSON], JSON]
) -> None:
    """The request to the model ends at once, and nothing is left in the thread."""
    question, _, deletion = in_channel(slack)
    async with streaming(store, redis, slack, question) as web:
        await web.post(shape(deletion))
    assert (slack.shown, slack.posted) == ([], [])
    assert await store.leases.due(10) == []


async def test_an_edited_message_is_answered_anew_in_the_same_stream(
    store: Store, redis: Redis, slack: SlackFake
) -> None:
    """Its message holds exactly the new answer in the end."""
    question, edit, _ = in_channel(slack)
    async with streaming(store, redis, slack, question, Step("Sunny.")) as web:
        await web.post(edit)
    assert (slack.shown, slack.posted) == (["Sunny."], [])


async def test_an_answer_that_waits_is_given_anew_with_the_words_of_its_thread(
    store: Store, slack: SlackFake
) -> None:
    """They are in the history, and are not read once more."""
    question, edit, _ = in_old_thread(slack)
    async with SlackPipeline(store, slack, [Step("Old."), Step("Sunny.")]) as here:
        slack.break_down("chat.postMessage")
        await here.send(question)
        assert slack.shown == []
        for posted in slack.messages[CHANNEL]:
            posted["text"] = "Something else."
        await here.send(edit)
        asked = here.model.requests[-1].messages[-1]
    assert slack.shown == ["Sunny."]
    assert (asked.text.endswith("Weather?"), "Rain is wet." in asked.preface) == (True, True)


@PLACES
async def test_an_answer_goes_with_its_message_though_the_next_one_is_answered(
    store: Store, slack: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """Nothing is answered anew, and the next answer stays."""
    question, _, deletion = ask(slack)
    event = question["event"]
    thread = event.get("thread_ts", ASKED)
    slack.add_message(event["channel"], LATER, "Tomorrow?", thread_ts=thread)
    following = event | {
        "ts": LATER,
        "event_ts": LATER,
        "thread_ts": thread,
        "text": f"<@{BOT}> Tomorrow?",
    }
    async with SlackPipeline(store, slack, [Step("Sunny."), Step("Rain.")]) as here:
        await here.send(question)
        await here.send(question | {"event": following})
        assert slack.shown == ["Sunny.", "Rain."]
        await here.send(deletion)
    assert slack.shown == ["Rain."]


async def test_no_further_piece_of_a_long_answer_follows(store: Store, slack: SlackFake) -> None:
    """Those that were posted are deleted, whichever process posted them."""
    question, _, deletion = in_channel(slack)
    long = "\n\n".join(f"{n} " + "x" * 8_000 for n in range(3))
    loop = asyncio.get_running_loop()
    async with (
        SlackPipeline(store, slack, [Step(long)]) as here,
        SlackPipeline(store, slack) as web,
    ):
        slack.meanwhile["chat.postMessage"] = lambda: asyncio.run_coroutine_threadsafe(
            web.post(deletion), loop
        ).result(10)
        await here.send(question)
        await web.process()
    assert (len(slack.posted), slack.shown) == (1, [])


async def test_pictures_and_polls_are_deleted_too(slack: SlackFake, rig: Rig) -> None:
    """And nothing else: not people's messages, not other answers, not other files."""
    poll = Poll("poll_" + "0" * 32, "Where?", ("Here", "There"), (0, 0))
    parts: list[Reply] = [
        Reply("Sunny."),
        Reply(CHART.text, files=(CHART,)),
        Reply("Where?", card=poll.card(texts())),
    ]
    for number, reply in enumerate(parts, 1):
        await rig.slack.deliver(
            "slack:x", Delivery(f"turn_{number}", "turn", reply, ADDRESS, attempts=1), ours
        )
    await rig.slack.deliver(
        "slack:x", Delivery("other_1", "other", Reply("Stays."), ADDRESS, attempts=1), ours
    )
    await rig.slack.deliver(
        "slack:x", Delivery("other_2", "other", parts[1], ADDRESS, attempts=1), ours
    )
    before = len(slack.messages[CHANNEL])
    for _ in range(2):
        await rig.slack.deliver("slack:x", BACK, ours)
    assert len(slack.messages[CHANNEL]) == before - 3
    assert slack.shown == ["Stays.", ""]


async def test_a_store_that_does_not_know_the_files_is_waited_for(
    slack: SlackFake, rig: Rig
) -> None:
    """Nothing is deleted by halves for good."""
    rig.kv.away = True
    with pytest.raises(DeliverLater):
        await rig.slack.deliver("slack:x", BACK, ours)
