"""What costs no model is counted too: commands, and what we answer ourselves. Stopping and deciding
always work."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from redis.asyncio import Redis

from bot.channels import DailyUse, InboundEvent
from bot.clock import Days
from bot.features.limits.store import Spent
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Spending, Usage, encode
from tests.bot.features.limits.budgets_harness import Clock, limits_of, make_budgets, used
from tests.bot.harness import HERE, Harness, Mailbox, decision_of, texts, unsent, words

REFUSED = (
    "You have reached today's limit of 3 messages. I can answer you again from 2026-11-22 00:00 "
    "(UTC)."
)


def limited(store: Store, limits: Mapping[str, int] | None = None, *steps: Step) -> Harness:
    return Harness(
        store, steps, settings=limits or limits_of(user_messages=3), days=Days("UTC", Clock())
    )


def message_event(
    text: str, message_id: str, user: str = "u1", *, group: bool = False
) -> InboundEvent:
    return InboundEvent(words(message_id, text, user), group=group)


def reported(message_id: str, key: str, *, group: bool = False) -> InboundEvent:
    """Something that is answered with our own sentence."""
    return InboundEvent(
        Message(message_id, "user", (), 1_000, Author("u1")),
        group=group,
        event="canned",
        target=key,
    )


async def receive(harness: Harness, *events: InboundEvent) -> list[str]:
    """Have arrivals answered together; what is said to them."""
    before = len(harness.box.texts)
    await harness.arrive(*events)
    await harness.runner.process(HERE)
    return harness.box.texts[before:]


@pytest.mark.parametrize("words", ["/help", "/usage", "/reset", "/stop"])
async def test_commands_are_refused_beyond_the_limit(store: Store, words: str) -> None:
    """Each is a message of the day; afterwards it is refused like any other, and does nothing."""
    harness = limited(store)
    answers = [await receive(harness, message_event(words, f"m{number}")) for number in range(5)]
    assert all(len(answer) == 1 for answer in answers)
    assert REFUSED not in [text for answer in answers[:3] for text in answer]
    assert answers[3:] == [[REFUSED]] * 2


async def test_in_a_group_a_flood_of_commands_is_answered_as_often_as_messages_are(
    store: Store,
) -> None:
    """Three answers, one refusal, and then silence."""
    harness = limited(store)
    events = [message_event("/help", f"m{number}", group=True) for number in range(6)]
    events += [reported(f"v{number}", "line.kind_video", group=True) for number in range(6)]
    answers = [text for event in events for text in await receive(harness, event)]
    assert len(answers) == 4
    assert answers[3] == REFUSED


async def test_another_persons_command_is_not_refused_with_them(store: Store) -> None:
    """One that is refused does nothing, so a question it would have swept away is answered."""
    harness = limited(store, limits_of(user_messages=1), Step("One"), Step("Two"))
    await receive(harness, message_event("hi", "m1", group=True))
    await receive(
        harness,
        message_event("and me?", "m2", "u2", group=True),
        message_event("/reset", "m3", group=True),
    )
    assert [text for text in harness.box.texts if "limit" not in text] == ["One", "Two"]
    assert "hi" in await harness.past()


async def test_stopping_always_works(store: Store) -> None:
    """Whoever has nothing left may stop what still waits; it costs nothing."""
    harness = limited(store, limits_of(user_messages=1))
    assert await receive(harness, message_event("hello?", "m1"), message_event("/stop", "m2")) == [
        "Stopped."
    ]
    assert (await used(harness))[0].spent == Spent(messages=1)


async def test_a_late_decision_is_no_message(store: Store) -> None:
    """Pressing a button costs nothing and is answered beyond every limit."""
    harness = limited(store)
    presses = [
        decision_of(
            Message(f"m{number}", "user", (), 1_000, Author("u1")), "question_1", approved=False
        )
        for number in range(4)
    ]
    over = texts().get("card.over", "en")
    assert [await receive(harness, press) for press in presses] == [[over]] * 4


async def test_what_is_taken_back_or_left_behind_is_not_counted(store: Store) -> None:
    """A message that was taken back before anybody read it, and those of whoever removes the
    bot."""
    harness = limited(store, limits_of(user_messages=1), Step("Yes?"))
    assert await receive(harness, message_event("oops", "m1"), unsent("c1", "m1")) == []
    left = InboundEvent(Message("c2", "user", (), 1_000, Author("u1")), event="left")
    assert (
        await receive(harness, message_event("bye", "m2"), message_event("bye bye", "m3"), left)
        == []
    )
    assert await receive(harness, message_event("hi", "m4")) == ["Yes?"]


async def test_a_greeting_is_not_counted(store: Store) -> None:
    """It comes from us."""
    harness = limited(store, limits_of(user_messages=1), Step("Yes?"))
    assert len(await receive(harness, reported("greeting", "line.greeting"))) == 1
    assert await receive(harness, message_event("hi", "m1")) == ["Yes?"]


async def test_forgetting_works_beyond_every_limit(store: Store) -> None:
    """Nobody has to wait until tomorrow for that, and it costs no message."""
    harness = limited(store, limits_of(user_messages=1, user_tokens=1), Step("One"))
    await receive(harness, message_event("hi", "m1"))
    (answer,) = await receive(harness, message_event("/forget me", "m2"))
    assert answer.startswith("Done: I have deleted what I kept of you")
    assert "messages: 2" in answer
    assert await harness.past() == []


async def test_forgetting_looks_at_the_store_so_often_a_day(store: Store, redis: Redis) -> None:
    """Then it is refused with the time when it works again, in a group once an hour."""
    harness = limited(store)
    await redis.config_resetstat()
    answers = [
        await receive(harness, message_event("/forget me", f"m{number}", group=number > 10))
        for number in range(14)
    ]
    refused = texts().get("limits.user_forgets", "en", limit="10", when="2026-11-22 00:00 (UTC)")
    assert [len(answer) for answer in answers] == [1] * 12 + [0] * 2
    assert answers[10:12] == [[refused]] * 2
    assert "cmdstat_scan" not in await redis.info("commandstats")
    assert (
        b'kaiwa_budget_refusals_total{scope="user",unit="forgets"} 4.0'
        in harness.metrics.exposition()
    )


async def test_many_wishes_to_be_forgotten_at_once_are_one(store: Store, redis: Redis) -> None:
    """One look at the store, one answer."""
    harness = limited(store)
    await redis.config_resetstat()
    answers = await receive(
        harness, *(message_event("/forget me", f"m{number}") for number in range(50))
    )
    assert len(answers) == 1
    assert answers[0].startswith("Done: ")
    assert "cmdstat_scan" not in await redis.info("commandstats")


async def test_a_wish_to_be_forgotten_counts_once_however_often_its_turn_is_taken(
    store: Store,
) -> None:
    """The process that had begun with it may have died."""
    may_use = make_budgets(store).may_use
    use = DailyUse("forgets", 1, HERE, "u1", "t1")
    later = use._replace(key="t2")
    assert [await may_use(each) for each in (use, use, later)] == [True, True, False]
    assert await may_use(later._replace(author=""))  # without an id it is the conversation's
    me = use._replace(conversation="console:me", author="me")
    assert all([await may_use(me._replace(key=f"t{number}")) for number in range(3)])


async def test_the_operator_may_ask_for_help_when_all_is_spent(store: Store) -> None:
    """Page and terminal know the bot's tokens and searches alone, and commands cost none."""
    harness = Harness(
        store,
        [],
        Console(),
        settings=limits_of(token_limit=1, user_messages=1),
        days=Days("UTC", Clock()),
    )
    features = harness.runner.services.features
    for spending in (
        Spending("m", Usage(5), Author(), 1, is_first=True),
        Spending("n", Usage(), Author(), 0, is_first=False, searches=2),
    ):
        features.limits.spend("line:bot:group:1", spending)
    here = "console:talk-0001"
    for number, text in enumerate(["/usage", "/help", "hi"]):
        await store.inbox.accept(here, f"m{number}", encode(message_event(text, f"m{number}")))
        await harness.runner.process(here)
    usage, help_, refused = harness.box.texts
    assert "The whole bot: 5 of 1 tokens, 2 searches" in usage
    assert "forget me" in help_
    assert refused.startswith("I have used up what I may spend in a day.")
    assert "m2" in [
        message.id for message in await read_history(harness.store, here)
    ]  # where a terminal looks for its answer


class Console(Mailbox):
    """The operator's own channel."""

    name = "console"
