"""A day's limits, on a real store: who is answered, who is told when to come back, and what is
counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from bot.channels import InboundEvent
from bot.clock import Days
from bot.errors import LeaseLost
from bot.features.limits.budgets import Balance, Excess
from bot.features.limits.feature import UNREAD
from bot.features.limits.store import Counter, Counters, Spent
from bot.providers.scripted import Step
from bot.store import Store, open_store
from bot.transcript import Author, Message, Spending, Text, ToolCall, Usage, encode
from tests.bot.features.limits.budgets_harness import Clock, limits_of, make_budgets, used
from tests.bot.harness import HERE, Harness

CALL = ToolCall("", "echo", {})


def message_event(
    text: str, message_id: str, user: str = "u1", *, group: bool = False, **about: str
) -> InboundEvent:
    """A message of somebody."""
    return InboundEvent(
        Message(message_id, "user", (Text(text),), 1_000, Author(user, **about)), group=group
    )


async def receive(harness: Harness, *events: InboundEvent) -> list[str]:
    """Have messages answered together; what is said to them."""
    before = len(harness.box.texts)
    for event in events:
        assert await harness.store.inbox.accept(HERE, event.message.id, encode(event))
    await harness.runner.process(HERE)
    return harness.box.texts[before:]


@pytest.mark.parametrize(
    ("limits", "english", "japanese"),
    [
        (
            limits_of(user_messages=1),
            "You have reached today's limit of 1 messages. I can answer you again from 2026-11-22 "
            "00:00 (UTC).",
            "本日のメッセージ数の上限（1件）に達しました。2026年11月22日 "
            "00:00（UTC）からまたお答えできます。",
        ),
        (
            limits_of(user_tokens=10),
            "You have used up what I may spend on you in a day. I can answer you again from "
            "2026-11-22 00:00 (UTC).",
            "本日ご利用いただける量を使い切りました。2026年11月22日 "
            "00:00（UTC）からまたお答えできます。",
        ),
        (
            limits_of(conversation_messages=1),
            "This conversation has reached today's limit of 1 messages. I can answer here again "
            "from "
            "2026-11-22 00:00 (UTC).",
            "この会話は本日のメッセージ数の上限（1件）に達しました。"
            "2026年11月22日 00:00（UTC）からまたお答えできます。",
        ),
        (
            limits_of(conversation_tokens=10),
            "This conversation has used up what I may spend on it in a day. I can answer here "
            "again from "
            "2026-11-22 00:00 (UTC).",
            "この会話で本日ご利用いただける量を使い切りました。2026年11月22日 "
            "00:00（UTC）からまたお答えできます。",
        ),
        (
            limits_of(token_limit=10),
            "I have used up what I may spend in a day. I can answer again from 2026-11-22 00:00 "
            "(UTC).",
            "本日お答えできる量を使い切りました。2026年11月22日 "
            "00:00（UTC）からまたお答えできます。",
        ),
    ],
    ids=[
        "user's messages",
        "user's tokens",
        "conversation's messages",
        "conversation's tokens",
        "bot's tokens",
    ],
)
async def test_beyond_a_limit_one_kind_sentence_and_no_model(
    store: Store, limits: Mapping[str, int], english: str, japanese: str
) -> None:
    """In the user's language, with the time the limit renews; also the second time; the refusals in
    the history."""
    harness = Harness(
        store, [Step("Hello", usage=Usage(4, 0, 5, 1))], settings=limits, days=Days("UTC", Clock())
    )
    assert await receive(harness, message_event("hi", "m1")) == ["Hello"]
    assert await receive(harness, message_event("again", "m2")) == [english]
    assert await receive(harness, message_event("もう一度", "m3")) == [japanese]
    assert len(harness.model.requests) == 1
    assert (await harness.past())[2:] == [UNREAD.text, english, UNREAD.text, japanese]
    assert "the limit in " in harness.box.delivered[-1].reply.failure
    assert await store.leases.due(10) == []


async def test_at_midnight_of_the_bots_zone_everything_begins_anew(store: Store) -> None:
    """The sentence tells that midnight on the user's clock; one second before it is today still."""
    clock = Clock()
    steps = [Step("One"), Step("Two")]
    harness = Harness(
        store, steps, settings=limits_of(user_messages=1), days=Days("Asia/Tokyo", clock)
    )
    await receive(harness, message_event("hi", "m1"))
    clock.now = datetime(2026, 11, 21, 14, 59, 59, tzinfo=UTC).timestamp()
    (refused,) = await receive(harness, message_event("again", "m2", time_zone="Europe/Berlin"))
    assert refused.endswith("from 2026-11-21 16:00 (Europe/Berlin).")
    clock.now += 1
    assert await receive(harness, message_event("and now?", "m3")) == ["Two"]


