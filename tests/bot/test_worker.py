"""Who works when: what a process accepts itself, the sweep, and the terminal's own worker."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.errors import StoreUnavailable
from bot.store import Store, open_store
from bot.worker import SHORT_SWEEP_S, ChatWorker, Worker
from tests.waiting import until


class Attended:
    """Remembers whom it attended to; may fail or take its time."""

    def __init__(self) -> None:
        self.conversations: list[str] = []
        self.failures: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self.finished: list[str] = []

    async def __call__(self, conversation: str, _author: str) -> None:
        self.conversations.append(conversation)
        if self.failures:
            raise self.failures.pop(0)
        if self.hold:
            await self.hold.wait()
        self.finished.append(conversation)


async def test_the_sweep_finds_what_another_process_has_accepted(store: Store) -> None:
    """The due index is enough: nobody tells the worker."""
    attended = Attended()
    worker = Worker(store, asyncio.Event(), SHORT_SWEEP_S)
    assert not worker.alive
    async with worker.run(attended):
        assert worker.alive
        await store.inbox.accept("console:found", "m1", b"{}")
        await until(lambda: "console:found" in attended.finished)
    assert not worker.alive


async def test_a_turn_that_the_store_interrupts_is_found_again(store: Store) -> None:
    """The conversation stays due, so the sweep brings it back."""
    attended = Attended()
    attended.failures = [StoreUnavailable("gone")]
    async with Worker(store, asyncio.Event(), SHORT_SWEEP_S).run(attended):
        await store.inbox.accept("console:again", "m1", b"{}")
        await until(lambda: "console:again" in attended.finished, seconds=15)


async def test_a_store_that_is_away_does_not_end_the_worker() -> None:
    """It says so, once a second, and goes on."""
    async with open_store("redis://127.0.0.1:1/0", history_days=1) as store:
        worker = Worker(store, asyncio.Event(), SHORT_SWEEP_S)
        with capture_logs() as lines:
            async with worker.run(Attended()):
                await until(lambda: len(lines) == 2)
                assert worker.alive
    assert [line["event"] for line in lines] == ["sweep.failed"] * 2


async def test_a_full_sweep_is_followed_by_the_next_at_once(store: Store) -> None:
    """What waits in the index beyond the limit of a sweep waits for capacity, not for the clock."""
    attended: set[str] = set()
    names = {f"console:{number}" for number in range(300)}

    async def process(conversation: str, _author: str) -> None:
        if opened := await store.journal.open(conversation, "turn", 0):
            await store.journal.commit(opened.lease, None, [], 1)
            await store.leases.release(opened.lease)
            attended.add(conversation)

    for name in names:
        await store.inbox.accept(name, "m1", b"{}")
    async with Worker(store, asyncio.Event()).run(process):
        await until(lambda: attended == names)


@pytest.mark.parametrize(
    ("drain_s", "event", "finished"),
    [(20, "hold", ["console:a"]), (0.2, "", []), (20, "hurry", [])],
    ids=["waits", "not for ever", "in a hurry"],
)
async def test_leaving_waits_for_running_turns(
    store: Store, drain_s: float, event: str, finished: list[str]
) -> None:
    """A shutdown lets a turn under way finish; one that outlasts the patience, or somebody's who
    cannot wait, is cancelled, for another worker to take."""
    attended, events = Attended(), {"hold": asyncio.Event(), "hurry": asyncio.Event()}
    attended.hold = events["hold"]
    worker = Worker(store, events["hurry"], drain_s=drain_s)
    async with asyncio.timeout(10), worker.run(attended):
        worker.add("console:a", "")
        await until(lambda: attended.conversations == ["console:a"])
        if event:
            asyncio.get_running_loop().call_later(0.1, events[event].set)
    assert attended.finished == finished


async def test_a_worker_begins_what_its_own_process_takes_in(store: Store) -> None:
    """Without waiting for the sweep, in the order it came."""
    attended = Attended()
    names = [f"console:{number}" for number in range(50)]
    worker = Worker(store, asyncio.Event())
    async with worker.run(attended):
        for name in names:
            worker.add(name, "")
        await until(lambda: len(attended.finished) == 50)
    assert attended.conversations == names


async def test_what_runs_beside_belongs_to_the_worker(store: Store) -> None:
    """It runs for as long as the worker does; should it end by itself, the worker has ended, and
    says why."""
    begun, broken = asyncio.Event(), asyncio.Event()

    async def beside() -> None:
        begun.set()
        await broken.wait()
        raise RuntimeError("broken")

    worker = Worker(store, asyncio.Event())
    async with worker.run(Attended(), [beside]):
        await begun.wait()
        assert worker.alive
        broken.set()
        with pytest.raises(RuntimeError, match="broken"):
            await worker.wait_until_ended()
        assert not worker.alive


async def test_the_terminals_worker_takes_only_its_own_conversation() -> None:
    """Whatever else waits on the same Redis, and whatever fails once, only one conversation is
    attended to."""
    attended = Attended()
    attended.failures = [StoreUnavailable("gone")]
    worker = ChatWorker("console:mine")
    async with worker.run(attended):
        await until(lambda: len(attended.conversations) == 1)
        worker.add("line:bot:user:u1", "")
        worker.add("console:mine", "")
        await until(lambda: attended.finished == ["console:mine"])
    assert set(attended.conversations) == {"console:mine"}
