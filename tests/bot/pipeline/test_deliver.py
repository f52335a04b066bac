"""Replies leave the outbox in order; what fails waits, or becomes a dead letter."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any

import pytest
import structlog
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import AssertLease, Delivery, KeptDelivery, Reply
from bot.errors import LONGEST_WAIT_S, DeliverLater, DeliverOnPress, TokenRefused
from bot.pipeline.deliver import TOKEN_WAIT_MS
from bot.pipeline.feature import Feature
from bot.pipeline.journal import decode_delivery, read_held, reset_attempts
from bot.pipeline.services import Services
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import digest_of, index_key
from bot.transcript import encode
from tests.bot.harness import HERE, Harness, Mailbox
from tests.bot.store.turns import key, leased
from tests.waiting import until_true


async def answered(store: Store, failures: list[Exception], *answers: str) -> Harness:
    """A conversation whose first message has its answer, after these failures of its channel."""
    harness = Harness(store, [Step(answer) for answer in answers])
    harness.box.failures = failures
    await harness.say("hi", "m1")
    return harness


async def test_a_postponed_delivery_waits_and_keeps_its_id(store: Store) -> None:
    """The due index names the retry's time; the second attempt carries the same id."""
    harness = await answered(store, [DeliverLater("slow down", after=0.05)], "Hello!")
    assert harness.box.delivered == []

    async def is_due() -> bool:
        return HERE in await store.leases.due(10)

    await until_true(is_due)
    await harness.process()
    (delivery,) = harness.box.delivered
    assert (delivery.attempts, delivery.id) == (2, f"{delivery.turn_id}_1")


async def test_a_delivery_that_is_not_due_yet_is_not_attempted(store: Store) -> None:
    """Back-off holds also when somebody looks earlier; new messages are answered into the outbox
    behind it."""
    harness = await answered(store, [DeliverLater("slow down", after=60)], "One", "Two")
    await harness.say("more", "m2")
    assert harness.box.delivered == []
    assert await harness.past() == [
        "hi",
        "One",
        "more",
        "Two",
    ]


async def test_no_platform_makes_a_conversation_wait_for_hours(store: Store) -> None:
    """Whatever stands in its Retry-After: all later answers would wait as long."""
    harness = await answered(store, [DeliverLater("slow down", after=float("inf"))], "One")
    raw = await head(harness)
    assert raw is not None
    assert 0 < decode_delivery(raw).not_before - await store.now_ms(HERE) <= LONGEST_WAIT_S * 1000


async def test_an_answer_is_not_shown_before_an_older_one_is_there(store: Store) -> None:
    """While a delivery waits, the next turn is taken, and shows itself to nobody."""
    harness = await answered(store, [DeliverLater("slow down", after=60)], "One", "Two")
    shown = list(harness.box.seen)
    await harness.say("more", "m2")
    assert harness.box.seen == shown != []


async def test_a_delivery_that_keeps_failing_is_given_up(store: Store) -> None:
    """Ten attempts, then a dead letter: no reply is tried for ever."""
    harness = Harness(store, [Step("One")])
    harness.box.failures = [DeliverLater("busy", after=0) for _ in range(10)]
    await harness.receive("hi", "m1")
    for _ in range(12):
        await harness.process()
    assert harness.box.delivered == []
    assert (await store.depths()).dead_letters == 1
    assert await store.leases.due(10) == []


async def test_what_waits_behind_a_delivery_follows_its_last_attempt_at_once(store: Store) -> None:
    """However long the pause after it would have been."""
    harness = Harness(store, [Step("One"), Step("Two")])
    harness.box.failures = [
        *(DeliverLater("busy", after=0) for _ in range(9)),
        DeliverLater("busy", after=600),
    ]
    await harness.say("hi", "m1")
    await harness.receive("more", "m2")
    for _ in range(9):
        await harness.process()
    assert harness.box.texts == ["Two"]
    assert [letter.reason for letter in await store.dead_letters.read()] == [
        "gave up after 10 attempts: busy"
    ]


def head(harness: Harness) -> Awaitable[bytes | None]:
    return harness.store.outbox.head(HERE)


async def again(harness: Harness, **changes: Any) -> Delivery:
    """Attend when it is time for the next attempt; how the delivery stands afterwards."""
    raw = await head(harness)
    assert raw is not None
    lease = await leased(harness.store, HERE)
    await harness.store.outbox.replace_head(
        lease, encode(replace(decode_delivery(raw), not_before=1, **changes))
    )
    await harness.store.leases.release(lease)
    await harness.process()
    raw = await head(harness)
    return decode_delivery(raw) if raw else harness.box.delivered[-1]


