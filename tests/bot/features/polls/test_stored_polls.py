"""Polls in the store: one vote a person, counted once however often it comes, bounded, gone with
who started them."""

from __future__ import annotations

from itertools import count

import pytest
from redis.asyncio import Redis

from bot.features.polls.store import CLOSE, KIND, OPEN_POLLS, POLL_S, StoredPoll, StoredPolls
from bot.store import Store
from bot.store.keys import Keys

HERE = "line:polls:group:C1"
SHOWN = b'{"shows":"it"}'
presses = count(1)


async def start(
    store: Store, poll_id: str = "poll_1", *, creator: str = "boss", multiple: bool = False
) -> bool:
    """A poll with three options."""
    return await StoredPolls(store).start(
        HERE, poll_id, creator, b"body", options=3, multiple=multiple
    )


async def vote(
    store: Store, person: str, choice: int, poll_id: str = "poll_1", press_id: str = ""
) -> str:
    """A press of a button."""
    press_id = press_id or f"press_{next(presses)}"
    return await StoredPolls(store).press(HERE, poll_id, press_id, person, choice, SHOWN)


async def standing(store: Store, poll_id: str = "poll_1") -> StoredPoll:
    """The poll as it stands."""
    found = await StoredPolls(store).show(HERE, poll_id)
    assert isinstance(found, StoredPoll)
    return found


async def stored(redis: Redis) -> list[bytes]:
    """The keys of polls."""
    return [
        key for kind in ("poll", "polls") async for key in redis.scan_iter(f"kaiwa:{{*}}:{kind}:*")
    ]


async def test_a_person_has_one_vote(store: Store) -> None:
    """Another option moves it, the same one takes it back; others' votes stay."""
    assert await start(store)
    assert await standing(store) == StoredPoll(b"body", False, 0, (0, 0, 0))
    stood = []
    for person, choice in (("ann", 1), ("ben", 1), ("ann", 3), ("ben", 1)):
        assert await vote(store, person, choice) == "taken"
        found = await standing(store)
        stood.append((found.voters, found.counts))
    assert stood == [(1, (1, 0, 0)), (2, (2, 0, 0)), (2, (1, 0, 1)), (1, (0, 0, 1))]


async def test_with_several_votes_each_option_is_its_own(store: Store) -> None:
    """A person counts once among the voters."""
    await start(store, multiple=True)
    for choice in (1, 2, 3, 2):
        await vote(store, "ann", choice)
    assert (await standing(store))[2:] == (1, (1, 0, 1))
    for choice in (1, 3):
        await vote(store, "ann", choice)
    assert (await standing(store))[2:] == (0, (0, 0, 0))


async def test_a_press_that_comes_again_counts_once(store: Store) -> None:
    """A platform repeats what it got no answer for; a second press by the person is another one."""
    await start(store)
    for _ in range(3):
        assert await vote(store, "ann", 2, press_id="press") == "taken"
    assert (await standing(store)).counts == (0, 1, 0)


async def test_only_its_creator_closes_a_poll(store: Store) -> None:
    """A closed one takes no vote, and can be shown for as long as it is kept."""
    await start(store)
    await vote(store, "ann", 2)
    assert await vote(store, "ann", CLOSE) == "not_yours"
    assert await StoredPolls(store).open_ids(HERE) == ["poll_1"]
    assert [await vote(store, "boss", CLOSE) for _ in range(2)] == ["taken", "over"]
    assert await vote(store, "ben", 1) == "over"
    assert await standing(store) == StoredPoll(b"body", True, 1, (0, 1, 0))
    assert await StoredPolls(store).open_ids(HERE) == []


async def test_a_press_of_what_there_is_not_changes_nothing(store: Store, redis: Redis) -> None:
    """A poll that has expired, and an option that it does not have."""
    assert await vote(store, "ann", 1) == "gone"
    await start(store)
    assert await vote(store, "ann", 4) == "gone"
    assert await store.outbox.read(HERE) == []
    assert await redis.exists(f"{Keys(HERE).of(KIND)}:poll_2") == 0


