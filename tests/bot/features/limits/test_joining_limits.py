"""The day's limits for messages that join a running turn: those beyond them wait for the next
turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from bot.channels import InboundEvent
from bot.clock import Days
from bot.features.limits.feature import UNREAD
from bot.features.limits.store import Spent
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Spending, Usage
from tests.bot.features.limits.budgets_harness import Clock, limits_of, make_budgets, used
from tests.bot.harness import HERE, Harness, edited, words
from tests.bot.pipeline.held_turns import asked, calling, held

DAYS = Days("UTC", Clock())


def limited(store: Store, *steps: Step, settings: Mapping[str, int]) -> Harness:
    return Harness(store, steps, settings=settings, days=DAYS)


@pytest.mark.parametrize(
    "limits",
    [limits_of(user_messages=3), limits_of(conversation_messages=3)],
    ids=["user", "place"],
)
async def test_only_as_many_messages_join_as_the_day_has_left(
    store: Store, limits: Mapping[str, int]
) -> None:
    """The first ones, in order; the others are refused together in the next turn, with one
    sentence."""
    first = calling(held=True)
    harness = limited(store, first, Step("Done"), settings=limits)
    await harness.receive("one", "m1")
    async with held(harness, first):
        for number in range(150):
            await harness.receive(f"more {number}", f"j{number}")
    assert [text for role, text in asked(harness) if role == "user"] == ["one", "more 0", "more 1"]
    assert len(harness.model.requests) == 2
    assert harness.box.texts[0] == "Done"
    assert len(harness.box.texts) == 2
    assert "today's limit of 3 messages" in harness.box.texts[1]
    assert (await harness.past())[-2:] == [UNREAD.text, harness.box.texts[1]]
    assert [used.spent.messages for used in await used(harness)] == [3, 3]


async def test_nothing_joins_once_the_whole_bot_has_used_up_its_tokens(store: Store) -> None:
    """The turn that used them up ends; who wrote meanwhile is told."""
    first = Step(calls=calling().calls, usage=Usage(100), gate=asyncio.Event())
    harness = limited(
        store, first, Step("Done"), settings=limits_of(token_limit=50, user_messages=2)
    )
    await harness.receive("one", "m1")
    async with held(harness, first):
        await harness.receive("two", "m2")
    assert [text for role, text in asked(harness) if role == "user"] == ["one"]
    assert len(harness.box.texts) == 2


async def test_a_change_stays_with_the_message_that_has_to_wait(store: Store) -> None:
    """The next turn finds both; nothing of either is read before."""
    first = calling(held=True)
    harness = limited(store, first, Step("Done"), settings=limits_of(user_messages=1))
    await harness.receive("one", "m1")
    async with held(harness, first):
        await harness.receive("secret", "m2")
        await harness.arrive(edited("e1", "m2", "other secret"))
    assert [text for role, text in asked(harness) if role == "user"] == ["one"]
    assert len(harness.box.texts) == 2
    assert "secret" not in "".join(await harness.past())


async def test_a_stop_ends_the_turn_with_all_that_came_before(store: Store) -> None:
    """Messages that nobody answers cost nothing, so none of them has to wait for a refusal."""
    first = calling(held=True)
    harness = limited(store, first, settings=limits_of(user_messages=1))
    await harness.receive("one", "m1")
    async with held(harness, first):
        await harness.receive("two", "m2")
        await harness.arrive(InboundEvent(words("m3", "/stop")))
    assert len(harness.box.texts) == 1
    assert await harness.store.inbox.read(HERE) == []


async def test_of_many_turns_no_more_join_than_the_day_has_left(store: Store) -> None:
    """One person's threads run side by side, and in several processes."""
    budgets = [make_budgets(store, limits_of(user_messages=10)) for _ in range(2)]
    joined = []
    for number in range(6):
        place, key = f"line:bot:group:{number}", f"t{number} m{number}"
        joined.append(await budgets[number % 2].admit_joining(key, place, "u1", 3))
    assert joined == [3, 3, 3, 1, 0, 0]
    assert (await budgets[0].used(place, "u1"))[0].spent == Spent(messages=10)


async def test_messages_that_join_twice_are_counted_once(store: Store) -> None:
    """The process that let them join may have died before its journal had them."""
    place = "line:bot:user:u1"
    for _ in range(2):
        budgets = make_budgets(store, limits_of(user_messages=4))
        assert await budgets.admit_joining("t1 m1", place, "u1", 4) == 4
        budgets.spend(place, Spending("model", Usage(5), Author("u1"), 4, is_first=False))
    assert (await budgets.used(place, "u1"))[0].spent == Spent(4, 10)