async def test_a_refused_token_is_waited_for_and_is_no_attempt(store: Store) -> None:
    """However often that was looked at, the ten attempts are left; the hour counts from the first
    refusal."""
    harness = await answered(
        store, [TokenRefused("refused")] * 13 + [DeliverLater("busy", 0)], "One"
    )
    first = decode_delivery(await head(harness) or b"")
    now = await store.now_ms()
    assert first.not_before - now == pytest.approx(60_000, abs=2_000)
    assert first.refused_since == pytest.approx(now, abs=2_000)
    for count in range(2, 14):
        waiting = await again(harness)
        assert (waiting.refusals, waiting.attempts) == (count, count)
        assert waiting.refused_since == first.refused_since
    waiting = await again(harness)
    assert (waiting.refusals, waiting.attempts) == (13, 14)
    assert (await again(harness)).attempts == 15
    assert harness.box.texts == ["One"]


async def test_a_token_that_stays_refused_for_an_hour_is_given_up(store: Store) -> None:
    """With the reason, which names what to set."""
    harness = await answered(store, [TokenRefused("set a new one")] * 3, "One")
    now = await store.now_ms()
    await again(harness, refused_since=now - TOKEN_WAIT_MS + 5_000)
    assert (await store.depths()).dead_letters == 0
    lease = await leased(store, HERE)
    raw = decode_delivery(await head(harness) or b"")
    overdue = replace(raw, not_before=1, refused_since=now - TOKEN_WAIT_MS - 1)
    await store.outbox.replace_head(lease, encode(overdue))
    await store.leases.release(lease)
    await harness.process()
    [letter] = await store.dead_letters.read()
    assert (letter.reason, await head(harness)) == ("set a new one", None)


def uncertain(harness: Harness) -> int:
    """How many deliveries were found of which nobody knows whether they had gone out."""
    found = re.search(
        r'kaiwa_deliveries_total\{channel="mailbox",outcome="uncertain"\} (\d+)', reported(harness)
    )
    return int(found[1]) if found else 0


def reported(harness: Harness) -> str:
    return harness.metrics.exposition().decode()


async def test_an_attempt_without_an_outcome_is_counted(store: Store) -> None:
    """Its process died between the record and the outcome; what was postponed has an outcome."""
    harness = await answered(store, [DeliverLater("busy", 0)], "One")
    await harness.process()
    assert (harness.box.texts, uncertain(harness)) == (["One"], 0)
    lease = await leased(store, HERE)
    await store.journal.commit(
        lease, None, [encode(Delivery("t_1", "t", Reply("Two"), attempts=1))], 1
    )
    await store.leases.release(lease)
    await harness.process()
    assert (harness.box.texts, uncertain(harness)) == (["One", "Two"], 1)


async def test_a_delivery_put_back_goes_out_at_once_with_all_its_attempts(store: Store) -> None:
    """It is known to be a repetition, and what became of the earlier attempts is no riddle."""
    harness = Harness(store, [Step("One")])
    harness.box.failures = [DeliverLater("busy", 0)] * 10
    await harness.receive("hi", "m1")
    for _ in range(12):
        await harness.process()
    [letter] = await store.dead_letters.read()
    assert letter.delivery is not None
    assert await store.dead_letters.revive(letter, reset_attempts(letter.delivery))
    assert await store.leases.due(10) == [HERE]
    harness.box.failures = [DeliverLater("busy", 0)] * 9
    for _ in range(10):
        await harness.process()
    assert (harness.box.texts, uncertain(harness)) == (["One"], 0)
    assert harness.box.delivered[0].attempts == 20


