"""Dead letters can be found, read whatever they hold, put back and deleted."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.store import DeadLetter, Store
from bot.store.keys import DEAD_S
from tests.bot.store.turns import key, leased

HERE = "console:alice"
THERE = "console:bob"
PURPOSE = next(
    name
    for name in map("console:{}".format, range(1_000))
    if key("dead", name) == key("dead", HERE)
)


async def refused(store: Store, conversation: str, *deliveries: bytes) -> None:
    """Give deliveries up, one after the other."""
    lease = await leased(store, conversation)
    await store.journal.commit(lease, None, list(deliveries), keep_turns=1)
    for delivery in deliveries:
        await store.outbox.move_head_to_dead_letters(lease, b"refused: " + delivery)
    await store.leases.release(lease)


async def given_up(store: Store, conversation: str, *bodies: bytes) -> None:
    """Give a turn up that had taken these messages in."""
    for number, body in enumerate(bodies):
        assert await store.inbox.accept(conversation, f"m{number}", body)
    lease = await leased(store, conversation)
    assert await store.journal.begin(lease, "turn")
    await store.journal.commit(lease, None, [], keep_turns=1, given_up="it kills its process")
    await store.leases.release(lease)


async def test_letters_of_all_conversations_are_read_newest_first(store: Store) -> None:
    """With an id that an operator can type and that names the shard; one conversation's alone as
    they came."""
    await refused(store, HERE, b"one", b"two")
    await refused(store, THERE, b"three")
    await refused(store, PURPOSE, b"four")
    read = await store.dead_letters.read()
    assert sorted(letter.delivery or b"" for letter in read) == [b"four", b"one", b"three", b"two"]
    assert [letter.at for letter in read] == sorted((letter.at for letter in read), reverse=True)
    assert [letter.delivery for letter in await store.dead_letters.of(HERE)] == [b"one", b"two"]
    (three,) = await store.dead_letters.of(THERE)
    shard, at, number = three.id.split("-")
    assert (key("dead", THERE), int(at)) == (f"kaiwa:{{{shard}}}:dead", three.at)
    assert three == DeadLetter(f"{shard}-{at}-{number}", THERE, "refused: three", b"three")
    assert await store.dead_letters.read(1) == read[:1]
    assert await store.dead_letters.count() == 4


async def test_a_letter_is_found_by_its_id(store: Store) -> None:
    """And nothing by an id that is none, of another shard, or of no shard at all."""
    await refused(store, HERE, b"one")
    (letter,) = await store.dead_letters.read()
    assert await store.dead_letters.get(letter.id) == letter
    _, _, entry = letter.id.partition("-")
    other = (int(letter.id[:2]) + 1) % 16
    for nothing in (
        "",
        "one",
        entry,
        f"{other:02d}-{entry}",
        f"16-{entry}",
        f"{letter.id}-0",
        f"{letter.id[:-1]}9",
    ):
        assert await store.dead_letters.get(nothing) is None, nothing


async def test_a_letter_is_deleted_once(store: Store) -> None:
    """Nothing is left to be counted."""
    await refused(store, HERE, b"one")
    (letter,) = await store.dead_letters.read()
    assert await store.dead_letters.discard(letter)
    assert not await store.dead_letters.discard(letter)
    assert (await store.dead_letters.read(), await store.dead_letters.count()) == ([], 0)


async def test_whatever_a_letter_holds_it_can_be_read_and_deleted(
    store: Store, redis: Redis
) -> None:
    """Bytes of somebody else, or of nobody: the operator sees that there is something."""
    stream = key("dead", HERE)
    await redis.xadd(
        stream, {b"conversation": b"\xff", b"arrival 0": b"no frame", b"arrival 1": b"arrival x:"}
    )
    await redis.xadd(stream, {b"something": b"else"})
    await redis.expire(stream, DEAD_S)
    nothing, odd = await store.dead_letters.read()
    assert (nothing.conversation, nothing.reason, nothing.delivery, nothing.arrivals) == (
        "",
        "",
        None,
        (),
    )
    assert (odd.conversation, odd.arrivals) == ("\ufffd", (b"no frame", b"arrival x:"))
    assert await store.dead_letters.discard(odd)
    assert await store.dead_letters.discard(nothing)
    assert await store.dead_letters.count() == 0
