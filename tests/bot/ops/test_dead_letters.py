"""Dead letters are listed, put back and deleted, on a real store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.checks import CheckResult
from bot.errors import BadInput, DeliverLater, DeliveryRefused
from bot.ops.dead_letters import Described, describe, discard, find, overview, put_back, rows
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import DEAD_S
from tests.bot.harness import HERE, Harness
from tests.bot.store.turns import key, leased

AT = 1_763_700_000_000
ID = f"07-{AT}-0"
WHEN = datetime.fromtimestamp(AT / 1000, UTC)


async def refused(harness: Harness, text: str, message_id: str) -> None:
    """Have an answer become a dead letter."""
    harness.box.failures = [DeliveryRefused("the chat is gone")]
    await harness.receive(text, message_id)
    await harness.runner.process(HERE)


async def given_up(harness: Harness, *texts: str) -> None:
    """Have the messages of a turn become a dead letter."""
    for text in texts:
        await harness.receive(text, f"id of {text}")
    lease = await leased(harness.store, HERE)
    assert await harness.store.journal.begin(lease, "turn")
    await harness.store.journal.commit(
        lease, None, [], keep_turns=1, given_up="it kills its process"
    )
    await harness.store.leases.release(lease)


async def test_letters_are_told_in_words(store: Store) -> None:
    """The beginning of the answer, or what was asked, with the reason and how much else there
    is."""
    harness = Harness(store, [Step("One")])
    await refused(harness, "hi", "m1")
    await given_up(harness, "first", "second")
    found = await overview(store, 10)
    assert (found.count, found.conversations_waiting) == (2, 0)
    assert [
        (letter.kind, letter.words, letter.messages, letter.reason) for letter in found.dead_letters
    ] == [
        ("turn", "first", 2, "it kills its process"),
        ("answer", "One", 0, "the chat is gone"),
    ]
    assert {letter.conversation for letter in found.dead_letters} == {HERE}
    cut = await overview(store, 1)
    assert (cut.dead_letters, cut.count) == (found.dead_letters[:1], 2)


def test_each_letter_has_one_line() -> None:
    """However long or odd its words are; the conversation is cut to its channel and end."""
    letters = [
        Described(
            ID,
            "answer",
            WHEN,
            "line:U0b1c2d3e4f:user:U0123456789",
            "gone\nfor good",
            "One\n\ttwo\x1b[31m",
        ),
        Described(ID, "turn", WHEN, "console:room-0001", "crash", "hi", 1),
        Described(ID, "turn", WHEN, "console:room-0001", "crash", "hi", 3),
        Described(ID, "unreadable", WHEN, "", ""),
    ]
    assert rows(letters, AT + 120_000) == [
        (ID, "2 min ago", "line:…0123456789", "answer: One two[31m", "gone for good"),
        (ID, "2 min ago", "console:room-0001", "asked: hi", "crash"),
        (ID, "2 min ago", "console:room-0001", "asked (3 messages): hi", "crash"),
        (ID, "2 min ago", "", "cannot be read", ""),
    ]


@pytest.mark.parametrize(
    ("delivery", "arrivals"),
    [(b"{", ()), (b'{"id":"\xff"}', ()), (None, (b"{}",)), (None, (b"\xff",)), (None, ())],
)
async def test_what_cannot_be_read_is_told_kept_and_deleted(
    store: Store, redis: Redis, delivery: bytes | None, arrivals: tuple[bytes, ...]
) -> None:
    """It is never put back, where it would fail again; the command that deletes it stands
    beside."""
    fields: dict[Any, Any] = (
        {b"delivery": delivery}
        if delivery
        else {b"arrival %d" % n: body for n, body in enumerate(arrivals)}
    )
    await redis.xadd(
        key("dead", HERE), {b"conversation": HERE.encode(), b"reason": b"why", **fields}
    )
    await redis.expire(key("dead", HERE), DEAD_S)
    (letter,) = await store.dead_letters.read()
    assert (describe(letter).kind, describe(letter).words, describe(letter).reason) == (
        "unreadable",
        "",
        "why",
    )
    fix = f"kaiwa outbox discard {letter.id} deletes it"
    assert await put_back(store.dead_letters, [letter]) == [
        CheckResult("failure", letter.id, "cannot be read", fix)
    ]
    assert await store.dead_letters.count() == 1
    assert await discard(store.dead_letters, [letter]) == [CheckResult("ok", letter.id, "deleted")]
    assert await store.dead_letters.count() == 0


async def test_letters_are_chosen_by_their_ids(store: Store) -> None:
    """Each once; one that does not exist stops everything, by name."""
    harness = Harness(store, [Step("One"), Step("Two")])
    await refused(harness, "hi", "m1")
    await refused(harness, "hi", "m2")
    two, one = await store.dead_letters.read()
    assert await find(store.dead_letters, [one.id, two.id, one.id]) == [one, two]
    with pytest.raises(BadInput, match=f"^no such dead letter: nonsense, {ID}; kaiwa outbox list"):
        await find(store.dead_letters, [one.id, "nonsense", ID])


async def test_answers_put_back_are_delivered_in_the_order_they_were_given(store: Store) -> None:
    """With their attempts before them, so that a channel knows that it may have them already; and
    tried anew."""
    harness = Harness(store, [Step("One"), Step("Two")])
    await refused(harness, "hi", "m1")
    await refused(harness, "hi", "m2")
    letters = await store.dead_letters.read()
    found = await put_back(store.dead_letters, letters)
    assert [(finding.result, finding.detail) for finding in found] == [
        ("ok", f"answer put back, {HERE}")
    ] * 2
    harness.box.failures = [DeliverLater("busy", after=0) for _ in range(9)]
    for _ in range(10):
        await harness.runner.process(HERE)
    assert [(delivery.reply.text, delivery.attempts) for delivery in harness.box.delivered] == [
        ("One", 11),
        ("Two", 2),
    ]
    assert [finding.detail for finding in await put_back(store.dead_letters, letters)] == [
        "somebody else has taken or deleted it meanwhile"
    ] * 2
    assert [finding.result for finding in await discard(store.dead_letters, letters)] == [
        "failure"
    ] * 2


async def test_messages_put_back_are_answered(store: Store) -> None:
    """As one turn, like messages that have just come in."""
    harness = Harness(store, [Step("At last!")])
    await given_up(harness, "first", "second")
    (letter,) = await store.dead_letters.read()
    assert await put_back(store.dead_letters, [letter]) == [
        CheckResult("ok", letter.id, f"messages put back, {HERE}")
    ]
    assert await store.leases.due(10) == [HERE]
    await harness.runner.process(HERE)
    assert harness.box.texts == ["At last!"]
    assert [message.text for message in harness.model.requests[0].messages] == ["first", "second"]