async def test_a_channel_is_asked_to_make_sure_of_the_lease(
    store: Store, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has lost it sends nothing more and leaves the delivery as it is."""
    monkeypatch.setattr("bot.store.leases.FRESH_S", 0.0)

    class Slept(Mailbox):
        """Was paused for longer than its lease."""

        async def deliver(
            self, conversation: str, delivery: Delivery, assert_lease: AssertLease
        ) -> int:
            await assert_lease()
            await redis.delete(key("lease", HERE))
            await assert_lease()
            return await super().deliver(conversation, delivery, assert_lease)

    harness = Harness(store, [Step("One")], Slept())
    await harness.say("hi", "m1")
    assert harness.box.delivered == []
    assert decode_delivery(await head(harness) or b"").attempts == 1


async def test_a_reply_of_a_channel_that_is_off_becomes_a_dead_letter(store: Store) -> None:
    """It can be put back when the channel is on again."""
    harness = Harness(store, [])
    lease = await leased(store, "line:bot:user:u1")
    await store.journal.commit(lease, None, [encode(Delivery("t_1", "t", Reply("One")))], 1)
    await store.leases.release(lease)
    await harness.runner.process("line:bot:user:u1")
    assert [letter.reason for letter in await store.dead_letters.read()] == [
        "the channel line is switched off"
    ]


async def test_an_answer_goes_out_though_its_author_cannot_be_indexed(
    store: Store, redis: Redis
) -> None:
    """The store takes the turn and refuses the index."""
    await redis.set(index_key(digest_of("mailbox:u1")), "no set", ex=60)
    harness = Harness(store, [Step("Hello")])
    await harness.receive("hi", "m1")
    with structlog.testing.capture_logs() as logs:
        await harness.process()
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "person.not_indexed"
    ]
    assert harness.box.texts == ["Hello"]


async def test_a_mistake_of_a_channel_that_passes_is_not_seen(store: Store) -> None:
    """Its traceback is logged once; the pauses grow, and the count begins anew with a retried dead
    letter."""
    harness = Harness(store, [Step("Hello!")])
    harness.box.failures = [RuntimeError("bug"), KeyError("bug")]
    await harness.receive("hi", "m1")
    rests = []
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await harness.process()
            rests += [
                decode_delivery(raw).not_before - await store.now_ms(HERE)
                for raw in await store.outbox.read(HERE)
            ]
            await let_rest_be_over(store)
    assert rests == [pytest.approx(1_000, abs=500), pytest.approx(2_000, abs=500)]
    assert [entry["event"] for entry in logs if entry["event"].startswith("delivery")] == [
        "delivery.crashed",
        *["delivery.postponed"] * 2,
        "delivery.sent",
    ]
    (delivery,) = harness.box.delivered
    assert (delivery.reply.text, delivery.failures) == ("Hello!", 2)
    assert decode_delivery(reset_attempts(encode(delivery))).failures == 0


async def test_a_mistake_of_a_channel_that_stays_becomes_a_dead_letter(store: Store) -> None:
    """After three attempts, and the operator reads of it; the next message gets its answer."""
    harness = Harness(store, [Step("One"), Step("Two")], alert_to="mailbox:operator")
    harness.box.failures = [RuntimeError("bug") for _ in range(3)]
    await harness.receive("hi", "m1")
    for _ in range(3):
        await harness.process()
        await let_rest_be_over(store)
    (dead_letter,) = await store.dead_letters.read()
    assert dead_letter.reason == "failed 3 times: RuntimeError"
    assert [len(await store.outbox.read(one)) for one in await store.leases.due(10)] == [1]
    await harness.say("still there?", "m2")
    assert harness.box.texts == ["Two"]


async def let_rest_be_over(store: Store) -> None:
    """As if the time until the next attempt had gone by."""
    lease = await leased(store, HERE)
    for raw in await store.outbox.read(HERE):
        await store.outbox.replace_head(lease, encode(replace(decode_delivery(raw), not_before=1)))
    await store.leases.release(lease)


class Brings(Feature):
    """Has the next delivery bring what only a press could."""

    def __init__(self, services: Services) -> None:
        self._store = services.store

    def holds(self, conversation: str, delivery: Delivery) -> bool:
        return True

    async def with_held(self, conversation: str, delivery: Delivery) -> Delivery | None:
        [(_, kept)] = await read_held(self._store, conversation, delivery.asker)
        brings = (KeptDelivery(conversation, kept.id),)
        return replace(delivery, reply=Reply(f"{kept.reply.text} and more"), brings=brings)


async def test_what_only_a_press_could_bring_is_kept_where_a_feature_brings_it(
    store: Store,
) -> None:
    """Until another delivery has arrived with it; else it is a dead letter."""
    for also in ([], [Brings]):
        harness = Harness(store, [Step("One"), Step("Two")], also=also)
        harness.box.failures = [DeliverOnPress("too late")]
        await harness.say("hi", f"m{len(also)}")
    assert len(await store.dead_letters.read()) == len(await store.outbox.kept(HERE)) == 1
    await harness.say("more", "m2")
    assert harness.box.texts == ["One and more"]
    assert await store.outbox.kept(HERE) == []