async def test_one_persons_limit_does_not_silence_the_others(store: Store) -> None:
    """Of messages answered together, those of whoever is over are left out, and cost the
    conversation nothing."""
    harness = Harness(
        store,
        [Step("One"), Step("Two")],
        settings=limits_of(user_messages=1),
        days=Days("UTC", Clock()),
    )
    await receive(harness, message_event("hi", "m1", group=True))
    spoken = await receive(
        harness,
        message_event("me again", "m2", group=True),
        message_event("and me", "m3", "u2", group=True),
    )
    assert len(spoken) == 2
    assert spoken[1] == "Two"
    assert [message.text for message in harness.model.requests[1].messages][-1] == "and me"
    assert [used.spent.messages for used in await used(harness)] == [1, 2]


async def test_in_a_group_a_person_is_refused_aloud_once_an_hour(store: Store) -> None:
    """Nobody can make the bot repeat itself before others; in private it always answers."""
    harness = Harness(
        store, [Step("One")], settings=limits_of(conversation_messages=1), days=Days("UTC", Clock())
    )
    await receive(harness, message_event("hi", "m1", group=True))
    heard = [
        len(await receive(harness, message_event("again", f"m{number}", user, group=group)))
        for number, (user, group) in enumerate(
            [("u1", True), ("u1", True), ("u2", True), ("u1", False)], 2
        )
    ]
    assert heard == [1, 0, 1, 1]
    assert (
        harness.metrics.exposition().count(
            b'kaiwa_budget_refusals_total{scope="conversation",unit="messages"} 4.0'
        )
        == 1
    )


async def test_turns_that_begin_at_the_same_moment_are_let_in_together(store: Store) -> None:
    """They exceed a limit by themselves at most: all are counted, and the next one is refused."""
    budgets = make_budgets(store, limits_of(user_messages=2))
    verdicts = await asyncio.gather(
        *(budgets.admit(f"t{number}", f"line:bot:group:{number}", {"u1": 1}) for number in range(4))
    )
    assert [refused for refused, _ in verdicts] == [{}] * 4
    refused, _ = await budgets.admit("t5", "line:bot:group:5", {"u1": 1})
    assert refused == {"u1": Excess("user", "messages")}
    assert (await budgets.used("line:bot:group:1", "u1"))[0].spent == Spent(messages=4)


async def test_turns_that_follow_each_other_without_a_pause_near_their_limit(store: Store) -> None:
    """Two people take turns in one group, all waiting at once: what was read before the first turn
    counts once."""
    harness = Harness(
        store, [Step("Fine")] * 60, settings=limits_of(user_messages=25), days=Days("UTC", Clock())
    )
    for number in range(60):
        event = message_event("hi", f"m{number}", f"u{number % 2}", group=True)
        assert await store.inbox.accept(HERE, event.message.id, encode(event))
    await harness.runner.process(HERE, "u0")
    assert harness.box.texts.count("Fine") == 50


