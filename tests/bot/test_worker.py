"""Who works when: hints through Docket, a sweep that needs none, and the terminal's own worker."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from bot.errors import StoreUnavailable
from bot.store import Store
from bot.worker import CONNECTIONS, DOCKET, DocketJobs, OwnJobs, Worker, open_docket
from tests.waiting import until


class Attended:
    """Remembers whom it attended to; may fail or take its time."""

    def __init__(self) -> None:
        self.conversations: list[str] = []
        self.failures: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self.finished: list[str] = []

    async def __call__(self, conversation: str) -> None:
        self.conversations.append(conversation)
        if self.failures:
            raise self.failures.pop(0)
        if self.hold:
            await self.hold.wait()
        self.finished.append(conversation)


async def test_a_hint_brings_a_worker(valkey_url: str, store: Store) -> None:
    """What a web process adds, a worker process attends to."""
    attended = Attended()
    async with (
        open_docket(valkey_url) as there,
        open_docket(valkey_url) as here,
        Worker(there, store, asyncio.Event()).run(attended),
    ):
        await DocketJobs(here).add("console:a", "console:a/m1")
        await until(lambda: attended.finished == ["console:a"])


@pytest.mark.long
async def test_the_sweep_finds_a_conversation_without_any_hint(valkey_url: str, store: Store) -> None:
    """The due index alone is enough, also after Docket has lost everything it knew."""
    attended = Attended()
    async with open_docket(valkey_url) as docket:
        worker = Worker(docket, store, asyncio.Event())
        assert not worker.alive
        async with worker.run(attended):
            assert worker.alive
            await store.inbox.accept("console:lost", "m1", b"{}")
            await until(lambda: "console:lost" in attended.finished)
        assert not worker.alive


@pytest.mark.long
async def test_a_store_that_is_away_does_not_end_the_worker(valkey_url: str, store: Store) -> None:
    """The conversation stays due, so the sweep brings it back."""
    attended = Attended()
    attended.failures = [StoreUnavailable("gone")]
    async with open_docket(valkey_url) as docket, Worker(docket, store, asyncio.Event()).run(attended):
        await store.inbox.accept("console:again", "m1", b"{}")
        await until(lambda: attended.finished == ["console:again"], seconds=15)


async def test_leaving_waits_for_running_turns(valkey_url: str, store: Store) -> None:
    """A shutdown lets a turn under way finish."""
    attended = Attended()
    attended.hold = asyncio.Event()
    async with open_docket(valkey_url) as docket:
        worker = Worker(docket, store, asyncio.Event())
        async with worker.run(attended):
            await DocketJobs(docket).add("console:a", "console:a/m1")
            await until(lambda: attended.conversations == ["console:a"])
            asyncio.get_running_loop().call_later(0.2, attended.hold.set)
        assert attended.finished == ["console:a"]


async def test_leaving_does_not_wait_for_ever(valkey_url: str, store: Store) -> None:
    """A turn that outlasts the patience is cancelled, for another worker to take."""
    attended = Attended()
    attended.hold = asyncio.Event()
    async with (
        open_docket(valkey_url) as docket,
        Worker(docket, store, asyncio.Event(), drain_s=0.2).run(attended),
    ):
        await DocketJobs(docket).add("console:a", "console:a/m1")
        await until(lambda: attended.conversations == ["console:a"])
    assert attended.finished == []


async def test_leaving_in_a_hurry_waits_for_nobody(valkey_url: str, store: Store) -> None:
    """A turn under way is cancelled as soon as somebody cannot wait, and the worker is gone."""
    attended = Attended()
    attended.hold = asyncio.Event()
    hurry = asyncio.Event()
    async with (
        asyncio.timeout(10),
        open_docket(valkey_url) as docket,
        Worker(docket, store, hurry).run(attended),
    ):
        await DocketJobs(docket).add("console:a", "console:a/m1")
        await until(lambda: attended.conversations == ["console:a"])
        asyncio.get_running_loop().call_later(0.1, hurry.set)
    assert attended.finished == []


async def test_a_hint_that_cannot_be_given_is_no_error() -> None:
    """The message is durable already: without Redis the hint is dropped, and nobody has waited for it."""
    async with open_docket("redis://127.0.0.1:1/0") as docket, aclosing(DocketJobs(docket)) as jobs:
        async with asyncio.timeout(3):
            await jobs.add("console:a", "console:a/m1")


@pytest.mark.long
async def test_hints_that_find_no_room_are_left_out(valkey_url: str, store: Store) -> None:
    """In a flood a hint would cost more than the message: some are given, and the sweep finds all the others."""
    attended: set[str] = set()
    names = {f"console:{number}" for number in range(300)}

    async def process(conversation: str) -> None:
        lease = await store.leases.acquire(conversation, if_wanted=True)
        if lease and await store.journal.begin(lease, "turn"):
            await store.journal.commit(lease, None, [], 1)
            await store.leases.release(lease)
            attended.add(conversation)

    async with (
        open_docket(valkey_url) as docket,
        Worker(docket, store, asyncio.Event()).run(process),
        aclosing(DocketJobs(docket)) as jobs,
    ):
        for name in names:
            await store.inbox.accept(name, "m1", b"{}")
            await jobs.add(name, f"{name}/m1")
        await until(lambda: attended == names)


async def test_a_worker_begins_what_its_own_process_takes_in(valkey_url: str, store: Store) -> None:
    """Without Docket and without waiting for the sweep, in the order it came."""
    attended = Attended()
    names = [f"console:{number}" for number in range(50)]
    async with open_docket(valkey_url) as docket:
        worker = Worker(docket, store, asyncio.Event())
        async with worker.run(attended):
            for name in names:
                await worker.add(name, f"{name}/m1")
            await until(lambda: len(attended.finished) == 50)
    assert attended.conversations == names


async def test_docket_keeps_no_record_of_finished_jobs(valkey_url: str, store: Store, redis: Redis) -> None:
    """Hints are not worth keeping: a job leaves no key behind."""
    attended = Attended()
    async with open_docket(valkey_url) as docket, Worker(docket, store, asyncio.Event()).run(attended):
        await DocketJobs(docket).add("console:a", "console:a/m1")
        await until(lambda: attended.finished == ["console:a"])
    assert [key async for key in redis.scan_iter(f"{DOCKET}:*m1*")] == []


async def test_what_runs_beside_belongs_to_the_worker(valkey_url: str, store: Store) -> None:
    """It runs for as long as the worker does; should it end by itself, the worker has ended, and says why."""
    begun, broken = asyncio.Event(), asyncio.Event()

    async def beside() -> None:
        begun.set()
        await broken.wait()
        raise RuntimeError("broken")

    async with open_docket(valkey_url) as docket:
        worker = Worker(docket, store, asyncio.Event())
        async with worker.run(Attended(), [beside]):
            await begun.wait()
            assert worker.alive
            broken.set()
            with pytest.raises(RuntimeError, match="broken"):
                await worker.wait_until_ended()
            assert not worker.alive


@pytest.mark.long
async def test_docket_keeps_to_few_connections(valkey_url: str, store: Store, redis: Redis) -> None:
    """However many hints are given at once."""
    attended = Attended()
    others = len(await redis.client_list())
    async with open_docket(valkey_url) as docket, Worker(docket, store, asyncio.Event()).run(attended):
        givers = [DocketJobs(docket) for _ in range(100)]
        await asyncio.gather(*(jobs.add(f"console:{place}", f"console:{place}/m") for place, jobs in enumerate(givers)))
        await until(lambda: len(attended.finished) == 100)
        used = len(await redis.client_list()) - others
    assert used <= CONNECTIONS + 3  # strikes, cancellations, and the store's own for the sweep


async def test_the_terminals_worker_takes_only_its_own_conversation() -> None:
    """Whatever else waits on the same Redis, and whatever fails once, only one conversation is attended to."""
    attended = Attended()
    attended.failures = [StoreUnavailable("gone")]
    jobs = OwnJobs("console:mine")
    async with jobs.run(attended):
        await until(lambda: len(attended.conversations) == 1)
        await jobs.add("line:bot:user:u1", "x")
        await jobs.add("console:mine", "y")
        await until(lambda: attended.finished == ["console:mine"])
    assert set(attended.conversations) == {"console:mine"}
