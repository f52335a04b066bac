"""Messages that are edited or taken back after their turn: an answer that waits takes it in, in
every other case the history alone."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from msgspec.structs import replace

from bot.channels import Delivery, InboundEvent, Reply
from bot.live_events import SAY
from bot.pipeline.history import read_record
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Quote, Summary, Text, encode
from tests.bot.harness import HERE, Harness, edited, unsent, words
from tests.bot.pipeline.held_turns import asked, calling, held
from tests.bot.pipeline.pieces import Pieces
from tests.bot.pipeline.test_changed_messages import CHANGED, by_somebody_else
from tests.bot.store.turns import leased

# While the answer waits


@pytest.mark.parametrize("takes_back", [True, False], ids=["deletes", "deletes nothing"])
@CHANGED
async def test_the_rest_of_an_answer_is_not_sent(
    store: Store, change: InboundEvent, takes_back: bool
) -> None:
    """The question is answered anew with the results of its calls, or not at all; what was sent is
    deleted where that is possible."""
    box = Pieces(takes_back=takes_back)
    harness = Harness(store, [calling(), Step("one two three"), Step("anew")], box)
    box.meanwhile["two"] = partial(harness.arrive, change)
    await harness.receive("Wether?", "m1", "token-1")
    await harness.runner.process(HERE)
    is_edited = change.event == "edited"
    sent = [] if takes_back else ["one", "two"]
    assert box.words == [*sent, *(["anew"] if is_edited else [])]
    assert await harness.past() == (["Weather?", "", "", "anew"] if is_edited else [])
    if is_edited:
        assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
        assert box.delivered[-1].address == "token-1"
    assert await store.leases.due(10) == []


@pytest.mark.parametrize("takes_back", [True, False], ids=["deletes", "deletes nothing"])
async def test_an_older_answer_is_given_anew_after_an_edit(store: Store, takes_back: bool) -> None:
    """Its turn goes on from the history, with the picture that was quoted and without another call;
    the other answer stays, and a summary goes that covers the turn."""
    box = Pieces(takes_back=takes_back, busy=1)
    harness = Harness(store, [calling(), Step("one"), Step("two"), Step("anew")], box)
    quote = Quote("p1", "[Picture 1 below]")
    parts = (Media("p1", "image/png"), Text("Wether?"))
    question = replace(words("m1", "Wether?"), parts=parts, quotes=(quote,))
    await harness.take(InboundEvent(question, "token-1"))
    await harness.receive("hi", "m2")
    await harness.runner.process(HERE)
    first, _ = await store.history.read(HERE, 2)
    lease = await leased(store, HERE)
    summary = encode(Summary(read_record(first).turn_id, 1, "m", "The old words"))
    await store.history.summarise(lease, summary)
    await store.leases.release(lease)
    await harness.take(edited("e1", "m1", "Weather?"))
    assert box.words == ["two", "anew"]
    assert await harness.past() == ["hi", "two", "Weather?", "", "", "anew"]
    assert asked(harness)[2:] == [("user", "Weather?"), ("model", ""), ("tool", "")]
    [again] = [one for one in harness.model.requests[-1].messages if one.id == "m1"]
    assert (again.quotes, [media.ref for media in again.quoted_pictures]) == ((quote,), ["p1"])
    assert box.delivered[-1].address == "token-1"
    assert (await store.history.recall(HERE, 9)).summary == b""
    assert await store.leases.due(10) == []


async def test_an_answer_that_waits_loses_its_messages_one_by_one(store: Store) -> None:
    """What is left is answered anew, without the words that are gone; with the last message the
    answer goes."""
    harness = Harness(store, [Step("both"), Step("anew")], box := Pieces(busy=2))
    await harness.receive("Oops", "m1")
    await harness.receive("Weather?", "m2")
    await harness.runner.process(HERE)
    await harness.take(unsent("e1", "m1"))
    assert (asked(harness), box.words) == ([("user", "Weather?")], [])
    assert len(await store.outbox.read(HERE)) == 1
    await harness.take(unsent("e2", "m2"))
    assert (box.words, await harness.past(), await store.outbox.read(HERE)) == ([], [], [])
    assert (len(harness.model.requests), await store.leases.due(10)) == (2, [])


@CHANGED
async def test_a_change_meets_another_turn_than_that_of_the_answer(
    store: Store, change: InboundEvent
) -> None:
    """An edit waits for that turn's end; a message taken back is in no request from then on."""
    step = calling(held=True)
    steps = Step("old"), step, Step("other"), Step("anew")
    harness = Harness(store, steps, box := Pieces(busy=1))
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await harness.arrive(by_somebody_else("m2", "Hi"))
    async with held(harness, step):
        await harness.arrive(change)
    assert box.words == ["other", *(["anew"] if change.event == "edited" else [])]
    assert "Wether?" not in await harness.past()
    later = harness.model.requests[2 if change.event == "unsent" else 3 :]
    assert "Wether?" not in str(later)
    assert await store.leases.due(10) == []


