"""Lists of a place: everybody's items in their order, each added once, bounded, and gone with who
added them."""

from __future__ import annotations

from functools import partial

from redis.asyncio import Redis

from bot.features.lists.store import KIND, LIST_ITEMS, LISTS_S, PlaceLists, StoredItem, erase
from bot.store import Store

HERE = "line:b:group:C1"


async def test_items_come_back_in_their_order(store: Store) -> None:
    """Of every list of the place, whoever has added them; other places have lists of their own."""
    assert await PlaceLists(store, HERE, "U1").add("shopping", ["milk", "卵"], "k1") == [1, 2]
    assert await PlaceLists(store, HERE, "U2").add("todo", ["call"], "k2") == [3]
    assert await PlaceLists(store, HERE).read() == [
        StoredItem(1, "shopping", "milk", False),
        StoredItem(2, "shopping", "卵", False),
        StoredItem(3, "todo", "call", False),
    ]
    assert await PlaceLists(store, "line:b:group:C2").read() == []


async def test_a_repeated_call_adds_nothing_twice(store: Store) -> None:
    """After a crash; the same words in another call are another item."""
    for _ in range(2):
        assert await PlaceLists(store, HERE, "U1").add("shopping", ["milk", "milk"], "k1") == [1, 2]
    assert await PlaceLists(store, HERE, "U1").add("shopping", ["milk"], "k2") == [3]


async def test_items_are_ticked_and_opened_again(store: Store) -> None:
    """Those that there are; their words stay as they were."""
    await PlaceLists(store, HERE, "U1").add("shopping", ["milk 1 x", "eggs"], "k1")
    assert await PlaceLists(store, HERE).tick([1, 7], done=True) == [1]
    assert (await PlaceLists(store, HERE).read())[0] == StoredItem(1, "shopping", "milk 1 x", True)
    assert await PlaceLists(store, HERE).tick([1], done=False) == [1]
    assert (await PlaceLists(store, HERE).read())[0] == StoredItem(1, "shopping", "milk 1 x", False)


async def test_a_full_place_makes_room_by_what_is_done(store: Store) -> None:
    """The oldest ticked item goes first; without one there is no room."""
    texts = [str(number) for number in range(LIST_ITEMS)]
    assert (await PlaceLists(store, HERE, "U1").add("all", texts, "k"))[-1] == LIST_ITEMS
    assert await PlaceLists(store, HERE, "U1").add("all", ["more"], "k2") == [0]
    await PlaceLists(store, HERE).tick([9, 5], done=True)
    assert await PlaceLists(store, HERE, "U1").add("all", ["a", "b", "c"], "k3") == [301, 302, 0]
    numbers = [item.number for item in await PlaceLists(store, HERE).read()]
    assert sorted({*range(1, 303)} - {*numbers}) == [5, 9]


async def test_reading_them_renews_their_year(store: Store, redis: Redis) -> None:
    """A place without lists gets no key."""
    await PlaceLists(store, HERE, "U1").add("shopping", ["milk"], "k1")
    (key,) = [name async for name in redis.scan_iter("kaiwa:*:lists:*")]
    await redis.expire(key, 60)
    await PlaceLists(store, HERE).read()
    assert LISTS_S - 5 < await redis.ttl(key) <= LISTS_S
    await PlaceLists(store, "console:alice").read()
    assert [name async for name in redis.scan_iter("kaiwa:*:lists:*")] == [key]


async def test_items_go_with_who_added_them(store: Store, redis: Redis) -> None:
    """Others' stay; with the place all of them go."""
    await PlaceLists(store, HERE, "U1").add("shopping", ["milk"], "k1")
    await PlaceLists(store, HERE, "U2").add("shopping", ["eggs"], "k2")
    kept = {KIND: partial(erase, store)}
    await store.personal_data.erase_person("line:U1", kept)
    assert [item.text for item in await PlaceLists(store, HERE).read()] == ["eggs"]
    await store.personal_data.erase_place(HERE, kept)
    assert [name async for name in redis.scan_iter("kaiwa:*:lists:*")] == []
    assert await store.belongings.read(HERE) == []
