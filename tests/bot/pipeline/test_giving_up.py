"""A turn that fails in ways nobody foresaw: tried again from its journal, and in the end given up
honestly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.store import CHANGE, DeadLetter, Depths, Store
from bot.transcript import Message, encode
from tests.bot.harness import HERE, Harness, Mailbox, unsent, words
from tests.bot.pipeline.held_turns import asked, calling, held
from tests.bot.store.turns import key, leased

SORRY = "Something went wrong on my side, so I have no answer. Please try again."


def explode(messages: Sequence[Message]) -> Step:
    raise ZeroDivisionError


async def rested(harness: Harness, redis: Redis) -> int:
    """Attend, and let the turn's rest be over; how long it would have been, in ms."""
    await harness.process()
    retry_at = await redis.hget(key("turn", HERE), "retry_at")
    if retry_at is None:
        return 0
    assert await redis.zscore(key("due", HERE), HERE) == float(retry_at)
    await redis.hset(key("turn", HERE), "retry_at", 0)
    return int(retry_at) - await harness.store.now_ms()


async def letters(store: Store) -> list[DeadLetter]:
    return await store.dead_letters.read()


async def test_an_error_that_passes_is_not_seen(store: Store, redis: Redis) -> None:
    """The turn rests for a second, then for two, and goes on from its journal: what was called is
    not called again."""
    harness = Harness(store, [calling(), explode, explode, Step("Here you are.")])
    await harness.receive("hi", "m1")
    rests = [await rested(harness, redis) for _ in range(3)]
    assert rests == [pytest.approx(1_000, abs=500), pytest.approx(2_000, abs=500), 0]
    assert harness.box.texts == ["Here you are."]
    assert [len(asked(harness, request)) for request in range(4)] == [1, 3, 3, 3]
    assert await store.depths() == Depths(due=0, dead_letters=0)


async def test_a_turn_that_rests_is_not_hurried_by_a_message(store: Store, redis: Redis) -> None:
    """Nor does anybody turn in circles meanwhile; both are answered together."""
    harness = Harness(store, [explode, Step("Both.")])
    await harness.say("one", "m1")
    await harness.receive("two", "m2")
    assert await store.leases.due(10) == [HERE]
    await harness.process()
    assert (len(harness.model.requests), await store.leases.due(10)) == (1, [])
    await redis.hset(key("turn", HERE), "retry_at", 0)
    await harness.process()
    assert harness.box.texts == ["Both."]


@pytest.mark.parametrize(
    ("text", "apology"),
    [("hi", SORRY), ("こんにちは", "こちらで問題が起きて、お答えできませんでした。")],
)
async def test_the_third_failure_is_the_last(
    store: Store, redis: Redis, text: str, apology: str
) -> None:
    """One apology in the user's language, and a dead letter with what was asked; the next message
    is answered."""
    harness = Harness(store, [explode, explode, explode, Step("Hello!")])
    await harness.receive(text, "m1", "token-1")
    for _ in range(3):
        await rested(harness, redis)
    [delivery] = harness.box.delivered
    assert delivery.reply.text.startswith(apology)
    assert delivery.address == "token-1"
    assert delivery.reply.failure == "failed 3 times: ZeroDivisionError, see the log"
    [letter] = await letters(store)
    event = InboundEvent(words("m1", text), "token-1")
    assert (letter.reason, letter.arrivals) == (
        "failed 3 times: ZeroDivisionError",
        (encode(event),),
    )
    assert await store.leases.due(10) == []
    await harness.say("and now?", "m2")
    assert harness.box.texts[1:] == ["Hello!"]


class Nameless(Mailbox):
    """A channel whose look-ups fail, for the apology too."""

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        raise ZeroDivisionError


