"""What is edited or taken back while its turn runs: the model goes on with what people see."""

from __future__ import annotations

import asyncio

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.conversation.held_turns import asked, calling, cut_off, held
from tests.bot.harness import HERE, Harness, edited, unsent, words


def by_users(harness: Harness) -> list[str]:
    """What the model was last told of people's words."""
    return [text for role, text in asked(harness) if role == "user"]


async def test_an_edit_reaches_the_turn_under_way(store: Store) -> None:
    """The next request holds the new words, and so does the history."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Sunny.")])
    await harness.receive("Wether?", "m1", "token-1")
    async with held(harness, first):
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
    assert await harness.past() == ["Weather?", "", "", "Sunny."]
    assert [sent.address for sent in harness.box.delivered] == ["token-1"]


async def test_one_of_two_messages_is_taken_back(store: Store) -> None:
    """The other one is answered."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Sunny.")])
    await harness.receive("Weather?", "m1")
    await harness.receive("Oops", "m2")
    async with held(harness, first):
        await harness.arrive(unsent("e1", "m2"))
    assert by_users(harness) == ["Weather?"]
    assert await harness.past() == ["Weather?", "", "", "Sunny."]


async def test_a_turn_whose_only_question_is_taken_back_leaves_nothing(store: Store) -> None:
    """No answer, no history, no delivery, and nothing left to do."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Never asked for.")])
    await harness.receive("Oops", "m1")
    async with held(harness, first):
        await harness.arrive(unsent("e1", "m1"))
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])
    assert await store.leases.due(10) == []
    assert (await store.depths()).dead_letters == 0


async def test_what_was_called_for_a_question_goes_with_it(store: Store) -> None:
    """Where another question has joined: a call without a question before it is refused by
    Gemini."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Osaka is sunny.")])
    await harness.receive("Tokyo?", "m1")
    async with held(harness, first):
        await harness.receive("Osaka?", "m2")
        await harness.arrive(unsent("e1", "m1"))
    assert asked(harness) == [("user", "Osaka?")]
    assert await harness.past() == ["Osaka?", "Osaka is sunny."]


async def test_a_question_taken_back_after_its_answer_leaves_the_one_that_joined(
    store: Store,
) -> None:
    """With the answer, and without the calls of the first; what remains can be sent to any
    model."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Both."), Step("Hello!")])
    await harness.receive("Tokyo?", "m1")
    async with held(harness, first):
        await harness.receive("Osaka?", "m2")
    await harness.arrive(unsent("e1", "m1"))
    await harness.receive("Hi", "m3")
    await harness.runner.process(HERE)
    assert asked(harness) == [("user", "Osaka?"), ("model", "Both."), ("user", "Hi")]


async def test_an_earlier_turn_goes_from_the_turn_under_way_too(store: Store) -> None:
    """As from the store: its question, its calls and its answer."""
    first = calling("c2", held=True)
    harness = Harness(store, [calling(), Step("Secret!"), first, Step("Sunny.")])
    await harness.receive("A secret", "m1")
    await harness.runner.process(HERE)
    await harness.receive("Weather?", "m2")
    async with held(harness, first):
        await harness.arrive(unsent("e1", "m1"))
    assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
    assert await harness.past() == ["Weather?", "", "", "Sunny."]


async def test_a_message_that_has_joined_may_be_taken_back(store: Store) -> None:
    """Even before the model has seen it."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Sunny.")])
    await harness.receive("Weather?", "m1", "token-1")
    async with held(harness, first):
        await harness.arrive(InboundEvent(words("m2", "Oops"), "token-2"), unsent("e1", "m2"))
    assert by_users(harness) == ["Weather?"]
    assert await harness.past() == ["Weather?", "", "", "Sunny."]


async def test_everything_may_be_taken_back_before_the_turn_begins(store: Store) -> None:
    """The model is not asked."""
    harness = Harness(store, [])
    await harness.receive("Oops", "m1")
    await harness.arrive(unsent("e1", "m1"))
    await harness.runner.process(HERE)
    assert (harness.model.requests, harness.box.texts, await harness.past()) == ([], [], [])


async def test_a_message_is_taken_back_while_nobody_is_at_work(store: Store) -> None:
    """The process that was at work is gone; the one that goes on learns it before it asks."""
    first = Step("never", gate=asyncio.Event())
    harness = Harness(store, [first])
    await harness.receive("Oops", "m1")
    await cut_off(harness, first.at_gate)
    await harness.arrive(unsent("e1", "m1"))
    then = Harness(store, [])
    await then.runner.process(HERE)
    assert (then.model.requests, then.box.texts, await then.past()) == ([], [], [])
    assert await store.leases.due(10) == []


async def test_after_a_crash_a_message_stays_taken_back(store: Store) -> None:
    """The journal holds it in its place: before the request that followed."""
    first, second = calling(held=True), Step("never", gate=asyncio.Event())
    harness = Harness(store, [first, second])
    await harness.receive("Weather?", "m1")
    await harness.receive("Oops", "m2")
    cutting = asyncio.create_task(cut_off(harness, second.at_gate))
    await first.at_gate.wait()
    await harness.arrive(edited("e1", "m1", "The weather?"), unsent("e2", "m2"))
    assert first.gate is not None
    first.gate.set()
    await cutting
    then = Harness(store, [Step("Sunny.")])
    await then.runner.process(HERE)
    assert asked(then) == asked(harness) == [("user", "The weather?"), ("model", ""), ("tool", "")]
    assert await then.past() == ["The weather?", "", "", "Sunny."]
