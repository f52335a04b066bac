"""How many bytes of pictures are held at once, by one turn and by all of them."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial

import pytest

from bot.channels import Take
from bot.features.attachments.reader import FileReader
from bot.file_types import MIB
from bot.pipeline.media import (
    BUSY,
    IN_FLIGHT,
    MOST,
    MOST_INLINE,
    REPEATED,
    TOO_LARGE,
    UNFIT,
    ByteSemaphore,
    TurnMedia,
)
from bot.providers import MediaSupport
from bot.transcript import Media, Message, Part, Text
from tests.bot.harness import HERE, Mailbox
from tests.waiting import until

PIECE = 128 * 1024
PICTURES = MediaSupport(frozenset(("image",)))
TURNS = 10


class Source(Mailbox):
    """Has pictures of any size, by refs such as ``a:9`` for nine MiB, and hands them over side by
    side.

    Attributes:
        asked: refs, in order.
        broken: refs of which only a part can be had.
        open: whether anything is handed over yet.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.open = asyncio.Event()
        self.open.set()

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        self.asked.append(media.ref)
        await self.open.wait()
        left = mib(media.ref)
        while left > 0:
            await asyncio.sleep(0)
            if not take(b"x" * min(PIECE, left)):
                return False
            left -= PIECE
            if media.ref in self.broken:
                return False
        return bool(mib(media.ref))


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def traced() -> Iterator[None]:
    """Python's memory is counted."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def mib(ref: str) -> int:
    return int(float(ref.partition(":")[2]) * MIB)


def media(source: Source, free: ByteSemaphore | None = None) -> TurnMedia:
    free = free or ByteSemaphore(MOST_INLINE, wait_s=0)
    return TurnMedia(free, source, HERE, PICTURES, partial(FileReader().read, "U1"))


def sent(*refs: str, size: int = 0) -> Message:
    """A message with pictures."""
    return Message("-".join(refs), "user", tuple(Media(ref, "image/jpeg", size) for ref in refs), 1)


def seen(messages: list[Message]) -> list[str]:
    """What a request shows: the ref of a picture that is there, ``-`` for one that is gone, else
    words."""
    return [_seen(part) for message in messages for part in message.parts]


def _seen(part: Part) -> str:
    if isinstance(part, Media):
        assert not part.data or len(part.data) == mib(part.ref) == part.size
        return part.ref if part.data else "-"
    assert isinstance(part, Text)
    return part.text


def words(text: str) -> str:
    return text.format("image", 10)


async def test_many_turns_hold_no_more_than_a_process_may(source: Source, traced: None) -> None:
    """Ten at once, with six pictures of 9 MiB each: the memory that all take stays below the limit,
    copies included."""
    free = ByteSemaphore(IN_FLIGHT)

    async def turn(name: int) -> list[str]:
        async with media(source, free) as held:
            loaded = await held.load([sent(*(f"{name}-{number}:9" for number in range(MOST)))])
            await asyncio.sleep(0.01)  # the model answers
            return seen(loaded)

    tracemalloc.reset_peak()
    shown = await asyncio.gather(*(turn(name) for name in range(TURNS)))
    _, peak = tracemalloc.get_traced_memory()
    gc.collect()  # a finished task may be held by its own exception until then
    size, _ = tracemalloc.get_traced_memory()
    assert shown == [
        [words(UNFIT)] * (MOST - 1) + [f"{name}-{MOST - 1}:9"] for name in range(TURNS)
    ]
    assert peak < IN_FLIGHT + MOST_INLINE
    assert size < MIB


@pytest.mark.parametrize(
    ("refs", "expected"),
    [
        (["a:9", "b:1", "c:1"], ["a:9", "b:1", "c:1"]),
        (["a:9", "b:9", "c:1"], [UNFIT, "b:9", "c:1"]),
        (["a:1", "b:9", "c:9"], [UNFIT, UNFIT, "c:9"]),
        (["a:6", "b:0", "c:6"], ["a:6", "-", "c:6"]),
        (["a:10"], ["a:10"]),
        (["a:11"], [TOO_LARGE]),
        (
            [f"{number}:0.5" for number in range(MOST + 1)],
            [UNFIT, *(f"{number}:0.5" for number in range(1, MOST + 1))],
        ),
    ],
)
async def test_a_request_carries_the_newest_pictures_that_fit(
    source: Source, refs: list[str], expected: list[str]
) -> None:
    """Whichever arrives first; words say of the others why they are not there."""
    async with media(source) as held:
        assert seen(await held.load([sent(*refs)])) == [words(one) for one in expected]


async def test_what_a_platform_says_of_a_size_is_not_relied_on(source: Source) -> None:
    """A picture that is larger than announced is not shown, and no more of it is held than was
    announced."""
    async with media(source) as held:
        assert seen(await held.load([sent("a:9", size=MIB)])) == [words(UNFIT)]


async def test_half_a_picture_is_none(source: Source) -> None:
    """The line broke; nobody asks again for the same turn, and what it took is free again."""
    source.broken = {"a:9"}
    free = ByteSemaphore(MOST_INLINE)
    async with media(source, free) as held:
        assert seen(await held.load([sent("a:9")])) == ["-"]
        assert seen(await held.load([sent("a:9"), sent("b:1")])) == ["-", "b:1"]
        assert free.has(11 * MIB)
    assert source.asked == ["a:9", "b:1"]
    assert free.has(MOST_INLINE)


async def test_a_picture_sent_again_and_again_is_sent_once(source: Source) -> None:
    """Where it stands last: a request must not grow with every mention of one file."""
    async with media(source) as held:
        assert seen(await held.load([sent("a:9", "a:9"), sent("a:9")])) == [words(REPEATED)] * 2 + [
            "a:9"
        ]
    assert source.asked == ["a:9"]


async def test_who_finds_no_room_in_time_is_told_so(source: Source) -> None:
    """The answer goes without pictures; the turn's later requests do not wait again."""
    free = ByteSemaphore(MOST_INLINE, wait_s=0)
    async with media(source, free) as first, media(source, free) as second:
        await first.load([sent("a:9")])
        assert seen(await second.load([sent("b:1")])) == [words(BUSY)]
    assert free.has(MOST_INLINE)


