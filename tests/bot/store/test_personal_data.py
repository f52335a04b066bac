"""What names somebody beside their conversations is found and deleted, and deletions leave no bytes
behind."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.store import Store
from bot.store.keys import Keys
from tests.bot.store.turns import key, leased

HERE = "line:bot:user:u1"


async def names(redis: Redis) -> set[str]:
    """Of all keys, without their shard."""
    return {name.decode().split(":", 2)[2] async for name in redis.scan_iter("kaiwa:*")}


async def test_erasing_takes_what_bears_the_name_and_nothing_else(
    store: Store, redis: Redis
) -> None:
    """Other channels' and people with a longer id stay."""
    await store.inbox.accept(HERE, "m1", b"one")
    for name in ("line:name:u1", "line:name:u12", "slack:name:u1", "line:name:*"):
        await store.kv.set(name, b"x", 60)
    assert await store.personal_data.erase("line", ["u1"]) == 1
    left = await names(redis)
    assert {"note:line:name:u12", "note:slack:name:u1", "note:line:name:*", f"inbox:{HERE}"} <= left
    assert [
        name
        for name in left
        if "u1" in name.split(":") and not name.startswith(("inbox", "note:slack"))
    ] == []
    assert await store.personal_data.erase("line", ["*"]) == 1
    assert await store.kv.get("line:name:u12") == b"x"


async def test_notes_that_hold_a_name_go_too(store: Store) -> None:
    """Such as who is asked, or where a stream stands, unless its turn goes on; a set is known by
    its name alone."""
    await store.kv.set("slack:question:C1", b'{"asker":"U1"}', 60)
    await store.kv.set("slack:stream:t1", b'{"channel":"D1"}', 60)
    await store.kv.set("slack:stream:t2", b'{"channel":"D12"}', 60)
    await store.kv.set("line:stream:t3", b'{"channel":"D1"}', 60)
    await store.kv.add("person:slack:U2", "own slack:T:D1", 60)
    await store.kv.set("slack:stream:t4", b'{"channel":"D1"}', 60)
    assert await store.personal_data.erase("slack", ["U1", "D1"], ["t4"]) == 2
    assert await store.kv.get("slack:stream:t2") is not None
    assert await store.kv.get("slack:stream:t4") is not None
    assert await store.kv.get("line:stream:t3") is not None
    assert await store.kv.members("person:slack:U2") == ["own slack:T:D1"]


async def test_no_name_is_in_nothing(store: Store) -> None:
    """Nothing is deleted for somebody who has none."""
    await store.kv.set("line:name:u1", b"x", 60)
    assert await store.personal_data.erase("line", []) == 0


async def test_a_deleted_letter_leaves_no_bytes_among_the_others(
    store: Store, redis: Redis
) -> None:
    """A stream only marks an entry as deleted while others stand beside it; the others keep ids,
    order and lifetime."""
    lease = await leased(store, HERE)
    await store.journal.commit(lease, None, [b"one", b"secret", b"three"], keep_turns=1)
    for _ in range(3):
        await store.outbox.move_head_to_dead_letters(lease, b"refused")
    letters = await store.dead_letters.of(HERE)
    await store.dead_letters.discard(letters[1])
    assert b"secret" in (await redis.dump(key("dead", HERE)) or b"")
    await store.dead_letters.compact()
    assert b"secret" not in (await redis.dump(key("dead", HERE)) or b"")
    assert await store.dead_letters.of(HERE) == [letters[0], letters[2]]
    assert await redis.ttl(key("dead", HERE)) > 0
    for letter in (letters[0], letters[2]):
        await store.dead_letters.discard(letter)
    await store.dead_letters.compact()
    assert await store.dead_letters.of(HERE) == []


async def test_a_seen_key_names_nobody_and_still_knows_the_message(store: Store) -> None:
    """It outlives a wish to be forgotten, so that a message that comes again is not answered
    again."""
    assert await store.inbox.accept(HERE, "T:u1:17", b"one")
    assert await store.personal_data.erase("line", ["u1"]) == 0
    assert not await store.inbox.accept(HERE, "T:u1:17", b"one")
    assert "u1" not in Keys(HERE).seen("T:u1:17")
