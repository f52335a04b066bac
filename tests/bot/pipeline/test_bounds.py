"""What one person can make the store keep: so many words of a message, so many messages, and nobody
else pays."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.features.limits.feature import UNREAD
from bot.ops.eviction import Evictor
from bot.pipeline.accept import MAX_CHARACTERS
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store, open_store
from bot.store.keys import HISTORY_BYTES, INBOX_ENTRIES
from bot.transcript import Media, Message, Text, ToolCall
from tests.bot.harness import HERE, WRITTEN_AT, Harness, edited, words
from tests.bot.pipeline.full_store import TURN_BYTES
from tests.bot.store.turns import key

FLOOD = 240
LONG = "x" * 39_000
MIB = 1 << 20


@pytest.mark.long
async def test_a_flood_of_refused_messages_takes_nothing_from_anybody_else(
    store_url: str, redis: Redis
) -> None:
    """20 messages a day, 240 sent, each nearly as long as Slack lets it be, on a store with room
    for 4 MiB."""
    uninvolved = "line:bot:user:somebody"
    await redis.rpush(
        key("history", uninvolved), *[f"{turn}".ljust(TURN_BYTES) for turn in range(8)]
    )
    await redis.expire(key("history", uninvolved), 60)
    used = (await redis.info("memory"))["used_memory"]
    limit = (await redis.config_get("maxmemory"))["maxmemory"] or "0"
    await redis.config_set("maxmemory", used + 4 * MIB)
    try:
        async with open_store(store_url, history_days=30) as store:
            harness = Harness(store, [Step("OK")] * 20, settings={"daily_user_messages": 20})
            for number in range(FLOOD):
                await harness.say(LONG, f"m{number}")
                if number % 40 == 0:
                    await Evictor(store).check()
            assert not (await store.memory.measure()).is_tight
    finally:
        await redis.config_set("maxmemory", limit)
    assert await redis.llen(key("history", uninvolved)) == 8
    assert 0 < (await redis.memory_usage(key("history", HERE), samples=0) or 0) <= HISTORY_BYTES
    assert await redis.memory_usage(key("outbox", HERE)) is None


async def test_of_a_refused_message_no_word_is_kept(store: Store, redis: Redis) -> None:
    """Nor of its author; only that there was one. An edit, which is not refused, does not bring its
    words back."""
    harness = Harness(store, [Step("Hello")], settings={"daily_user_messages": 1})
    await harness.say("hi", "m1")
    await harness.say("something private", "m2")
    await harness.take(edited("c1", "m2", "something private and more"))
    refused = (await read_history(harness.store, HERE))[2]
    assert refused == Message(refused.id, "user", (UNREAD,), WRITTEN_AT)
    assert "private" not in str(await redis.lrange(key("history", HERE), 0, -1))


async def test_a_long_message_is_read_as_far_as_it_may_be(store: Store) -> None:
    """The model sees where it breaks off; an edit is cut likewise, and a message that just fits is
    left alone."""
    harness = Harness(store, [Step("OK"), Step("Fine")])
    await harness.say(LONG, "m1")
    mark = (
        f"[The message breaks off here: it had 39,000 characters, and {MAX_CHARACTERS:,} are read "
        "at most.]"
    )
    spoken = harness.model.requests[0].messages[-1]
    assert spoken.parts == (Text("x" * MAX_CHARACTERS), Text(f"\n{mark}"))
    await harness.arrive(
        edited("c1", "m1", "y" * MAX_CHARACTERS), edited("c2", "m1", "z" * (MAX_CHARACTERS + 1))
    )
    await harness.say("w" * MAX_CHARACTERS, "m2")
    changed, _, newest = harness.model.requests[1].messages
    assert (
        changed.text
        == f"{'z' * MAX_CHARACTERS}\n{mark.replace('39,000', f'{MAX_CHARACTERS + 1:,}')}"
    )
    assert newest.text == "w" * MAX_CHARACTERS


async def test_words_are_cut_across_the_parts_of_a_message(store: Store) -> None:
    """Text, picture, text: the pictures stay, and the words that come too late are left out."""
    harness = Harness(store, [Step("OK")])
    parts = (Text("a" * (MAX_CHARACTERS - 1)), Text("bc"), Media("F1", "image/png"), Text("d"))
    await harness.take(InboundEvent(Message("m1", "user", parts, 1_000)))
    stored = harness.model.requests[0].messages[-1].parts
    assert stored[:4] == (
        Text("a" * (MAX_CHARACTERS - 1)),
        Text("b"),
        Media("F1", "image/png"),
        Text(""),
    )


async def test_a_full_inbox_says_once_that_messages_were_left_out(store: Store) -> None:
    """In the language of the first one; what had room is answered, and nothing is told twice."""
    harness = Harness(store, [Step("OK"), Step("Yes?")])
    for number in range(INBOX_ENTRIES):
        await harness.receive("hello", f"m{number}")
    for number in range(20):
        await harness.intake(HERE, InboundEvent(words(f"late{number}", "こんにちは")))
    await harness.process()
    left_out = (
        "一度に届いたメッセージが多すぎたため、最後のほうを受け取れませんでした。"
        "少し待ってから、もう一度お送りください。"
    )
    assert sorted(harness.box.texts) == sorted(["OK", left_out])
    assert b'kaiwa_messages_left_out_total{channel="mailbox"} 20.0' in harness.metrics.exposition()
    assert b'kaiwa_messages_accepted_total{channel="mailbox"} 200.0' in harness.metrics.exposition()
    await harness.say("again", "late0")
    assert harness.box.texts[2:] == ["Yes?"]


async def test_a_full_inbox_does_not_keep_anybody_from_stopping(store: Store) -> None:
    """The turn under way ends, and what waited is not answered."""
    gate = asyncio.Event()
    step = Step(calls=(ToolCall("", "echo", {}),), gate=gate)
    harness = Harness(store, [step, Step("never")])
    await harness.receive("hi", "m0")
    turn = asyncio.create_task(harness.process())
    await step.at_gate.wait()
    for number in range(1, INBOX_ENTRIES + 5):
        await harness.intake(HERE, InboundEvent(words(f"m{number}", "x")))
    await harness.receive("/stop", "stop")
    gate.set()
    await turn
    assert harness.box.texts[0] == "Stopped."
    assert len(harness.model.requests) == 1