async def test_a_turn_without_an_apology_ends_too(store: Store, redis: Redis) -> None:
    """Its messages become a dead letter with an alarm, and the conversation goes on."""
    harness = Harness(store, [], Nameless(), alert_to="mailbox:OPS")
    await harness.receive("hi", "m1")
    for _ in range(3):
        await rested(harness, redis)
    assert await store.leases.due(10) == ["mailbox:notices:OPS"]
    await harness.runner.process("mailbox:notices:OPS")
    [alarm] = harness.box.texts
    assert "failed 3 times: ZeroDivisionError" in alarm
    [letter] = await letters(store)
    assert (letter.reason, len(letter.arrivals)) == ("failed 3 times: ZeroDivisionError", 1)


async def test_a_turn_that_kills_its_process_is_given_up(store: Store, redis: Redis) -> None:
    """Five starts without a step, none of them given back; there is no sixth."""
    harness = Harness(store, [])
    await harness.receive("poison", "m1")
    for number in range(5):
        lease = await leased(store, HERE)
        await store.journal.begin(lease, f"turn_{number}")
        await redis.delete(key("lease", HERE))
    await harness.process()
    assert (harness.box.texts, harness.model.requests) == ([SORRY], [])
    assert [letter.reason for letter in await letters(store)] == [
        "started 5 times without getting on"
    ]


async def test_a_turn_that_cannot_be_read_is_given_up(store: Store, redis: Redis) -> None:
    """It must not block the conversation for ever; its bytes are kept."""
    harness = Harness(store, [Step("Fine")])
    assert await store.inbox.accept(HERE, "m1", b"no JSON")
    for _ in range(3):
        await rested(harness, redis)
    assert harness.box.texts == [SORRY]
    assert [letter.arrivals for letter in await letters(store)] == [(b"no JSON",)]
    await harness.say("hi", "m2")
    assert harness.box.texts[1] == "Fine"


async def test_a_conversation_of_a_channel_that_is_off_ends_as_a_dead_letter(store: Store) -> None:
    """What waited when a channel was switched off is kept and counted, not tried every second."""
    harness = Harness(store, [])
    event = encode(InboundEvent(words("m1", "hi")))
    assert await store.inbox.accept("line:bot:user:u1", "m1", event)
    await harness.runner.process("line:bot:user:u1")
    [letter] = await letters(store)
    assert (letter.reason, letter.arrivals) == ("the channel line is switched off", (event,))
    assert await store.leases.due(10) == []


async def test_what_was_taken_back_is_not_kept_of_a_turn_that_is_given_up(
    store: Store, redis: Redis
) -> None:
    """Even if that was during the last attempt; what had joined is given up with it."""
    first = calling(held=True)
    harness = Harness(store, [explode, explode, first, explode])
    await harness.receive("Oops", "m1", "token-1")
    for _ in range(2):
        await rested(harness, redis)
    async with held(harness, first):
        await harness.receive("hi", "m2", "token-2")
        await harness.arrive(unsent("e1", "m1"))
    assert await harness.past() == ["hi", SORRY]
    assert [sent.address for sent in harness.box.delivered] == ["token-2"]


async def test_nobody_is_told_of_a_turn_without_a_question(store: Store, redis: Redis) -> None:
    """An edit that could not be made, say, because another one cannot be read."""
    harness = Harness(store, [Step("One")])
    await harness.say("hi", "m1")
    await harness.arrive(unsent("e1", "m1"))
    await store.inbox.accept(HERE, "e2", b"no JSON", CHANGE)
    for _ in range(3):
        await rested(harness, redis)
    assert harness.box.texts == ["One"]
    assert [letter.reason for letter in await letters(store)] == ["failed 3 times: DecodeError"]


async def test_what_was_given_up_can_be_put_back_and_is_answered(
    store: Store, redis: Redis
) -> None:
    """At once, when the reason is gone."""
    harness = Harness(store, [explode, explode, explode, Step("Sorry for the wait.")])
    await harness.receive("hi", "m1", "token-1")
    for _ in range(3):
        await rested(harness, redis)
    [letter] = await letters(store)
    assert await store.dead_letters.revive(letter)
    assert await store.leases.due(10) == [HERE]
    await harness.process()
    assert harness.box.texts == [SORRY, "Sorry for the wait."]
    assert asked(harness)[-1] == ("user", "hi")
