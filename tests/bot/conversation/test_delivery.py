"""Replies leave the outbox in order; what fails waits, or becomes a dead letter."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import AssertLease, Delivery, Reply
from bot.conversation.delivery import TOKEN_WAIT_MS, decode_delivery, fresh
from bot.conversation.history import read_history
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import encode
from tests.bot.harness import HERE, Mailbox, Place
from tests.bot.store.turns import key, leased
from tests.waiting import until_true


async def test_a_postponed_delivery_waits_and_keeps_its_id(store: Store) -> None:
    """The due index names the retry's time; the second attempt carries the same id."""
    place = Place(store, [Step("Hello!")])
    place.box.failures = [DeliverLater("slow down", after=0.05)]
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    assert place.box.delivered == []

    async def is_due() -> bool:
        return HERE in await store.leases.due(10)

    await until_true(is_due)
    await place.care.process(HERE)
    (delivery,) = place.box.delivered
    assert (delivery.attempts, delivery.id) == (2, f"{delivery.turn_id}_1")


async def test_a_delivery_that_is_not_due_yet_is_not_attempted(store: Store) -> None:
    """Back-off holds also when somebody looks earlier; new messages are answered into the outbox behind it."""
    place = Place(store, [Step("One"), Step("Two")])
    place.box.failures = [DeliverLater("slow down", after=60)]
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    await place.hear("more", "m2")
    await place.care.process(HERE)
    assert place.box.delivered == []
    assert [message.text for message in await read_history(place.store, HERE)] == ["hi", "One", "more", "Two"]


async def test_an_answer_is_not_shown_before_an_older_one_is_there(store: Store) -> None:
    """While a delivery waits, the next turn is taken, and shows itself to nobody."""
    place = Place(store, [Step("One"), Step("Two")])
    place.box.failures = [DeliverLater("slow down", after=60)]
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    shown = list(place.box.seen)
    await place.hear("more", "m2")
    await place.care.process(HERE)
    assert place.box.seen == shown != []


async def test_a_refused_delivery_becomes_a_dead_letter(store: Store) -> None:
    """Kept and counted; the conversation goes on."""
    place = Place(store, [Step("One"), Step("Two")])
    place.box.failures = [DeliveryRefused("the chat is gone")]
    await place.hear("hi", "m1")
    await place.hear("hi again", "m2")
    await place.care.process(HERE)
    assert (await store.depths()).dead_letters == 1
    await place.hear("still there?", "m3")
    await place.care.process(HERE)
    assert place.box.texts == ["Two"]


async def test_a_delivery_that_keeps_failing_is_given_up(store: Store) -> None:
    """Ten attempts, then a dead letter: no reply is tried for ever."""
    place = Place(store, [Step("One")])
    place.box.failures = [DeliverLater("busy", after=0) for _ in range(10)]
    await place.hear("hi", "m1")
    for _ in range(12):
        await place.care.process(HERE)
    assert place.box.delivered == []
    assert (await store.depths()).dead_letters == 1
    assert await store.leases.due(10) == []


def head(place: Place) -> Awaitable[bytes | None]:
    return place.store.outbox.head(HERE)


async def again(place: Place, **changes: Any) -> Delivery:
    """Attend when it is time for the next attempt; how the delivery stands afterwards."""
    raw = await head(place)
    assert raw is not None
    lease = await leased(place.store, HERE)
    await place.store.outbox.replace_head(lease, encode(replace(decode_delivery(raw), not_before=1, **changes)))
    await place.store.leases.release(lease)
    await place.care.process(HERE)
    raw = await head(place)
    return decode_delivery(raw) if raw else place.box.delivered[-1]


async def test_a_refused_token_is_waited_for_and_is_no_attempt(store: Store) -> None:
    """However often that was looked at, the ten attempts are left; the hour counts from the first refusal."""
    place = Place(store, [Step("One")])
    place.box.failures = [TokenRefused("refused")] * 13 + [DeliverLater("busy", 0)]
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    first = decode_delivery(await head(place) or b"")
    now = await store.now_ms()
    assert first.not_before - now == pytest.approx(60_000, abs=2_000)
    assert first.refused_since == pytest.approx(now, abs=2_000)
    for count in range(2, 14):
        waiting = await again(place)
        assert (waiting.refusals, waiting.attempts) == (count, count)
        assert waiting.refused_since == first.refused_since
    waiting = await again(place)
    assert (waiting.refusals, waiting.attempts) == (13, 14)
    assert (await again(place)).attempts == 15
    assert place.box.texts == ["One"]