async def test_a_burst_of_presses_is_shown_once(store: Store) -> None:
    """Until the delivery is made; then the next change is shown again."""
    await start(store)
    for person in ("ann", "ben", "cem"):
        await vote(store, person, 1)
    assert await store.outbox.read(HERE) == [SHOWN]
    await StoredPolls(store).show(HERE, "poll_1", 0)
    await vote(store, "dan", 1)
    await vote(store, "boss", CLOSE)
    assert await store.outbox.read(HERE) == [SHOWN, SHOWN]


async def test_a_delivery_that_was_lost_does_not_silence_a_poll(store: Store, redis: Redis) -> None:
    """Somebody was forgotten, whose vote it was to show."""
    await start(store)
    await vote(store, "ann", 1)
    await redis.hset(f"{Keys(HERE).of(KIND)}:poll_1", "shows", 1)
    await vote(store, "ben", 1)
    assert await store.outbox.read(HERE) == [SHOWN, SHOWN]


async def test_a_poll_is_not_shown_too_often(store: Store) -> None:
    """The store tells when it may be shown again."""
    await start(store)
    now = await store.now_ms(HERE)
    assert isinstance(await StoredPolls(store).show(HERE, "poll_1", 60_000), StoredPoll)
    again = await StoredPolls(store).show(HERE, "poll_1", 60_000)
    assert isinstance(again, int)
    assert 60_000 <= again - now < 65_000
    assert await StoredPolls(store).show(HERE, "poll_2", 60_000) is None


async def test_a_call_that_is_repeated_starts_nothing_new(store: Store) -> None:
    """What was voted meanwhile stays."""
    for _ in range(2):
        assert await start(store)
        await vote(store, "ann", 1, press_id="press")
    assert (await standing(store)).counts == (1, 0, 0)


async def test_a_place_has_so_many_open_polls(store: Store) -> None:
    """A closed one makes room, as all of them have votes."""
    for number in range(OPEN_POLLS):
        assert await start(store, f"poll_{number}")
        await vote(store, "ann", 1, f"poll_{number}")
    assert not await start(store, "poll_more")
    await vote(store, "boss", CLOSE, "poll_3")
    assert await start(store, "poll_more")


async def test_polls_without_votes_keep_nobody_from_starting_one(store: Store) -> None:
    """Nobody may have seen them; the oldest one goes, and polls with votes stay."""
    for number in range(OPEN_POLLS):
        assert await start(store, f"poll_{number}")
    await vote(store, "ann", 1, "poll_0")
    assert await start(store, "poll_more")
    open_ids = await StoredPolls(store).open_ids(HERE)
    assert (len(open_ids), {"poll_0", "poll_1", "poll_2", "poll_more"} - {*open_ids}) == (
        OPEN_POLLS,
        {"poll_1"},
    )
    assert await StoredPolls(store).show(HERE, "poll_1") is None


async def test_a_poll_has_so_many_voters(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has voted may still change it."""
    monkeypatch.setattr("bot.features.polls.store.VOTERS", 2)
    await start(store)
    assert [await vote(store, person, 1) for person in ("ann", "ben", "cem")] == [
        "taken",
        "taken",
        "full",
    ]
    assert await vote(store, "ann", 2) == "taken"
    assert (await standing(store)).counts == (1, 1, 0)


async def test_a_vote_renews_thirty_days(store: Store, redis: Redis) -> None:
    """All that is kept of polls expires."""
    await start(store)
    keys = await stored(redis)
    assert len(keys) == 2
    for key in keys:
        await redis.expire(key, 60)
    await vote(store, "ann", 1)
    assert [POLL_S - 5 < await redis.ttl(key) <= POLL_S for key in keys] == [True, True]


async def test_what_is_of_a_person_goes_with_them(store: Store, redis: Redis) -> None:
    """Found by the index: polls that they have started, and their votes in others. A place takes
    all of its polls along."""
    kept = {KIND: StoredPolls(store).withdraw}
    await start(store, "poll_1", creator="boss")
    await start(store, "poll_2", creator="ann")
    await vote(store, "ann", 1)
    await vote(store, "ben", 2)
    await store.personal_data.erase_person("line:ann", kept)
    assert (await standing(store)).counts == (0, 1, 0)
    assert await StoredPolls(store).show(HERE, "poll_2") is None
    assert await store.belongings.read("line:ann") == []
    await store.personal_data.erase_place(HERE, kept)
    assert await stored(redis) == []