async def test_two_turns_that_want_more_do_not_wait_for_each_other(source: Source) -> None:
    """Who waits gives back what it holds, and fetches it again."""
    free = ByteSemaphore(MOST_INLINE)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(media(source, free))
        await one.load([sent("a:5", size=5 * MIB)])
        two = await stack.enter_async_context(media(source, free))
        await two.load([sent("b:5", size=5 * MIB)])
        waiting = asyncio.create_task(one.load([sent("a:5", "c:5", size=5 * MIB)]))
        await until(lambda: not free.has(1))
        assert seen(await two.load([sent("b:5", size=5 * MIB)])) == ["b:5"]
        await two.__aexit__()
        assert seen(await waiting) == ["a:5", "c:5"]
    assert source.asked == ["a:5", "b:5", "c:5", "a:5"]
    assert free.has(MOST_INLINE)


async def test_a_turn_that_is_cancelled_leaves_nothing_behind(source: Source) -> None:
    """While it fetches, or while it waits; whoever stands behind it goes on."""
    free = ByteSemaphore(MOST_INLINE)
    source.open.clear()

    async def turn(ref: str) -> list[str]:
        async with media(source, free) as held:
            return seen(await held.load([sent(ref)]))

    fetching, waiting, last = (asyncio.create_task(turn(ref)) for ref in ("a:9", "b:9", "c:1"))
    await until(lambda: "a:9" in source.asked)
    waiting.cancel()
    fetching.cancel()
    source.open.set()
    assert await last == ["c:1"]
    assert "b:9" not in source.asked
    assert free.has(MOST_INLINE)


async def test_bytes_go_to_whoever_came_first() -> None:
    """A small wish does not overtake a large one, so that the large one is fulfilled some day."""
    free = ByteSemaphore(10)
    await free.acquire(6)
    served: list[int] = []

    async def take(size: int) -> None:
        await free.acquire(size)
        served.append(size)

    async with asyncio.TaskGroup() as group:
        group.create_task(take(8))
        await asyncio.sleep(0)
        group.create_task(take(1))
        await asyncio.sleep(0)
        assert not free.has(1)
        free.release(6)
    assert served == [8, 1]


async def test_nobody_steps_between_one_who_is_served_and_the_next() -> None:
    """The next has not woken up yet, and still it is its turn."""
    free = ByteSemaphore(10)
    await free.acquire(6)
    may_pass: list[bool] = []

    async def take(size: int) -> None:
        await free.acquire(size)
        may_pass.append(free.has(1))

    async with asyncio.TaskGroup() as group:
        group.create_task(take(5))
        group.create_task(take(8))
        await asyncio.sleep(0)
        free.release(6)
        await until(lambda: may_pass == [False])
        free.release(5)
    assert may_pass == [False, True]


async def test_who_is_cancelled_as_it_is_served_gives_back() -> None:
    """Or the process would have less and less to give."""
    free = ByteSemaphore(10)
    await free.acquire(10)
    waiting = asyncio.create_task(free.acquire(10))
    await asyncio.sleep(0)
    free.release(10)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    assert free.has(10)
