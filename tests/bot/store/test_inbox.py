"""Accepting messages: durable, once each, in order, with every byte."""

from __future__ import annotations

from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from bot.store import CONTROL, Accepted, Depths, Store
from bot.store.keys import INBOX_BYTES, INBOX_ENTRIES, INBOX_FEW, SEEN_S, WORK_S, Keys
from tests.bot.store.turns import arrivals, key, turn_of

HERE = "console:alice"


async def test_a_message_waits_for_its_turn_and_is_due_at_once(store: Store) -> None:
    """Accepted means: in the inbox, and in the due index."""
    assert await store.inbox.accept(HERE, "m1", b"hello")
    assert await store.leases.due(10) == [HERE]
    assert await store.depths() == Depths(due=1, dead_letters=0)
    assert await arrivals(store, HERE) == [b"hello"]


async def test_equal_ids_in_two_conversations_are_two_messages(store: Store) -> None:
    """Ids are unique within a conversation only."""
    assert await store.inbox.accept("console:a", "m1", b"one")
    assert await store.inbox.accept("console:b", "m1", b"two")
    assert await arrivals(store, "console:a") == [b"one"]
    assert await arrivals(store, "console:b") == [b"two"]


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture
    ],  # each example has a conversation of its own
)
@given(message_id=st.text(), payload=st.binary())
async def test_payloads_come_back_unharmed(store: Store, message_id: str, payload: bytes) -> None:
    """Neither Lua nor the frame changes a byte, in the inbox, the journal, the history and the
    outbox."""
    here = f"console:{uuid4().hex}"
    assert await store.inbox.accept(here, message_id, payload)
    lease = await store.leases.acquire(here)
    assert lease is not None
    await store.journal.begin(lease, "turn-1")
    await store.journal.record(lease, "said", payload)
    again = await turn_of(store, lease, "turn-2")
    assert again.entries == [("arrival", payload), ("said", payload)]
    await store.journal.commit(lease, b"h" + payload, [payload], keep_turns=3)
    assert await store.history.read(here, 3) == [b"h" + payload]
    assert await store.outbox.head(here) == payload


async def test_an_inbox_entry_can_be_found_by_its_id(store: Store, redis: Redis) -> None:
    """The stored form carries the id in front, where a script finds it without reading the
    payload."""
    await store.inbox.accept(HERE, "m-17", b"\x00\xff")
    [entry] = await store.inbox.read(HERE)
    assert await redis.lrange(key("inbox", HERE), 0, -1) == [
        b"arrival 18:m-17@%d\x00\xff" % entry.accepted_at
    ]
    assert (entry.kind, entry.body) == ("arrival", b"\x00\xff")
    assert abs(entry.accepted_at - await store.now_ms(HERE)) < 60_000


async def test_an_entry_of_an_earlier_version_has_no_time(store: Store, redis: Redis) -> None:
    """It was taken in by a process that does not write it down, during a deploy."""
    await redis.rpush(key("inbox", HERE), b"arrival 4:m-17{}", b"change 3:a@b{}")
    await redis.expire(key("inbox", HERE), 60)
    entries = await store.inbox.read(HERE)
    assert [(entry.kind, entry.body, entry.accepted_at) for entry in entries] == [
        ("arrival", b"{}", 0),
        ("change", b"{}", 0),
    ]


async def test_what_is_accepted_goes_away_one_day(store: Store, redis: Redis) -> None:
    """Three days for the mark of a seen message, seven for the message."""
    await store.inbox.accept(HERE, "m1", b"hello")
    assert await redis.ttl(Keys(HERE).seen("m1")) == SEEN_S
    assert await redis.ttl(key("inbox", HERE)) == WORK_S


async def test_a_full_inbox_takes_so_many_messages_and_no_more(store: Store, redis: Redis) -> None:
    """A refused message leaves no trace, so it can be sent again once there is room."""
    taken = [
        await store.inbox.accept(HERE, f"m{number}", b"x") for number in range(INBOX_ENTRIES + 2)
    ]
    assert taken == [Accepted.NEW] * INBOX_ENTRIES + [Accepted.FULL] * 2
    assert not await redis.exists(Keys(HERE).seen(f"m{INBOX_ENTRIES}"))
    assert await store.inbox.accept("console:bob", "m1", b"x") is Accepted.NEW
    assert len(await arrivals(store, HERE)) == INBOX_ENTRIES
    assert await store.inbox.accept(HERE, f"m{INBOX_ENTRIES}", b"x") is Accepted.NEW


async def test_a_full_inbox_takes_so_many_bytes_and_no_more(store: Store) -> None:
    """Large messages fill it sooner; a few are accepted whatever their size, small ones while there
    is room."""
    large = b"x" * 100_000
    taken = [await store.inbox.accept(HERE, f"m{number}", large) for number in range(10)]
    room = taken.index(Accepted.FULL)
    assert (
        INBOX_BYTES // len(large) - 1 <= room <= INBOX_BYTES // len(large)
    )  # servers differ in what they allocate
    assert set(taken[room:]) == {Accepted.FULL}
    for number in range(INBOX_FEW):
        assert await store.inbox.accept("console:bob", f"m{number}", large * 3) is Accepted.NEW
    assert await store.inbox.accept("console:bob", "small", b"x") is Accepted.FULL


async def test_what_must_get_in_gets_into_a_full_inbox(store: Store) -> None:
    """Somebody who floods a group keeps nobody from stopping a turn or from deciding."""
    for number in range(INBOX_ENTRIES):
        await store.inbox.accept(HERE, f"m{number}", b"x")
    assert await store.inbox.accept(HERE, "stop", b"stop", CONTROL, always=True) is Accepted.NEW
    assert (await store.inbox.read(HERE))[-1].body == b"stop"


async def test_a_message_that_does_not_wait_long_costs_no_look_at_the_inbox(
    store: Store, redis: Redis
) -> None:
    """The bounds are free where little waits."""
    await redis.config_resetstat()
    for number in range(INBOX_FEW):
        await store.inbox.accept(HERE, f"m{number}", b"x")
    assert "cmdstat_memory|usage" not in await redis.info("commandstats")
