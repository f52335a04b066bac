"""How many reminders count for a person."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.features.reminders.personal import count_reminder
from bot.features.reminders.store import COUNTED, StoredReminders
from bot.store import Store
from bot.store.keys import Keys
from bot.transcript import Author, Message
from tests.bot.harness import Harness

HERE = "line:bot:user:u1"


async def test_a_person_has_at_most_so_many_and_others_theirs(store: Store, redis: Redis) -> None:
    """Of many at once, in conversations of many slots; a known id is no second one."""
    reminders, places = StoredReminders(store), [f"slack:T1:C1:{number}" for number in range(60)]
    counted = await asyncio.gather(
        *(reminders.count("slack:u1", place, "r", 60, most=20) for place in places)
    )
    assert sum(counted) == 20
    assert [
        await reminders.count("slack:u1", place, "r", 90, most=20) for place in places
    ] == counted
    assert await reminders.count("slack:u10", HERE, "r", 60, most=20)
    assert await redis.ttl(Keys("slack:u1").of(COUNTED)) == 90


async def test_what_is_over_counts_no_longer(store: Store, redis: Redis) -> None:
    """A reminder that has come, and one whose process died before it was kept; the kept one
    counts."""
    reminders, key = StoredReminders(store), Keys("line:u1").of(COUNTED)
    await reminders.add(HERE, "kept", 10**13, b"{}")
    for reminder_id in ("kept", "come", "lost"):
        assert await reminders.count("line:u1", HERE, reminder_id, 60, most=3)
    assert not await reminders.count("line:u1", HERE, "r4", 60, most=3)
    for reminder_id in ("kept", "come", "lost"):
        await redis.zadd(key, {f"{HERE} {reminder_id}": 1})  # a while ago
    counted = [
        await reminders.count("line:u1", HERE, f"r{number}", 60, most=3) for number in range(3)
    ]
    assert counted == [True, True, False]
    await reminders.discount("line:u1", HERE, "r0")
    assert await reminders.count("line:u1", HERE, "r2", 60, most=3)


async def test_forget_me_deletes_whose_reminders_count(store: Store, redis: Redis) -> None:
    """The keys name the person."""
    event = InboundEvent(Message("m1", "user", (), 1, Author("u1")))
    assert not await count_reminder(store, "mailbox:user:u1", event, "r1", 60_000, hourly=True)
    assert len(await redis.keys(f"*:{COUNTED}:mailbox:u1*")) == 2
    features = Harness(store, []).runner.services.features
    await store.personal_data.erase_person("mailbox:u1", features.kept)
    assert await redis.keys(f"*:{COUNTED}:*") == []
