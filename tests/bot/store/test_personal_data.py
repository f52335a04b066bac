"""What belongs to somebody beside their conversations is found by the index and deleted, and
deletions leave no bytes behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.errors import StoreUnavailable
from bot.store import Store
from bot.store.keys import (
    CONVERSATION_KINDS,
    CONVERSATION_VALUES,
    LASTING_KINDS,
    PERSON_VALUES,
    SHARD_KINDS,
    Keys,
    kv_key,
)
from tests.bot.store.turns import key, sending

HERE = "line:bot:user:u1"
GROUP = "line:bot:group:C1"
ANN, BEN = "line:ann", "line:ben"


async def dumped(redis: Redis) -> dict[str, Any]:
    """Every key with its value, without the shard."""
    names = sorted([name async for name in redis.scan_iter("kaiwa:*")])
    return {name.decode().split(":", 2)[2]: await redis.dump(name) for name in names}


async def store_everything(store: Store, person: str) -> None:
    """One of each kind of thing that a person leaves beside conversations."""
    author = person.partition(":")[2]
    for kind in PERSON_VALUES:
        await store.kv.set(f"{kind}:{person}", author.encode(), 60)
    for kind in CONVERSATION_VALUES:
        await store.kv.set(f"{kind}:line:bot:user:{author}", author.encode(), 60)
    await store.kv.set(f"chosen:{author}", author.encode(), 60, person)
    store.kv.set_later(f"quoted:{author}", author.encode(), 60, person)
    # What can wait leaves with this.
    assert await store.kv.get(f"chosen:{author}") == author.encode()


async def test_every_kind_of_thing_is_reached_by_the_index_and_nothing_of_others(
    store: Store, redis: Redis
) -> None:
    """Whoever forgets to index what it stores leaves a trace here."""
    await store_everything(store, BEN)
    before = await dumped(redis)
    await store_everything(store, ANN)
    assert await dumped(redis) != before
    await store.personal_data.erase_person(ANN, {})
    await store.personal_data.erase_place("line:bot:user:ann", {})
    after = await dumped(redis)
    # The group's index belongs to everybody.
    shared = ("index:", "seen:", "due")
    left = [name for name in after if after[name] != before.get(name)]
    assert [name for name in left if not name.startswith(shared)] == []
    assert await store.belongings.read(ANN) == []
    assert len(await store.belongings.read(BEN)) == 2


async def test_a_deletion_without_end_is_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it waits for."""
    monkeypatch.setattr("bot.store.kv.ERASE_S", 0.05)
    await store.belongings.add(ANN, "slow one", 60)

    async def hang(person: str, name: str) -> None:
        await asyncio.Event().wait()

    with pytest.raises(StoreUnavailable, match="no answer within"):
        await store.personal_data.erase_person(ANN, {"slow": hang})
    assert await store.belongings.read(ANN) == ["slow one"]


async def test_what_everybody_has_stored_in_a_place_goes_with_it(store: Store) -> None:
    """The bot has been removed from a group."""
    await store_everything(store, ANN)
    await store.kv.set(f"card:{GROUP}", b"ann", 60)
    await store.personal_data.erase_place(GROUP, {})
    assert await store.kv.get(f"card:{GROUP}") is None


async def test_a_value_of_a_shared_conversation_goes_where_it_holds_the_name(store: Store) -> None:
    """Such as who is asked; a longer id is another's."""
    await store.kv.set("card:slack:T:C1", b'{"asker":"U1"}', 60)
    await store.kv.set("card:slack:T:C2", b'{"asker":"U12"}', 60)
    both = ["slack:T:C1", "slack:T:C2", "slack:T:C3"]
    await store.personal_data.erase_in_shared(both, "U1")
    assert await store.kv.get("card:slack:T:C1") is None
    assert await store.kv.get("card:slack:T:C2") is not None


async def test_names_of_values_are_digests(store: Store, redis: Redis) -> None:
    """So no key of theirs names a person, and none has to be looked for."""
    await store.kv.set("line:own:user:u1:m1", b"turn", 60)
    await store.kv.set("profile:line:u1", b"name", 60)
    assert [name for name in await dumped(redis) if "u1" in name] == []
    assert ":note:line:own:" in kv_key("line:own:user:u1:m1")


def test_every_kind_of_key_is_of_a_conversation_or_known_here() -> None:
    """A new kind is added here with the way in which it is forgotten."""
    assert set(CONVERSATION_KINDS) == {
        # deleted with an own conversation, cleaned in a shared one (bot.features.forgetting)
        *("inbox", "turn", "journal", "history", "summary", "outbox", "kept"),
        # names nobody, or lives for a few seconds or an hour
        *("lease", "early"),
    }
    assert set(SHARD_KINDS) == {"due", "dead"}
    assert set(LASTING_KINDS) == {"pins", "format"}


async def test_a_deleted_letter_leaves_no_bytes_among_the_others(
    store: Store, redis: Redis
) -> None:
    """A stream only marks an entry as deleted while others stand beside it; the others keep ids,
    order and lifetime."""
    lease = await sending(store, HERE, b"one", b"secret", b"three")
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
    await store.personal_data.erase_person("line:u1", {})
    assert not await store.inbox.accept(HERE, "T:u1:17", b"one")
    assert "u1" not in Keys(HERE).seen("T:u1:17")
