"""What is edited or taken back while the model writes its last request: its answer is not sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.conversation.cancellation import CHANGES, TOPIC, Change
from bot.conversation.inbound import MOST_CHANGES
from bot.live_events import AnswerRestarted, AnswerText
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.conversation.held_turns import asked, calling, held
from tests.bot.harness import HERE, WRITTEN_AT, Harness, edited, unsent, words
from tests.waiting import until_true


def hanging(text: str = "Never sent.", *, after: int = 0) -> Step:
    """A request that nobody ends but a change."""
    return Step(text, gate=asyncio.Event(), gate_after=after)


async def listens(redis: Redis) -> bool:
    """Whether a process hears what is told to all."""
    told = await redis.pubsub_numsub(Keys(TOPIC).live, Keys(CHANGES).live)
    return all(listeners for _, listeners in told)


@asynccontextmanager
async def under_way(
    harness: Harness, redis: Redis, step: Step
) -> AsyncIterator[asyncio.Task[None]]:
    """A turn whose model is at this step, in a process that hears of changes."""
    async with harness.runner.cancellations.listen():
        await until_true(partial(listens, redis))
        processing = asyncio.create_task(harness.runner.process(HERE))
        async with asyncio.timeout(10):
            await step.at_gate.wait()
            yield processing
            await processing


async def test_a_message_taken_back_ends_the_request_at_once(store: Store, redis: Redis) -> None:
    """No answer, no history, no apology after minutes."""
    step = hanging()
    harness = Harness(store, [step])
    await harness.receive("Oops", "m1")
    async with under_way(harness, redis, step):
        await harness.arrive(unsent("e1", "m1"))
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])
    assert await store.leases.due(10) == []
    assert (await store.depths()).dead_letters == 0


async def test_an_edited_message_is_asked_anew(store: Store, redis: Redis) -> None:
    """With its new words; what was shown of the first answer is void."""
    step = Step("Old.", before=(TextDelta("Old"),), gate=asyncio.Event(), gate_after=1)
    harness = Harness(store, [step, Step("Sunny.")])
    await harness.receive("Wether?", "m1")
    async with under_way(harness, redis, step):
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert asked(harness) == [("user", "Weather?")]
    assert (harness.box.texts, await harness.past()) == (["Sunny."], ["Weather?", "Sunny."])
    shown = [event for event in harness.box.seen if isinstance(event, AnswerText | AnswerRestarted)]
    assert shown == [AnswerText("Old"), AnswerRestarted(), AnswerText("Sunny.")]


async def test_finished_calls_are_not_repeated(store: Store, redis: Redis) -> None:
    """The request after them starts over, with their results."""
    step = hanging()
    harness = Harness(store, [calling(), step, Step("Sunny.")])
    await harness.receive("Wether?", "m1")
    async with under_way(harness, redis, step):
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
    assert harness.box.texts == ["Sunny."]


async def test_a_change_of_another_message_lets_the_request_go_on(
    store: Store, redis: Redis
) -> None:
    """The edit of an earlier turn counts from the next turn on."""
    step = Step("Two", gate=asyncio.Event())
    harness = Harness(store, [Step("One"), step])
    await harness.receive("first", "m1")
    await harness.runner.process(HERE)
    await harness.receive("second", "m2")
    async with under_way(harness, redis, step):
        async with store.live.subscribe(CHANGES) as told:
            await harness.arrive(edited("e1", "m1", "The first"))
            await anext(told)
        assert step.gate is not None
        step.gate.set()
    assert (len(harness.model.requests), harness.box.texts) == (2, ["One", "Two"])
    assert await harness.past() == ["The first", "One", "second", "Two"]


@pytest.mark.parametrize("is_unsent", [True, False])
async def test_a_change_that_nobody_was_told_of_is_found_at_the_commit(
    store: Store, is_unsent: bool
) -> None:
    """The answer is there, but not committed: the turn goes on with what people say now."""
    step = Step("Old.", gate=asyncio.Event())
    harness = Harness(store, [step, Step("Sunny.")])
    await harness.receive("Wether?", "m1")
    async with held(harness, step):
        await harness.arrive(unsent("e1", "m1") if is_unsent else edited("e1", "m1", "Weather?"))
    told = [] if is_unsent else ["Sunny."]
    assert (harness.box.texts, await harness.past()) == (
        told,
        [] if is_unsent else ["Weather?", "Sunny."],
    )
    assert await store.leases.due(10) == []


async def test_one_of_two_messages_is_taken_back_at_the_end(store: Store) -> None:
    """The other one is answered alone."""
    step = Step("Both.", gate=asyncio.Event())
    harness = Harness(store, [step, Step("Sunny.")])
    await harness.receive("Weather?", "m1")
    await harness.receive("Oops", "m2")
    async with held(harness, step):
        await harness.arrive(unsent("e1", "m2"))
    assert (asked(harness), harness.box.texts) == ([("user", "Weather?")], ["Sunny."])


async def test_an_apology_is_not_sent_for_a_message_taken_back(store: Store) -> None:
    """The model's failure concerns nobody any more."""
    step = Step("Too", stop_reason="malformed", gate=asyncio.Event())
    harness = Harness(store, [step])
    await harness.receive("Oops", "m1")
    async with held(harness, step):
        await harness.arrive(unsent("e1", "m1"))
    assert (harness.box.texts, await harness.past()) == ([], [])