async def test_a_turn_that_is_resumed_counts_once(store: Store) -> None:
    """Another process goes on, before and after the first response: one message, and each response
    once."""
    steps = [
        Step(error=LeaseLost(HERE)),
        Step(calls=(CALL,), usage=Usage(25, 8, 1)),
        Step(error=LeaseLost(HERE)),
        Step("Done", usage=Usage(20, 0, 2, 3)),
    ]
    # Spent by then; a turn that has got on was let in.
    limits = limits_of(user_messages=1, token_limit=20)
    harness = Harness(store, steps, settings=limits, days=Days("UTC", Clock()))
    assert await receive(harness, message_event("hi", "m1")) == []
    await harness.runner.process(HERE)
    await harness.runner.process(HERE)
    assert harness.box.texts == ["Done"]
    assert await used(harness, limits=limits) == [
        Balance(Counter("user", "mailbox:u1", 1), Spent(1, 51)),
        Balance(Counter("conversation", HERE), Spent(1, 51)),
    ]
    await harness.runner.services.features.aclose()
    (day,) = await Counters(store).days(["2026-11-21"])
    model = f"scripted {harness.agent.persona}"
    assert day.counts == {
        "tokens": 51,
        f"turns {model}": 1,
        f"messages {model}": 1,
        f"input {model}": 45,
        f"cached {model}": 8,
        f"output {model}": 3,
        f"thinking {model}": 3,
    }


async def test_a_turn_under_way_is_never_cut_off(store: Store) -> None:
    """Its first response spends all there is; its second one is asked for, but no other message
    joins it."""
    gate = asyncio.Event()
    first = Step(calls=(CALL,), usage=Usage(100), gate=gate)
    harness = Harness(
        store,
        [first, Step("Done")],
        settings=limits_of(user_tokens=20, user_messages=1),
        days=Days("UTC", Clock()),
    )
    turn = asyncio.create_task(receive(harness, message_event("hi", "m1")))
    await first.at_gate.wait()
    joining = message_event("and this", "m2")
    assert await store.inbox.accept(HERE, "m2", encode(joining))
    gate.set()
    done, refused = await turn
    assert done == "Done"
    assert refused.startswith("You have used up what I may spend on you in a day.")
    assert (await used(harness))[0].spent == Spent(1, 100)


async def test_a_useless_response_costs_too(store: Store) -> None:
    """A blocked answer is paid for."""
    harness = Harness(
        store, [Step(stop_reason="blocked", usage=Usage(7))], days=Days("UTC", Clock())
    )
    await receive(harness, message_event("hi", "m1"))
    assert (await used(harness))[0].spent == Spent(1, 7)


async def test_page_and_terminal_know_the_bots_limit_alone(store: Store) -> None:
    """They belong to the operator: counted like others, and refused when the whole bot is."""
    budgets = make_budgets(
        store,
        limits_of(
            token_limit=50,
            user_tokens=1,
            user_messages=1,
            conversation_tokens=1,
            conversation_messages=1,
        ),
    )
    spending = Spending("m", Usage(49), Author("me"), 1, is_first=True)
    for turn in ("t1", "t2"):
        assert (await budgets.admit(turn, "console:me", {"me": 1}))[0] == {}
        budgets.spend("console:me", spending)
    assert (await budgets.admit("t3", "console:me", {"me": 1}))[0] == {
        "me": Excess("bot", "tokens")
    }
    assert await budgets.used("console:me", "me") == [
        Balance(Counter("user", "console:me"), Spent(2, 98)),
        Balance(Counter("conversation", "console:me"), Spent(2, 98)),
        Balance(Counter("bot", "", token_limit=50), Spent(0, 98)),
    ]


