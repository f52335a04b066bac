"""A store that is away, frozen, full or unwilling: said within 3 seconds, and nothing half done."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from redis import RedisError, exceptions
from redis.asyncio import Redis

from bot.errors import SettingsError, StoreUnavailable
from bot.features.lists.store import PlaceLists
from bot.features.memory.store import PersonFacts
from bot.features.polls.store import StoredPolls
from bot.features.reminders.store import StoredReminders
from bot.store import ANSWER_S, Accepted, FileOwner, Store, open_store
from bot.store.clients import translate_errors
from bot.store.embedded import open_embedded
from tests.bot.store.turns import arrivals, join, leased
from tests.waiting import until_true

HERE = "console:alice"

# What is measured there is our patience, and that takes its time.
on_one_server = pytest.mark.parametrize("store_url", ["valkey"], indirect=True)


async def pid_of(redis: Redis) -> int:
    """The server's process."""
    return int((await redis.info("server"))["process_id"])


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """The process neither runs nor ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@asynccontextmanager
async def full(redis: Redis) -> AsyncIterator[None]:
    """The server has no memory left."""
    limit = (await redis.config_get("maxmemory"))["maxmemory"] or "0"
    await redis.config_set("maxmemory", "1mb")
    try:
        yield
    finally:
        await redis.config_set("maxmemory", limit)


@pytest.mark.parametrize("url", ["unix:///nowhere/valkey.sock", "redis://127.0.0.1:1/0"])
async def test_a_store_that_is_away_is_known_at_once(url: str) -> None:
    """Nobody listens: every request says so."""
    async with open_store(url, history_days=30) as store, asyncio.timeout(10):
        for request in (
            store.ping(),
            store.now_ms(),
            store.depths(),
            store.inbox.accept(HERE, "m1", b"hello"),
            store.leases.acquire(HERE),
            store.leases.due(1),
            store.history.read(HERE, 1),
            store.kv.get("name"),
            store.outbox.head(HERE),
        ):
            with pytest.raises(StoreUnavailable):
                await request


@pytest.mark.long
@on_one_server
async def test_a_frozen_store_is_known_to_all_who_wait(store_url: str, redis: Redis) -> None:
    """Also to those who wait for one of few connections; a ping does not wait that long."""
    async with open_store(store_url, history_days=30, max_connections=3) as store:
        await store.ping()
        pid = await pid_of(redis)
        with frozen(pid):
            begun = time.monotonic()
            requests = [store.inbox.accept(HERE, f"m{number}", b"hello") for number in range(20)]
            outcomes = await asyncio.gather(*requests, return_exceptions=True)
            assert time.monotonic() - begun < 2 * ANSWER_S
            assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 20
            begun = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await store.ping(timeout_s=0.2)
            assert time.monotonic() - begun < ANSWER_S
        await store.ping()


@pytest.mark.long
@on_one_server
async def test_a_frozen_store_does_not_hold_up_a_turn_that_is_watched(
    store: Store, redis: Redis
) -> None:
    """An event is dropped soon."""
    await store.ping()
    with frozen(await pid_of(redis)):
        begun = time.monotonic()
        await store.live.publish(HERE, b"hello")
        assert time.monotonic() - begun < ANSWER_S


async def test_a_full_store_takes_nothing_in(store: Store, redis: Redis) -> None:
    """The message is neither stored nor marked as seen: sent again, it is new."""
    async with full(redis):
        with pytest.raises(StoreUnavailable):
            await store.inbox.accept(HERE, "m1", b"hello")
        assert await redis.dbsize() == 0
    assert await store.inbox.accept(HERE, "m1", b"hello")


async def test_a_full_store_lets_finish_what_it_has_taken_in(store: Store, redis: Redis) -> None:
    """Or it would stay full, and the sender without an answer."""
    await store.inbox.accept(HERE, "m1", b"hello")
    async with full(redis):
        lease = await leased(store, HERE)
        await store.journal.begin(lease, "turn-1")
        await join(store, lease)
        await store.journal.record(lease, "said", b"hi")
        await store.leases.renew(lease)
        await store.journal.commit(lease, b"turn", [b"one", b"two"], keep_turns=3)
        await store.outbox.replace_head(lease, b"one, attempted")
        await store.outbox.remove_head(lease)
        await store.outbox.move_head_to_dead_letters(lease, b"refused")
        await store.leases.release(lease)
    assert (await store.depths()).due == 0


async def test_a_full_store_lets_a_turns_tools_store_what_they_need(
    store: Store, redis: Redis
) -> None:
    """It is little, and bounded; a file, which is not, is refused."""
    async with full(redis):
        lists = PlaceLists(store, HERE, "u1")
        await lists.add("shopping", ["milk"], "k1")
        assert await lists.tick([1], done=True) == [1]
        assert await PersonFacts(store, HERE, "u1").remember("likes tea") == 1
        assert await StoredPolls(store).start(
            HERE, "poll_1", "u1", b"{}", options=2, multiple=False
        )
        assert await StoredReminders(store).count("u1", HERE, "r1", 60, most=1)
        await StoredReminders(store).add(HERE, "r1", await store.now_ms(HERE) + 1_000, b"{}")
        with pytest.raises(StoreUnavailable):
            await store.files.keep("f1", FileOwner(HERE, "u1"), "image/png", b"x")
        with pytest.raises(StoreUnavailable):
            await StoredPolls(store).press(HERE, "poll_1", "p1", "u1", 1, b"shows")


async def test_a_store_that_may_not_write_is_unavailable(store: Store, redis: Redis) -> None:
    """A replica after a fail-over, for example."""
    await redis.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(StoreUnavailable):
            await store.inbox.accept(HERE, "m1", b"hello")
    finally:
        await redis.replicaof("NO", "ONE")
    assert await store.inbox.accept(HERE, "m1", b"hello")


@pytest.mark.parametrize(
    "failure",
    [
        kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, RedisError)
    ],
)
async def test_every_failure_of_the_client_is_translated(failure: type[RedisError]) -> None:
    """None of the library's exceptions reaches a caller; ours keeps it as its cause."""
    raised = failure.__new__(failure)
    with pytest.raises(StoreUnavailable) as caught:
        async with translate_errors():
            raise raised
    assert caught.value.__cause__ is raised