async def test_who_edits_for_ever_is_answered(store: Store) -> None:
    """After ten changes the answer is for the words that it saw; what comes later is in the
    history."""
    steps = [Step(f"Answer {number}", gate=asyncio.Event()) for number in range(MOST_CHANGES + 1)]
    harness = Harness(store, steps)
    await harness.receive("v0", "m1")
    processing = asyncio.create_task(harness.runner.process(HERE))
    for number, step in enumerate(steps, 1):
        async with asyncio.timeout(10):
            await step.at_gate.wait()
        await harness.arrive(edited(f"e{number}", "m1", f"v{number}"))
        assert step.gate is not None
        step.gate.set()
    await processing
    assert harness.box.texts == [f"Answer {MOST_CHANGES}"]
    assert asked(harness) == [("user", f"v{MOST_CHANGES}")]
    assert await harness.past() == [f"v{MOST_CHANGES + 1}", f"Answer {MOST_CHANGES}"]


async def test_after_many_edits_a_message_can_still_be_taken_back(
    store: Store, redis: Redis
) -> None:
    """At once, as ever; further edits end no request."""
    harness = Harness(store, [last := hanging()])
    await harness.receive("v0", "m1")
    await harness.arrive(
        *(edited(f"e{number}", "m1", f"v{number}") for number in range(MOST_CHANGES))
    )
    async with under_way(harness, redis, last):
        async with store.live.subscribe(CHANGES) as told:
            await harness.arrive(edited("e10", "m1", "v10"))
            await anext(told)
        assert len(harness.model.requests) == 1
        await harness.arrive(unsent("e11", "m1"))
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])


async def test_a_change_before_the_turn_is_tracked_is_not_missed(store: Store) -> None:
    """The turn is too young to look into its inbox otherwise."""
    harness = Harness(store, [])
    await harness.receive("Oops", "m1")
    harness.runner.cancellations.change(Change(HERE, "m1", "e1", is_unsent=True))
    opened = await store.journal.open(HERE, "turn_1", 1)
    assert opened is not None
    await harness.arrive(unsent("e1", "m1"))
    await store.leases.release(opened.lease)
    await harness.runner.process(HERE)
    assert (harness.model.requests, harness.box.texts) == ([], [])


async def test_an_entry_that_cannot_be_read_does_not_hold_the_answer_up(store: Store) -> None:
    """The change behind it cannot join: the next turn deals with both."""
    step = Step("Old.", gate=asyncio.Event())
    harness = Harness(store, [step, Step("Again.")])
    await harness.receive("Wether?", "m1")
    async with held(harness, step):
        await store.inbox.accept(HERE, "broken", b"{")
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert harness.box.texts[0] == "Again."
    assert len(harness.model.requests) == 2


async def test_a_turn_that_goes_on_leaves_a_change_behind_its_message(store: Store) -> None:
    """Both wait in the inbox: the change must not be read first, or nobody would know of it when
    the message is."""
    step = hanging()
    dead, other = Harness(store, [step]), Harness(store, [Step("One."), Step("Never sent.")])
    await dead.receive("One?", "m1")
    processing = asyncio.create_task(dead.runner.process(HERE))
    async with asyncio.timeout(10):
        await step.at_gate.wait()
    processing.cancel()
    await asyncio.gather(processing, return_exceptions=True)
    await other.receive("Two?", "m2")
    await other.arrive(unsent("e1", "m2"))
    for _ in range(2):
        await other.runner.process(HERE)
    assert (len(other.model.requests), other.box.texts, await other.past()) == (
        1,
        ["One."],
        ["One?", "One."],
    )


async def test_an_edit_that_overtakes_its_message_counts(store: Store) -> None:
    """Also if a turn has read it before the message comes in; of two, the newer one by the
    platform's time."""
    harness = Harness(store, [Step("Sunny.")])
    newer = edited("e2", "m1", "Weather?")
    await harness.arrive(replace(newer, message=replace(newer.message, at=WRITTEN_AT + 2)))
    await harness.arrive(edited("e1", "m1", "Wether!"))
    await harness.runner.process(HERE)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    assert (asked(harness), harness.box.texts) == ([("user", "Weather?")], ["Sunny."])


async def test_what_is_taken_back_before_it_comes_leaves_no_edit_behind(
    store: Store, redis: Redis
) -> None:
    """Neither is the message answered, nor are its words stored."""
    harness = Harness(store, [])
    await harness.arrive(edited("e1", "m1", "Weather?"), unsent("u1", "m1"))
    await harness.runner.process(HERE)
    assert not await harness.intake(HERE, InboundEvent(words("m1", "Wether?")))
    assert await redis.exists(Keys(HERE).of("early")) == 0


@pytest.mark.parametrize(
    "change", [edited("e1", "m1", "Weather?"), unsent("e1", "m1")], ids=["edited", "taken back"]
)
async def test_a_change_after_a_stop_joins_the_stopped_turn(
    store: Store, change: InboundEvent
) -> None:
    """The turn ends, with the words as they are now, and what comes next is answered."""
    step = calling(held=True)
    harness = Harness(store, [step, Step("Hello!")])
    await harness.receive("Wether?", "m1")
    async with asyncio.timeout(10), held(harness, step):
        await harness.arrive(InboundEvent(words("s1", "/stop")), change)
    await harness.receive("Hi", "m2")
    await harness.runner.process(HERE)
    assert harness.box.texts == ["Stopped.", "Hello!"]
    assert "Wether?" not in await harness.past()