async def test_an_edit_counts_though_an_operator_has_put_back_an_older_answer(store: Store) -> None:
    """It is the running turn's: waiting for that turn's end, which waits for the edit, would go on
    for ever."""
    first = Step("one", gate=asyncio.Event())
    harness = Harness(store, [first, Step("anew")], Pieces(busy=1))
    await harness.receive("Wether?", "m1")
    older = Delivery("r1", "turn_0", Reply("zero"), answers=("m1",), may_be_reopened=True)
    async with held(harness, first):
        assert await store.outbox.post(HERE, older.id, encode(older))
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert (asked(harness), len(harness.model.requests)) == ([("user", "Weather?")], 2)
    assert await harness.past() == ["Weather?", "anew"]


async def test_the_last_question_of_a_day_can_be_edited(store: Store) -> None:
    """It has been counted; without an answer anew the first one would be lost."""
    steps = Step("one"), Step("anew"), Step("never asked for")
    limits = {"daily_user_messages": 1}
    harness = Harness(store, steps, box := Pieces(busy=1), settings=limits)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await harness.take(edited("e1", "m1", "Weather?"))
    assert box.words == ["anew"]
    await harness.receive("One more?", "m9")
    await harness.runner.process(HERE)
    assert "limit" in box.words


async def test_what_came_besides_waits_for_the_reopened_turn(store: Store) -> None:
    """Other people's messages keep their order, and get their own answers."""
    steps = Step("one"), Step("anew"), Step("other")
    harness = Harness(store, steps, box := Pieces(busy=1))
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await harness.take(edited("e1", "m1", "Weather?"), by_somebody_else("m2", "Hello"))
    assert box.words == ["anew", "other"]
    assert await harness.past() == ["Weather?", "anew", "Hello", "other"]


async def test_a_choice_that_reads_like_a_command_is_not_asked_again(store: Store) -> None:
    """A pressed choice such as "reset" is no command, and must not become one."""
    harness = Harness(store, [Step("one")], Pieces(busy=2))
    await harness.take(InboundEvent(words("m1", "reset"), action=SAY))
    await harness.take(edited("e1", "m1", "Weather?"))
    assert await harness.past() == ["Weather?", "one"]
    assert len(await store.outbox.read(HERE)) == 1


async def test_a_turn_that_has_said_more_than_the_answer_is_not_reopened(store: Store) -> None:
    """What it has said besides, here a reminder, would be lost."""
    harness = Harness(store, [Step("one")], Pieces(busy=2))
    await harness.arrive(
        InboundEvent(words("r1_1000", "Call home"), action="reminders.due", scheduled="shown")
    )
    await harness.take(InboundEvent(words("m1", "Wether?")))
    before = await store.outbox.read(HERE)
    await harness.take(edited("e1", "m1", "Weather?"))
    assert (await store.outbox.read(HERE), len(harness.model.requests)) == (before, 1)
    assert "Weather?" in await harness.past()


# After the answer


@pytest.mark.parametrize("takes_back", [True, False], ids=["deletes", "deletes nothing"])
@CHANGED
async def test_an_answer_that_was_sent_stays(
    store: Store, change: InboundEvent, takes_back: bool
) -> None:
    """The history has the change, and nothing is asked again; only an answer to what is taken back
    a moment later goes, where it can be deleted."""
    box = Pieces(takes_back=takes_back)
    harness = Harness(store, [Step("one two")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await harness.take(replace(change, address="a thread"))
    is_edited = change.event == "edited"
    assert box.words == ([] if takes_back and not is_edited else ["one", "two"])
    assert await harness.past() == (["Weather?", "one two"] if is_edited else [])
    assert len(harness.model.requests) == 1


async def test_an_answer_that_people_have_read_stays(store: Store) -> None:
    """Ten seconds later a message that is taken back leaves the history only."""
    harness = Harness(store, [Step("one")], box := Pieces(takes_back=True))
    await harness.take(InboundEvent(words("m1", "Oops")))
    [entry] = await store.history.read(HERE, 1)
    record = read_record(entry)
    lease = await leased(store, HERE)
    earlier = encode(replace(record, at=record.at - 10_000))
    await store.history.rewrite(lease, {entry: earlier})
    await store.leases.release(lease)
    change = InboundEvent(replace(words("e1", ""), at=record.at), "a thread", event="unsent")
    await harness.take(replace(change, target="m1"))
    assert (box.words, await harness.past()) == (["one"], [])


async def test_an_answer_goes_with_its_first_message_after_a_reset(store: Store) -> None:
    """Nothing shows any more which of its messages were taken back before."""
    harness = Harness(store, [Step("both")], Pieces(busy=2))
    for number in (1, 2):
        await harness.receive("Oops", f"m{number}")
    await harness.runner.process(HERE)
    await harness.receive("/reset", "m3")
    await harness.runner.process(HERE)
    await harness.take(unsent("e1", "m1"))
    assert "both" not in str(await store.outbox.read(HERE))
