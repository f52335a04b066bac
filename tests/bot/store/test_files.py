"""Files of tool calls: kept for a day, bounded together, and gone with whom they belong to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from bot.store import FileOwner, Store, StoredFile, files, open_store
from bot.store.keys import FILES_S

HERE = "line:b:group:C1"
OWNER = FileOwner(HERE, "U1")
MOST = 1_150  # with the owners and types


@pytest.fixture
async def small(store: Store, store_url: str) -> AsyncIterator[Store]:
    """The same store with room for 1,150 bytes of files."""
    async with open_store(store_url, history_days=30, files_bytes=MOST) as small:
        yield small


async def test_a_file_is_kept_for_a_day(store: Store) -> None:
    """With its type; another id has no file."""
    await store.files.keep("f1", OWNER, "image/png", b"\x89PNG\x00\xff")
    assert await store.files.read("f1") == StoredFile("image/png", b"\x89PNG\x00\xff", FILES_S)
    assert await store.files.read("f2") is None


async def test_the_same_file_again_is_no_second_copy(small: Store) -> None:
    """After a crash; its day begins anew."""
    for _ in range(3):
        await small.files.keep("f1", OWNER, "image/png", b"x" * 600)
    await small.files.keep("f2", OWNER, "image/png", b"y" * 400)
    assert [await small.files.read(name) is not None for name in ("f1", "f2")] == [True, True]


async def test_the_oldest_make_room(small: Store, redis: Redis) -> None:
    """As many as needed; files that have expired take none."""
    for name in ("f1", "f2", "f3"):
        await small.files.keep(name, OWNER, "image/png", b"x" * 300)
        (key,) = [key async for key in redis.scan_iter(f"*:file:{name}")]
        await redis.zadd(key.decode().replace(f":file:{name}", ":files"), {key: int(name[1])})
    await small.files.keep("f4", OWNER, "image/png", b"x" * 500)
    assert [await small.files.read(name) is not None for name in ("f1", "f2", "f3", "f4")] == [
        False,
        False,
        True,
        True,
    ]
    await redis.delete(*[key async for key in redis.scan_iter("*:file:f3")])
    await small.files.keep("f5", OWNER, "image/png", b"x" * 500)
    assert [await small.files.read(name) is not None for name in ("f4", "f5")] == [True, True]


async def test_small_files_are_bounded_by_their_number(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new one looks at all others, so there must not be thousands."""
    monkeypatch.setattr(files, "MOST_FILES", 2)
    for name in ("f1", "f2", "f3", "f3"):
        await store.files.keep(name, OWNER, "image/png", b"x")
    assert [await store.files.read(name) is not None for name in ("f1", "f2", "f3")] == [
        False,
        True,
        True,
    ]


async def test_a_persons_files_are_deleted(store: Store) -> None:
    """Those they asked for, and those of their own conversations; nobody else's, and in no other
    channel."""
    owners = {
        "theirs": FileOwner("line:b:user:U1", "U1"),
        "asked": FileOwner(HERE, "U1"),
        "another": FileOwner(HERE, "U2"),
        "longer": FileOwner(HERE, "U11"),
        "elsewhere": FileOwner("slack:T:U1", "U1"),
    }
    await store.files.erase("line", {"U1"})  # there are none yet
    for name, owner in owners.items():
        await store.files.keep(name, owner, "image/png", b"x")
    await store.files.erase("line", {"U1"})
    stored = [name for name in owners if await store.files.read(name)]
    assert stored == ["another", "longer", "elsewhere"]


async def test_all_processes_sign_with_one_key(store: Store, redis: Redis) -> None:
    """The first one proposed; it outlives every file."""
    assert await store.files.signing_key(b"one\x00") == b"one\x00"
    assert await store.files.signing_key(b"two") == b"one\x00"
    (key,) = [key async for key in redis.scan_iter("*:files_key")]
    assert await redis.ttl(key) > FILES_S