async def test_a_cut_connection_costs_no_request(store: Store, redis: Redis) -> None:
    """A server that closes idle connections is found out before anything is sent."""
    await store.ping()
    await redis.client_kill_filter(_type="normal", skipme=True)
    assert await store.inbox.accept(HERE, "m1", b"hello")


@pytest.mark.long
async def test_a_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    """What was accepted is still there, and whoever watched watches on."""
    async with (
        open_embedded(tmp_path) as url,
        open_store(url, history_days=30) as store,
        Redis.from_url(url) as redis,
    ):
        await store.inbox.accept(HERE, "m1", b"before")
        async with store.live.subscribe(HERE) as events:
            os.kill(await pid_of(redis), signal.SIGKILL)
            async with asyncio.timeout(10):
                await until_true(lambda: accepted(store, "m2", b"after"))
                assert await arrivals(store, HERE) == [b"before", b"after"]
                await until_true(lambda: watched(redis))
                await store.live.publish(HERE, b"hello again")
                assert await anext(events) == b"hello again"


async def watched(redis: Redis) -> bool:
    """Whether anybody watches any conversation."""
    return bool(await redis.pubsub_channels())


async def accepted(store: Store, message_id: str, payload: bytes) -> bool:
    """Try once."""
    try:
        return bool(await store.inbox.accept(HERE, message_id, payload))
    except StoreUnavailable:
        return False


async def test_no_more_connections_than_allowed(store_url: str, redis: Redis) -> None:
    """A hundred webhooks and a hundred turns at once share them; live events are included."""
    before = await clients_of(redis)
    async with (
        open_store(store_url, history_days=30, max_connections=4) as store,
        store.live.subscribe(HERE),
    ):
        accepting = asyncio.gather(
            *(store.inbox.accept(HERE, f"m{number}", b"x") for number in range(100))
        )
        reading = asyncio.gather(*(store.history.read(HERE, 1) for _ in range(100)))
        assert await accepting == [Accepted.NEW] * 100
        assert await reading == [[]] * 100
        assert len(await clients_of(redis) - before) == 4


async def clients_of(redis: Redis) -> set[str]:
    """The ids of the server's connections; what earlier tests have closed may still be among
    them."""
    return {client["id"] for client in await redis.client_list()}


@pytest.mark.parametrize(
    "url", ["redis://host:port/0", "redis://:secret/9@host:6379", "ftp://:secret@host"]
)
async def test_a_url_that_cannot_be_read_stops_the_start(url: str) -> None:
    """The message names the variable, and no secret."""
    with pytest.raises(SettingsError, match=r"^REDIS_URL: ") as caught:
        async with open_store(url, history_days=30):
            pass  # pragma: no cover
    assert "secret" not in str(caught.value)
