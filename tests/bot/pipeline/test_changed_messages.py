"""Messages that are edited or taken back while a turn runs: it takes that in."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.interrupts import TOPIC, Interrupt
from bot.live_events import AnswerRestarted, AnswerText
from bot.pipeline.prepare import MOST_CHANGES
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.harness import HERE, WRITTEN_AT, Harness, edited, unsent, words
from tests.bot.pipeline.held_turns import asked, calling, cut_off, hanging, held, under_way

CHANGED = pytest.mark.parametrize(
    "change", [edited("e1", "m1", "Weather?"), unsent("e1", "m1")], ids=["edited", "taken back"]
)


def by_somebody_else(message_id: str, text: str) -> InboundEvent:
    return InboundEvent(words(message_id, text, "u2"), group=True)


@CHANGED
async def test_a_change_ends_the_request_to_the_model_at_once(
    store: Store, redis: Redis, change: InboundEvent
) -> None:
    """The model is asked anew with the new words and the results of its calls, or not at all."""
    step = Step("Old.", before=(TextDelta("Old"),), gate=asyncio.Event(), gate_after=1)
    harness = Harness(store, [calling(), step, Step("Sunny.")])
    await harness.receive("Wether?", "m1", "token-1")
    async with under_way(harness, redis, step.at_gate):
        await harness.arrive(change)
    shown = [event for event in harness.box.seen if isinstance(event, AnswerText | AnswerRestarted)]
    if change.event == "edited":
        assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
        assert await harness.past() == ["Weather?", "", "", "Sunny."]
        assert [sent.address for sent in harness.box.delivered] == ["token-1"]
        assert shown[-2:] == [AnswerRestarted(), AnswerText("Sunny.")]
    else:
        assert (len(harness.model.requests), await harness.past()) == (2, [])
        assert (harness.box.texts, shown[-1:]) == ([], [AnswerRestarted()])
    assert await store.leases.due(10) == []


async def test_a_change_of_another_message_lets_the_request_go_on(
    store: Store, redis: Redis
) -> None:
    """The edit of an earlier turn counts from the next turn on."""
    step = Step("Two", gate=asyncio.Event())
    harness = Harness(store, [Step("One"), step])
    await harness.say("first", "m1")
    await harness.receive("second", "m2")
    async with under_way(harness, redis, step.at_gate):
        async with store.live.subscribe(TOPIC) as published:
            await harness.arrive(edited("e1", "m1", "The first"))
            await anext(published)
        assert step.gate is not None
        step.gate.set()
    assert (len(harness.model.requests), harness.box.texts) == (2, ["One", "Two"])
    assert await harness.past() == ["The first", "One", "second", "Two"]


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
    processing = asyncio.create_task(harness.process())
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
    async with under_way(harness, redis, last.at_gate):
        async with store.live.subscribe(TOPIC) as published:
            await harness.arrive(edited("e10", "m1", "v10"))
            await anext(published)
        assert len(harness.model.requests) == 1
        await harness.arrive(unsent("e11", "m1"))
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])


async def test_a_change_before_the_turn_is_tracked_is_not_missed(store: Store) -> None:
    """The turn is too young to look into its inbox otherwise."""
    harness = Harness(store, [])
    await harness.receive("Oops", "m1")
    harness.runner.interrupts.interrupt(Interrupt(HERE, "e1", "m1", is_unsent=True))
    opened = await store.journal.open(HERE, "turn_1", 1)
    assert opened is not None
    await harness.arrive(unsent("e1", "m1"))
    await store.leases.release(opened.lease)
    await harness.process()
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
    await cut_off(dead, step.at_gate)
    await other.receive("Two?", "m2")
    await other.take(unsent("e1", "m2"))
    assert (len(other.model.requests), other.box.texts) == (1, ["One."])
    assert await other.past() == ["One?", "One."]


async def test_an_edit_that_overtakes_its_message_counts(store: Store) -> None:
    """Also if a turn has read it before the message comes in; of two, the newer one by the
    platform's time."""
    harness = Harness(store, [Step("Sunny.")])
    newer = edited("e2", "m1", "Weather?")
    await harness.arrive(replace(newer, message=replace(newer.message, at=WRITTEN_AT + 2)))
    await harness.take(edited("e1", "m1", "Wether!"))
    await harness.say("Wether?", "m1")
    assert (asked(harness), harness.box.texts) == ([("user", "Weather?")], ["Sunny."])


async def test_what_is_taken_back_before_it_comes_leaves_no_edit_behind(
    store: Store, redis: Redis
) -> None:
    """Neither is the message answered, nor are its words stored."""
    harness = Harness(store, [])
    await harness.take(edited("e1", "m1", "Weather?"), unsent("u1", "m1"))
    assert not await harness.intake(HERE, InboundEvent(words("m1", "Wether?")))
    assert await redis.exists(Keys(HERE).of("early")) == 0


@CHANGED
async def test_a_stop_of_somebody_else_leaves_a_change_with_its_message(
    store: Store, change: InboundEvent
) -> None:
    """The message waits for a turn of its own, and so do its new words, or that there is none."""
    step = hanging()
    harness = Harness(store, [step, Step("Sunny.")])
    await harness.arrive(by_somebody_else("m0", "Hi"))
    async with held(harness, step):
        await harness.arrive(InboundEvent(words("m1", "Wether?"), group=True), change)
        await harness.arrive(by_somebody_else("s1", "/stop"))
        harness.runner.interrupts.interrupt(Interrupt(HERE, "s1"))
    answers = ["Sunny."] if change.event == "edited" else []
    past = ["Weather?", "Sunny."] if change.event == "edited" else []
    assert harness.box.texts == ["Stopped.", *answers]
    assert (await harness.past())[3:] == past
