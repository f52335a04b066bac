"""Messages that are edited or deleted in Slack while they are answered, or a moment after that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from redis.asyncio import Redis

from bot.channels import Delivery, Poll, Reply
from bot.channels.slack.types import Address, write_address
from bot.conversation.cancellation import CHANGES
from bot.errors import DeliverLater
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, Rig, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    bare,
    deleted,
    edited,
    mention,
    message,
)
from tests.fakes.slack_rules import JSON
from tests.fakes.stored_files import CHART, LocalFiles
from tests.waiting import until, until_true

WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
ASKED, LATER = "1700000000.000200", "1700000030.000100"
BACK = Reply("", settles="turn", fleeting=True, takes_back=("turn_1", "turn_2", "turn_3"))
ADDRESS = write_address(Address(CHANNEL, TS, TS, user=USER, team=TEAM))

Question = tuple[JSON, JSON, JSON]  # as it is asked, edited and deleted


def in_channel(fake: SlackFake) -> Question:
    """A mention, in whose thread the answer is."""
    fake.add_message(CHANNEL, ASKED, f"<@{'U0000000B'}> Wether?")
    old, new = "<@U0000000B> Wether?", "<@U0000000B> Weather?"
    return mention("Wether?", ASKED), edited(new, old, ASKED), deleted(old, ASKED)


def in_assistant(fake: SlackFake) -> Question:
    """A message in a thread of the assistant's pane."""
    fake.add_message(DIRECT, TS, "New chat")
    fake.add_message(DIRECT, ASKED, "Wether?", thread_ts=TS)
    where = {"channel": DIRECT, "thread_ts": TS}
    return (
        message("Wether?", ASKED, **where),
        edited("Weather?", "Wether?", ASKED, **where),
        deleted("Wether?", ASKED, **where),
    )


def in_old_thread(fake: SlackFake) -> Question:
    """A mention in a thread in which others have talked, which is read with it."""
    old, new, where = (
        f"<@{BOT}> What is this? Wether?",
        f"<@{BOT}> What is this? Weather?",
        {"thread_ts": TS},
    )
    fake.add_message(CHANNEL, TS, "Rain is wet.")
    fake.add_message(CHANNEL, ASKED, old, **where)
    return (
        mention("What is this? Wether?", ASKED, **where),
        edited(new, old, ASKED, **where),
        deleted(old, ASKED, **where),
    )


SHAPES = pytest.mark.parametrize(
    "shape", [lambda change: change, bare], ids=["whole", "as documented"]
)
PLACES = pytest.mark.parametrize("ask", [in_channel, in_assistant, in_old_thread])


def shown_first() -> Step:
    """An answer that people see half of; it does not end by itself."""
    return Step(
        f"{WORDS} Old.", before=(TextDelta(f"{WORDS} "),), gate=asyncio.Event(), gate_after=1
    )


async def listens(redis: Redis) -> bool:
    [(_, listeners)] = await redis.pubsub_numsub(Keys(CHANGES).live)
    return bool(listeners)


@asynccontextmanager
async def streaming(
    store: Store, redis: Redis, fake: SlackFake, question: JSON, *more: Step
) -> AsyncIterator[SlackPipeline]:
    """Half an answer is shown; another process than the answering one receives what comes now."""
    async with (
        SlackPipeline(store, fake, [shown_first(), *more]) as worker,
        SlackPipeline(store, fake) as web,
        worker.runner.cancellations.listen(),
    ):
        await until_true(partial(listens, redis))
        await worker.post(question)
        processing = asyncio.create_task(worker.process())
        await until(lambda: [text.strip() for text in fake.shown] == [WORDS])
        yield web
        async with asyncio.timeout(10):
            await processing
            assert web.due == []


