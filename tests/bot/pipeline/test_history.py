"""What a turn knows of its conversation, through whole turns on a real store."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import encode
from tests.bot.harness import HERE, Harness, edited, words
from tests.bot.pipeline.long_talks import LONG, sent, talk
from tests.bot.store.turns import key, leased


async def test_without_summaries_a_request_has_the_newest_turns(store: Store) -> None:
    """Older ones are left out."""
    harness = Harness(store, [Step(str(number)) for number in range(5)], tokens=1_000)
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}", "four")
    assert sent(harness) == [f"two {LONG}", "1", f"three {LONG}", "2", "four"]


async def test_a_small_model_is_sent_less(store: Store) -> None:
    """Half of what it reads is for what was said."""
    harness = Harness(store, [Step("1"), Step("2"), Step("3"), Step("4")])
    harness.model.window = 2_000
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}", "four")
    assert sent(harness) == [f"two {LONG}", "2", f"three {LONG}", "3", "four"]


async def test_forgetting_a_person_forgets_what_nobody_can_read(store: Store, redis: Redis) -> None:
    """It may hold their words; an edit leaves it, as it is not what the edit is about."""
    harness = Harness(store, [Step("1"), Step("2")])
    for number, author in enumerate(("u1", "u2"), 1):
        await harness.take(InboundEvent(words(f"m{number}", f"I am {author}", author), group=True))
    await redis.rpush(key("history", HERE), b"no JSON")
    await harness.take(edited("e1", "m2", "I am you two"))
    assert len((await store.history.recall(HERE, 9)).entries) == 3
    await harness.take(InboundEvent(words("m3", "/forget me", "u1"), group=True))
    assert await harness.past() == ["I am you two", "2"]


async def test_a_summary_that_cannot_be_read_is_none(store: Store) -> None:
    """The turns are there, and are sent as they are."""
    harness = Harness(store, [Step("1"), Step("2")])
    await talk(harness, "one")
    lease = await leased(store, HERE)
    await store.history.summarise(lease, encode({"v": "none of ours"}))
    await store.leases.release(lease)
    await talk(harness, "two")
    assert sent(harness) == ["one", "1", "two"]
