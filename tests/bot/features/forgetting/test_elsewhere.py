"""Being forgotten also where somebody is being answered at that moment."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.features.forgetting.deletion import LEASE_WAIT_S, Deletion, Forgotten
from bot.pipeline.history import read_history, read_record
from bot.providers.scripted import Step
from bot.store import Lease, Store
from bot.transcript import Author, Message, Text
from tests.bot.features.forgetting.test_forgetting import GROUP, arrive, message_event
from tests.bot.harness import HERE, Harness, words
from tests.bot.pipeline.held_turns import hanging, under_way
from tests.bot.store.turns import leased

OWN = "mailbox:user:u1"
WISH = InboundEvent(Message("m9", "user", (Text("/forget me"),), 1, Author("u1")))


async def forget(store: Store, lease: Lease, lease_wait_s: float = LEASE_WAIT_S) -> Forgotten:
    """Somebody wants to be forgotten."""
    return await Deletion(Harness(store, []).runner.services, lease_wait_s).forget(lease, WISH)


async def talk(store: Store) -> None:
    """Somebody talks in one conversation, and is known to have done so."""
    harness = Harness(store, [Step("One")])
    await harness.receive("my secret", "m1")
    await harness.runner.process(HERE)


async def stored(store: Store) -> list[str]:
    """What is kept of that conversation."""
    return [
        message.text
        for entry in await store.history.read(HERE, 9)
        for message in read_record(entry).messages
    ]


async def test_a_conversation_that_is_being_answered_is_waited_for(store: Store) -> None:
    """Its turn ends, then it is forgotten."""
    await talk(store)
    other, own = await leased(store, HERE), await leased(store, OWN)
    forgetting = asyncio.create_task(forget(store, own))
    await asyncio.sleep(0)
    await store.leases.release(other)
    assert await forgetting == Forgotten(conversations=2, messages=2)
    assert await stored(store) == []


async def test_a_conversation_that_stays_busy_forgets_at_the_end_of_its_turn(store: Store) -> None:
    """It is told to, by an entry of its inbox that names nobody."""
    await talk(store)
    other, own = await leased(store, HERE), await leased(store, OWN)
    assert await forget(store, own, 0.25) == Forgotten(conversations=1, messages=0)
    assert await stored(store) == ["my secret", "One"]
    (reported,) = await store.inbox.read(HERE)
    assert b"u1" not in reported.frame
    await store.leases.release(other)
    await Harness(store, []).runner.process(HERE)
    assert await stored(store) == []


async def test_a_group_that_stays_busy_takes_back_what_somebody_has_said(store: Store) -> None:
    """What is in its history, in its turn and in its inbox; the others' words stay, and are
    answered."""
    harness = Harness(store, [Step("One"), Step("Two"), Step("Three")])
    for message_id, author in (("g1", "u1"), ("g2", "u2")):
        await arrive(
            store, GROUP, message_event(message_id, f"old of {author}", author, group=True)
        )
        await harness.runner.process(GROUP)
    for message_id, author in (("g3", "u1"), ("g4", "u2")):
        await arrive(
            store, GROUP, message_event(message_id, f"new of {author}", author, group=True)
        )
    other, own = await leased(store, GROUP), await leased(store, OWN)
    await store.journal.begin(other, "turn")
    await arrive(store, GROUP, message_event("g5", "newest of u1", "u1", group=True))
    await forget(store, own, 0.25)
    await store.leases.release(other)
    await harness.runner.process(GROUP)
    past = [message.text for message in await read_history(harness.store, GROUP)]
    assert not [text for text in past if "u1" in text]
    assert {"old of u2", "new of u2"} <= set(past)


async def test_a_turn_for_somebody_who_is_forgotten_ends_at_once(
    store: Store, redis: Redis
) -> None:
    """A call that the model made later would store something of theirs, and nobody would delete
    it."""
    step = hanging()
    harness = Harness(store, [step])
    await harness.arrive(InboundEvent(words("m1", "remember that I am u1"), group=True))
    async with under_way(harness, redis, step.at_gate):
        own = await leased(store, OWN)
        await forget(store, own, 0.1)
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])


async def test_a_question_that_waits_elsewhere_is_forgotten_with_its_turn(store: Store) -> None:
    """In an own conversation all goes; the due index holds it no longer."""
    await talk(store)
    await arrive(store, HERE, message_event("m2", "act"))
    other, own = await leased(store, HERE), await leased(store, OWN)
    await store.journal.begin(other, "turn")
    await store.leases.release(other, await store.now_ms(HERE) + 60_000)
    assert await forget(store, own) == Forgotten(conversations=2, messages=2)
    assert await store.journal.read(HERE) == []
    await store.leases.release(own)
    assert await store.leases.due(9) == []


async def test_in_a_group_a_turn_that_waits_for_somebody_goes_and_others_are_answered(
    store: Store,
) -> None:
    """Their words wait for a turn of their own, in order; answers that name who is forgotten are
    not delivered."""
    harness = Harness(store, [Step("One"), Step("Two")])
    await arrive(store, GROUP, message_event("g0", "hello", group=True))
    await harness.runner.process(GROUP)
    await arrive(store, GROUP, message_event("g1", "of the other", "u2", group=True))
    await arrive(store, GROUP, message_event("g2", "mine", group=True))
    other, own = await leased(store, GROUP), await leased(store, OWN)
    await store.journal.begin(other, "turn")
    await store.journal.record(other, "note", b"a step", sends=b'{"user":"u1"}')
    await store.journal.record(other, "note", b"a step", sends=b'{"user":"u2"}')
    await arrive(store, GROUP, message_event("g3", "mine too", group=True))
    await store.inbox.accept(GROUP, "g4", b'cannot be read: "u1"')
    await store.leases.release(other, await store.now_ms(GROUP) + 60_000)
    assert await forget(store, own) == Forgotten(conversations=2, messages=2)
    assert await store.outbox.read(GROUP) == [b'{"user":"u2"}']
    assert await store.journal.read(GROUP) == []
    (left,) = await store.inbox.read(GROUP)
    assert b"of the other" in left.body
