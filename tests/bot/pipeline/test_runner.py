"""A conversation's care, on a real store: inbox → turn → history and outbox → delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import pytest
from redis.asyncio import Redis

from bot.channels import Delivery, Reply
from bot.errors import DeliverLater, TryAgain
from bot.live_events import TurnStarted
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Lease, Store
from bot.store.leases import Leases
from bot.transcript import ToolCall, decode_record, encode
from tests.bot.harness import HERE, Harness
from tests.bot.pipeline.held_turns import cut_off
from tests.bot.store.turns import leased
from tests.fakes.tools import Launch, tool_map


async def test_a_message_becomes_a_turn_and_a_reply(store: Store) -> None:
    """The whole path: heard, answered, in the history, delivered, nothing left to do."""
    harness = Harness(store, [Step("Hello!")])
    await harness.say("hi", "m1", "token-1")
    (delivery,) = harness.box.delivered
    assert (delivery.reply.text, delivery.address, delivery.attempts) == ("Hello!", "token-1", 1)
    assert await harness.past() == ["hi", "Hello!"]
    assert isinstance(harness.box.seen[0], TurnStarted)
    assert harness.box.seen[0].user_ids == ("m1",)
    assert await store.leases.due(10) == []


async def test_the_record_names_the_model_that_answered(store: Store) -> None:
    """It may be another than the one that is asked first."""
    harness = Harness(store, [])

    def stand_in(_: object) -> Step:
        harness.model.model = "stand-in"
        return Step("Hello!")

    harness.model._steps.append(stand_in)
    await harness.say("hi", "m1")
    (entry,) = await store.history.read(HERE, 1)
    assert decode_record(entry).model == "stand-in"


async def test_several_waiting_messages_become_one_turn(store: Store) -> None:
    """Who types in three bubbles gets one answer, sent to the newest address."""
    harness = Harness(store, [Step("All three")])
    for number in range(3):
        await harness.receive(f"part {number}", f"m{number}", f"token-{number}")
    await harness.process()
    assert harness.box.texts == ["All three"]
    assert harness.box.delivered[0].address == "token-2"
    assert [message.text for message in harness.model.requests[0].messages] == [
        "part 0",
        "part 1",
        "part 2",
    ]


async def test_the_next_turn_remembers_the_last_one(store: Store) -> None:
    """Calls and results stay in the history, whole and in order."""
    harness = Harness(
        store, [Step(calls=(ToolCall("c1", "echo", {"n": 1}),)), Step("One"), Step("Two")]
    )
    await harness.say("first", "m1")
    await harness.say("second", "m2")
    roles = [message.role for message in harness.model.requests[2].messages]
    assert roles == ["user", "model", "tool", "model", "user"]
    assert (
        harness.model.requests[2].messages[0].context
        == "[Thursday 1970-01-01 00:00 UTC, mailbox, 1:1]"
    )


async def test_a_message_that_arrives_during_a_turn_gets_the_next_one(store: Store) -> None:
    """Strict order: the turn under way ends first, then the newcomer is answered, by the same
    worker."""
    gate = asyncio.Event()
    first = Step("One", gate=gate)
    harness = Harness(store, [first, Step("Two")])
    await harness.receive("first", "m1")
    attending = asyncio.create_task(harness.process())
    await first.at_gate.wait()
    await harness.receive("second", "m2")
    gate.set()
    await attending
    assert harness.box.texts == ["One", "Two"]


async def test_a_second_worker_leaves_a_conversation_that_is_being_answered(store: Store) -> None:
    """One lease, one worker: the second returns at once and asks nobody."""
    gate = asyncio.Event()
    step = Step("One", gate=gate)
    first, second = Harness(store, [step]), Harness(store, [])
    await first.receive("hi", "m1")
    attending = asyncio.create_task(first.process())
    await step.at_gate.wait()
    await second.process()
    gate.set()
    await attending
    assert (first.box.texts, second.model.requests) == (["One"], [])


@pytest.mark.parametrize(
    ("words", "apology"),
    [
        ("hello", "The language model does not answer"),
        ("こんにちは", "いま言語モデルから応答がありません"),
    ],
)
async def test_a_model_that_is_down_ends_in_one_sentence_in_the_users_language(
    store: Store, words: str, apology: str
) -> None:
    """Never silence: the apology is delivered, kept in the history, and the operator's note rides
    along."""
    harness = Harness(
        store, [Step(error=TryAgain("model_down", "503 from the vendor")), Step("Back again")]
    )
    await harness.say(words, "m1")
    (delivery,) = harness.box.delivered
    assert delivery.reply.text.startswith(apology)
    assert delivery.reply.failure == "503 from the vendor"
    await harness.say("again?", "m2")
    assert harness.box.texts[1] == "Back again"


async def test_a_cut_answer_says_so(store: Store) -> None:
    """A length limit is never passed off as success."""
    harness = Harness(store, [Step("Once upon a", stop_reason="max_tokens")])
    await harness.say("tell me a story", "m1")
    assert harness.box.texts == ["Once upon a\n\n(The answer breaks off here.)"]


async def test_a_lost_lease_ends_the_work_without_a_word(store: Store, redis: Redis) -> None:
    """Whoever lost the lease commits nothing and sends nothing."""
    gate = asyncio.Event()
    step = Step("too late", gate=gate)
    first = Harness(store, [step])
    await first.receive("hi", "m1")
    attending = asyncio.create_task(first.process())
    await step.at_gate.wait()
    await redis.delete(*[key async for key in redis.scan_iter("kaiwa:*:lease:*")])
    second = Harness(store, [Step("in time")])
    await second.process()
    gate.set()
    await attending
    assert (first.box.texts, second.box.texts) == ([], ["in time"])
    assert [message.text for message in await read_history(store, HERE)] == ["hi", "in time"]


async def test_a_turn_of_the_history_that_cannot_be_read_is_left_out(
    store: Store, redis: Redis
) -> None:
    """It costs its own words, not the conversation."""
    harness = Harness(store, [Step("One"), Step("Two")])
    await harness.say("first", "m1")
    (key,) = [key async for key in redis.scan_iter("kaiwa:*:history:*")]
    await redis.lpush(key, b'{"messages": [{"type": "hologram"}]}')
    await harness.say("second", "m2")
    assert [message.text for message in harness.model.requests[1].messages] == [
        "first",
        "One",
        "second",
    ]
    assert harness.box.texts == ["One", "Two"]


async def test_a_delivery_that_cannot_be_read_becomes_a_dead_letter(store: Store) -> None:
    """The replies behind it go out."""
    harness = Harness(store, [Step("Fine")])
    lease = await leased(store, HERE)
    await store.journal.begin(lease, "turn_x")
    await store.journal.commit(lease, None, [b"no JSON"], 10)
    await store.leases.release(lease)
    await harness.say("hi", "m1")
    assert harness.box.texts == ["Fine"]
    assert (await store.depths()).dead_letters == 1


async def test_a_process_that_ends_begins_no_new_turn(store: Store) -> None:
    """What waits is left for another process, due at once."""
    harness = Harness(store, [])
    harness.runner.closing = True
    await harness.say("hi", "m1")
    assert harness.model.requests == []
    assert await store.leases.due(10) == [HERE]


async def test_a_turn_that_takes_too_long_ends_in_an_apology(store: Store) -> None:
    """Honest about the reason."""
    harness = Harness(store, [Step(error=TimeoutError())])
    await harness.say("hi", "m1")
    [delivery] = harness.box.delivered
    assert delivery.reply.failure == "the turn took longer than 300 s"


class Racing:
    """Leases of a store where something comes in right before one is given back."""

    def __init__(self, leases: Leases, comes_in: Callable[[], Awaitable[None]]) -> None:
        self.acquire, self.renew, self.due = leases.acquire, leases.renew, leases.due
        self.renew_each = leases.renew_each
        self._leases = leases
        self._comes_in: list[Callable[[], Awaitable[None]]] = [comes_in]

    async def release(
        self,
        lease: Lease,
        retry_at_ms: int | None = None,
        known: int = 0,
        *,
        is_delivered: bool = False,
    ) -> bool:
        while self._comes_in:
            await self._comes_in.pop()()
        return await self._leases.release(lease, retry_at_ms, known, is_delivered=is_delivered)


async def test_a_message_that_comes_in_at_the_last_moment_is_answered_at_once(store: Store) -> None:
    """No worker was told, as somebody held the lease."""
    harness = Harness(store, [Step("One"), Step("Two")])
    harness.box.failures = [DeliverLater("slow down", after=60)]
    leases = Racing(store.leases, partial(harness.receive, "second", "m2"))
    store.leases = cast(Leases, leases)
    await harness.say("first", "m1")
    assert await harness.past() == ["first", "One", "second", "Two"]


async def test_a_delivery_that_comes_as_a_question_parks_is_sent_at_once(store: Store) -> None:
    """As a vote does, which is counted without the lease; the question's deadline is not its
    own."""
    launch = ToolCall("c1", "launch", {"what": "rocket"})
    harness = Harness(store, [Step(calls=(launch,))], tools=tool_map(Launch()))
    sent = encode(Delivery("d1", "t1", Reply("Votes: 1")))

    async def post() -> None:
        assert await store.outbox.post(HERE, "d1", sent)

    store.leases = cast(Leases, Racing(store.leases, post))
    await harness.receive("launch it", "m1")
    await harness.runner.process(HERE, "u1")
    assert (harness.box.texts[-1], await store.leases.due(10)) == ("Votes: 1", [])


async def test_an_unfinished_turn_does_not_wait_for_a_delivery(store: Store) -> None:
    """A process that ends looks at neither; the next one finds the conversation due at once."""
    step = Step("never", gate=asyncio.Event())
    harness = Harness(store, [Step("One"), step])
    harness.box.failures = [DeliverLater("slow down", after=60)]
    await harness.say("hi", "m1")
    await harness.receive("more", "m2")
    await cut_off(harness, step.at_gate)
    closing = Harness(store, [])
    closing.runner.closing = True
    await closing.process()
    assert await store.leases.due(10) == [HERE]