async def test_somebody_without_an_id_counts_for_the_conversation(store: Store) -> None:
    """Platforms do not always tell who speaks."""
    budgets = make_budgets(store, limits_of(user_messages=1, conversation_messages=2))
    for turn in ("t1", "t2"):
        assert (await budgets.admit(turn, "line:bot:group:1", {"": 1}))[0] == {}
    assert (await budgets.admit("t3", "line:bot:group:1", {"": 1}))[0] == {
        "": Excess("conversation", "messages")
    }
    budgets.spend("line:bot:group:1", Spending("m", Usage(5), Author(), 1, is_first=True))
    assert await budgets.used("line:bot:group:1", "") == [
        Balance(Counter("conversation", "line:bot:group:1", 2), Spent(2, 5))
    ]


async def test_a_store_that_is_away_does_not_stop_a_response() -> None:
    """What cannot be counted is left to the log: the next step finds out about the store by
    itself."""
    async with open_store("redis://127.0.0.1:1", history_days=1) as store:
        make_budgets(store, limits_of()).spend(
            "console:me", Spending("m", Usage(1), Author("me"), 1, is_first=True)
        )


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            "/usage",
            "Used today, until 2026-11-22 00:00 (UTC):\n"
            "You: 2 of 300 messages, 1,200 tokens\n"
            "This conversation: 2 messages, 1,200 of 2,000,000 tokens\n"
            "Words that the language model's service still has in its cache count by their share "
            "of the price, mostly a tenth.",
        ),
        (
            "使用量",
            "今日の使用量（2026年11月22日 00:00（UTC）まで）：\n"
            "あなた：2件（上限300件）、1,200トークン\n"
            "この会話：2件、1,200トークン（上限2,000,000）\n"
            "言語モデル側のキャッシュに残っている文章は、料金の割合（多くは10分の1）で数えます。",
        ),
    ],
    ids=["en", "ja"],
)
async def test_usage_tells_what_was_used_and_what_may_be(
    store: Store, words: str, answer: str
) -> None:
    """By whoever asks, and in this conversation; asking counts as a message."""
    limits = limits_of(user_messages=300, conversation_tokens=2_000_000)
    harness = Harness(
        store,
        [Step("Hello", usage=Usage(1_000, 0, 200))],
        settings=limits,
        days=Days("UTC", Clock()),
    )
    await receive(harness, message_event("hi", "m1"))
    assert await receive(harness, message_event(words, "m2")) == [answer]


@pytest.mark.parametrize("before", [0, 1], ids=["read with the turn", "known from admission"])
async def test_a_turn_reads_no_more_than_the_day_has_left(store: Store, before: int) -> None:
    """Its next request has no tools, and of the results what is left; the next turn of the same
    attempt, too."""
    large = Step(calls=(ToolCall("", "echo", {"text": "x" * 90_000}),), usage=Usage(500))
    limits = limits_of(user_tokens=2_000, user_messages=5)
    harness = Harness(
        store,
        [*[Step("Hello")] * before, large, Step("Done")],
        settings=limits,
        days=Days("UTC", Clock()),
    )
    events = [message_event("hi", "m0", "u0"), message_event("Read it", "m1")][1 - before :]
    assert (await receive(harness, *events))[-1] == "Done"
    first, second = harness.model.requests[-2:]
    assert (first.tool_choice.mode, second.tool_choice.mode) == ("auto", "none")
    assert len(encode(second.messages[-1])) < 1_500 * 3 + 500


async def test_a_turn_that_goes_on_after_a_crash_knows_what_is_left(store: Store) -> None:
    """It is not admitted again, so it asks what was used."""
    large = Step(calls=(ToolCall("", "echo", {"text": "x" * 90_000}),), usage=Usage(500))
    limits, days = limits_of(user_tokens=2_000), Days("UTC", Clock())
    cut = Step(error=LeaseLost(HERE))
    harness = Harness(store, [large, cut, Step("Done")], settings=limits, days=days)
    await receive(harness, message_event("Read it", "m1"))
    await harness.runner.process(HERE)
    assert harness.box.texts == ["Done"]
    assert harness.model.requests[-1].tool_choice.mode == "none"