@PLACES
@SHAPES
async def test_a_deleted_message_takes_its_half_answer_along(
    store: Store,
    redis: Redis,
    fake: SlackFake,
    ask: Callable[[SlackFake], Question],
    shape: Callable[[JSON], JSON],
) -> None:
    """The request to the model ends at once, and nothing is left in the thread."""
    question, _, deletion = ask(fake)
    async with streaming(store, redis, fake, question) as web:
        await web.post(shape(deletion))
    assert (fake.shown, fake.posted) == ([], [])
    assert await store.leases.due(10) == []


@PLACES
@SHAPES
async def test_an_edited_message_is_answered_anew_in_the_same_stream(
    store: Store,
    redis: Redis,
    fake: SlackFake,
    ask: Callable[[SlackFake], Question],
    shape: Callable[[JSON], JSON],
) -> None:
    """Its message holds exactly the new answer in the end."""
    question, edit, _ = ask(fake)
    async with streaming(store, redis, fake, question, Step("Sunny.")) as web:
        await web.post(shape(edit))
    assert (fake.shown, fake.posted) == (["Sunny."], [])


@PLACES
async def test_an_answer_to_a_message_that_is_deleted_right_after_it_is_deleted(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """It was sent a moment too early."""
    question, _, deletion = ask(fake)
    async with SlackPipeline(store, fake, [Step("Sunny.")]) as here:
        await here.send(question)
        assert fake.shown == ["Sunny."]
        await here.send(deletion)
    assert fake.shown == []


@PLACES
async def test_an_answer_to_a_message_that_is_edited_right_after_it_is_replaced(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """By the answer to the new words."""
    question, edit, _ = ask(fake)
    async with SlackPipeline(store, fake, [Step("Old."), Step("Sunny.")]) as here:
        await here.send(question)
        await here.send(edit)
        asked = here.model.requests[-1].messages[-1]
    assert (fake.shown, asked.text.endswith("Weather?")) == (["Sunny."], True)
    assert ("Rain is wet." in asked.preface) == (ask is in_old_thread)


@PLACES
async def test_an_answer_to_a_message_that_is_edited_and_then_deleted_is_deleted(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """The second change finds the second answer where it is, in a thread of a 1:1 too."""
    question, edit, deletion = ask(fake)
    later = deletion | {
        "event": deletion["event"] | {"ts": "1700000090.000100", "event_ts": "1700000090.000100"}
    }
    async with SlackPipeline(store, fake, [Step("Old."), Step("Sunny.")]) as here:
        for said in (question, edit, later):
            await here.send(said)
    assert fake.shown == []


@PLACES
async def test_an_answer_goes_with_its_message_though_the_next_one_is_answered(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """Nothing is answered anew, and the next answer stays."""
    question, _, deletion = ask(fake)
    event = question["event"]
    thread = event.get("thread_ts", ASKED)
    fake.add_message(event["channel"], LATER, "Tomorrow?", thread_ts=thread)
    following = event | {
        "ts": LATER,
        "event_ts": LATER,
        "thread_ts": thread,
        "text": f"<@{BOT}> Tomorrow?",
    }
    async with SlackPipeline(store, fake, [Step("Sunny."), Step("Rain.")]) as here:
        await here.send(question)
        await here.send(question | {"event": following})
        assert fake.shown == ["Sunny.", "Rain."]
        await here.send(deletion)
    assert fake.shown == ["Rain."]


@PLACES
async def test_changes_of_two_questions_in_a_row_both_count(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """The first change leaves no turn behind, so the newest answer can still be given anew."""
    question, _, deletion = ask(fake)
    event = question["event"]
    thread = event.get("thread_ts", ASKED)
    fake.add_message(event["channel"], LATER, "Tomorrow?", thread_ts=thread)
    following = event | {
        "ts": LATER,
        "event_ts": LATER,
        "thread_ts": thread,
        "text": f"<@{BOT}> Tomorrow?",
    }
    place = {"channel": event["channel"], "thread_ts": thread}
    edit = edited(f"<@{BOT}> Today?", f"<@{BOT}> Tomorrow?", LATER, **place)
    async with SlackPipeline(store, fake, [Step("Sunny."), Step("Rain."), Step("Snow.")]) as here:
        for said in (question, question | {"event": following}, deletion, edit):
            await here.send(said)
    assert fake.shown == ["Snow."]


async def test_no_further_piece_of_a_long_answer_follows(store: Store, fake: SlackFake) -> None:
    """Those that were posted are deleted, whichever process posted them."""
    question, _, deletion = in_channel(fake)
    long = "\n\n".join(f"{n} " + "x" * 8_000 for n in range(3))
    loop = asyncio.get_running_loop()
    async with SlackPipeline(store, fake, [Step(long)]) as here, SlackPipeline(store, fake) as web:
        fake.meanwhile["chat.postMessage"] = lambda: asyncio.run_coroutine_threadsafe(
            web.post(deletion), loop
        ).result(10)
        await here.send(question)
        await web.process()
    assert (len(fake.posted), fake.shown) == (1, [])


@pytest.mark.long
async def test_a_process_dies_before_it_deletes(
    store: Store, redis: Redis, fake: SlackFake
) -> None:
    """The outbox holds what is to be deleted; the next process does it."""
    question, _, deletion = in_channel(fake)
    async with SlackPipeline(store, fake, [Step("Sunny.")]) as here:
        await here.send(question)
        fake.break_down("chat.delete")
        await here.send(deletion)
        assert fake.shown == ["Sunny."]
        [conversation] = [name async for name in redis.scan_iter("*:outbox:slack:*")]
    async with SlackPipeline(store, fake) as other:

        async def is_deleted() -> bool:
            await other.runner.process(conversation.decode().partition(":outbox:")[2])
            return fake.shown == []

        await until_true(is_deleted, 20)
    assert await store.leases.due(10) == []


@pytest.fixture
async def rig(fake: SlackFake) -> AsyncIterator[Rig]:
    """The channel, with files."""
    async with open_rig(fake, files=LocalFiles()) as rig:
        yield rig


async def test_pictures_and_polls_are_deleted_too(fake: SlackFake, rig: Rig) -> None:
    """And nothing else: not people's messages, not other answers, not other files."""
    poll = Poll("poll_" + "0" * 32, "slack:polls:C00000001", "Where?", ("Here", "There"), (0, 0))
    parts: list[Reply] = [
        Reply("Sunny."),
        Reply(CHART.text, files=(CHART,)),
        Reply("Where?", poll=poll),
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
    before = len(fake.messages[CHANNEL])
    for _ in range(2):
        await rig.slack.deliver(
            "slack:x", Delivery("turn_back", "turn", BACK, ADDRESS, attempts=1), ours
        )
    assert len(fake.messages[CHANNEL]) == before - 3
    assert fake.shown == ["Stays.", ""]
    assert rig.slack.split(BACK) == [BACK]


async def test_what_slack_does_not_delete_stays(fake: SlackFake, rig: Rig) -> None:
    """A retention policy may forbid it; the new answer comes all the same."""
    await rig.slack.deliver(
        "slack:x", Delivery("turn_1", "turn", Reply("Sunny."), ADDRESS, attempts=1), ours
    )
    fake.fail("chat.delete", "cant_delete_message")
    await rig.slack.deliver(
        "slack:x", Delivery("turn_back", "turn", BACK, ADDRESS, attempts=1), ours
    )
    assert fake.shown == ["Sunny."]


async def test_a_store_that_does_not_know_the_files_is_waited_for(
    fake: SlackFake, rig: Rig
) -> None:
    """Nothing is deleted by halves for good."""
    rig.kv.away = True
    with pytest.raises(DeliverLater):
        await rig.slack.deliver(
            "slack:x", Delivery("turn_back", "turn", BACK, ADDRESS, attempts=1), ours
        )