async def test_a_token_that_stays_refused_for_an_hour_is_given_up(store: Store) -> None:
    """With the reason, which names what to set."""
    place = Place(store, [Step("One")])
    place.box.failures = [TokenRefused("set a new one")] * 3
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    now = await store.now_ms()
    await again(place, refused_since=now - TOKEN_WAIT_MS + 5_000)
    assert (await store.depths()).dead_letters == 0
    lease = await leased(store, HERE)
    raw = decode_delivery(await head(place) or b"")
    overdue = replace(raw, not_before=1, refused_since=now - TOKEN_WAIT_MS - 1)
    await store.outbox.replace_head(lease, encode(overdue))
    await store.leases.release(lease)
    await place.care.process(HERE)
    [letter] = await store.dead_letters.read()
    assert (letter.reason, await head(place)) == ("set a new one", None)


def uncertain(place: Place) -> int:
    """How many deliveries were found of which nobody knows whether they had gone out."""
    found = re.search(r'kaiwa_deliveries_total\{channel="mailbox",outcome="uncertain"\} (\d+)', told(place))
    return int(found[1]) if found else 0


def told(place: Place) -> str:
    return place.metrics.exposition().decode()


async def test_an_attempt_without_an_outcome_is_counted(store: Store) -> None:
    """Its process died between the record and the outcome; what was postponed has an outcome."""
    place = Place(store, [Step("One")])
    place.box.failures = [DeliverLater("busy", 0)]
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    await place.care.process(HERE)
    assert (place.box.texts, uncertain(place)) == (["One"], 0)
    lease = await leased(store, HERE)
    await store.journal.commit(lease, None, [encode(Delivery("t_1", "t", Reply("Two"), attempts=1))], 1)
    await store.leases.release(lease)
    await place.care.process(HERE)
    assert (place.box.texts, uncertain(place)) == (["One", "Two"], 1)


async def test_a_delivery_put_back_goes_out_at_once_with_all_its_attempts(store: Store) -> None:
    """It is known to be a repetition, and what became of the earlier attempts is no riddle."""
    place = Place(store, [Step("One")])
    place.box.failures = [DeliverLater("busy", 0)] * 10
    await place.hear("hi", "m1")
    for _ in range(12):
        await place.care.process(HERE)
    [letter] = await store.dead_letters.read()
    assert letter.delivery is not None
    assert await store.dead_letters.revive(letter, fresh(letter.delivery))
    assert await store.leases.due(10) == [HERE]
    place.box.failures = [DeliverLater("busy", 0)] * 9
    for _ in range(10):
        await place.care.process(HERE)
    assert (place.box.texts, uncertain(place)) == (["One"], 0)
    assert place.box.delivered[0].attempts == 21


async def test_a_channel_is_asked_to_make_sure_of_the_lease(store: Store, redis: Redis) -> None:
    """Whoever has lost it sends nothing more and leaves the delivery as it is."""

    class Slept(Mailbox):
        """Was paused for longer than its lease."""

        async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> int:
            await assert_lease()
            await redis.delete(key("lease", HERE))
            await assert_lease()
            return await super().deliver(conversation, delivery, assert_lease)

    place = Place(store, [Step("One")], Slept())
    await place.hear("hi", "m1")
    await place.care.process(HERE)
    assert place.box.delivered == []
    assert decode_delivery(await head(place) or b"").attempts == 1


async def test_a_reply_of_a_channel_that_is_off_becomes_a_dead_letter(store: Store) -> None:
    """It can be put back when the channel is on again."""
    place = Place(store, [])
    lease = await leased(store, "line:bot:user:u1")
    await store.journal.commit(lease, None, [encode(Delivery("t_1", "t", Reply("One")))], 1)
    await store.leases.release(lease)
    await place.care.process("line:bot:user:u1")
    assert [letter.reason for letter in await store.dead_letters.read()] == ["the channel line is switched off"]


async def test_a_delivery_of_broken_letters_is_buried(store: Store) -> None:
    """Bytes that are no text are given up like any that cannot be read."""
    place = Place(store, [])
    lease = await leased(store, HERE)
    await store.journal.commit(lease, None, [b'{"id": "\xff"}'], 1)
    await store.leases.release(lease)
    await place.care.process(HERE)
    assert [letter.reason for letter in await store.dead_letters.read()] == ["cannot be read"]
