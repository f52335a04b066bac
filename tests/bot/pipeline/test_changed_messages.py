"""Messages that are edited or taken back: the running turn and an answer that waits take it in, in
every other case the history alone."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import Delivery, InboundEvent, Reply
from bot.live_events import SAY, AnswerRestarted, AnswerText
from bot.pipeline.cancellation import CHANGES, Change
from bot.pipeline.history import read_record
from bot.pipeline.prepare import MOST_CHANGES
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from bot.transcript import Media, Quote, Summary, Text, encode
from tests.bot.harness import HERE, WRITTEN_AT, Harness, edited, unsent, words
from tests.bot.pipeline.held_turns import asked, calling, cut_off, hanging, held, under_way
from tests.bot.pipeline.pieces import Pieces
from tests.bot.store.turns import leased

CHANGED = pytest.mark.parametrize(
    "change", [edited("e1", "m1", "Weather?"), unsent("e1", "m1")], ids=["edited", "taken back"]
)


async def proceed(harness: Harness, *events: InboundEvent) -> None:
    """Events come in and are processed."""
    await harness.arrive(*events)
    await harness.runner.process(HERE)


def by_somebody_else(message_id: str, text: str) -> InboundEvent:
    return InboundEvent(words(message_id, text, "u2"), group=True)


# While the turn runs


@CHANGED
async def test_a_change_ends_the_request_to_the_model_at_once(
    store: Store, redis: Redis, change: InboundEvent
) -> None:
    """The model is asked anew with the new words and the results of its calls, or not at all."""
    step = Step("Old.", before=(TextDelta("Old"),), gate=asyncio.Event(), gate_after=1)
    harness = Harness(store, [calling(), step, Step("Sunny.")])
    await harness.receive("Wether?", "m1", "token-1")
    async with under_way(harness, redis, step):
        await harness.arrive(change)
    shown = [event for event in harness.box.seen if isinstance(event, AnswerText | AnswerRestarted)]
    if change.event == "edited":
        assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
        assert await harness.past() == ["Weather?", "", "", "Sunny."]
        assert [sent.address for sent in harness.box.delivered] == ["token-1"]
        assert shown[-2:] == [AnswerRestarted(), AnswerText("Sunny.")]
    else:
        assert (len(harness.model.requests), await harness.past()) == (2, [])
        assert (harness.box.texts, shown[-1:]) == ([], [AnswerRestarted()])
    assert await store.leases.due(10) == []


async def test_a_change_of_another_message_lets_the_request_go_on(
    store: Store, redis: Redis
) -> None:
    """The edit of an earlier turn counts from the next turn on."""
    step = Step("Two", gate=asyncio.Event())
    harness = Harness(store, [Step("One"), step])
    await harness.receive("first", "m1")
    await harness.runner.process(HERE)
    await harness.receive("second", "m2")
    async with under_way(harness, redis, step):
        async with store.live.subscribe(CHANGES) as published:
            await harness.arrive(edited("e1", "m1", "The first"))
            await anext(published)
        assert step.gate is not None
        step.gate.set()
    assert (len(harness.model.requests), harness.box.texts) == (2, ["One", "Two"])
    assert await harness.past() == ["The first", "One", "second", "Two"]


async def test_an_apology_is_not_sent_for_a_message_taken_back(store: Store) -> None:
    """The model's failure concerns nobody any more."""
    step = Step("Too", stop_reason="malformed", gate=asyncio.Event())
    harness = Harness(store, [step])
    await harness.receive("Oops", "m1")
    async with held(harness, step):
        await harness.arrive(unsent("e1", "m1"))
    assert (harness.box.texts, await harness.past()) == ([], [])


async def test_who_edits_for_ever_is_answered(store: Store) -> None:
    """After ten changes the answer is for the words that it saw; what comes later is in the
    history."""
    steps = [Step(f"Answer {number}", gate=asyncio.Event()) for number in range(MOST_CHANGES + 1)]
    harness = Harness(store, steps)
    await harness.receive("v0", "m1")
    processing = asyncio.create_task(harness.runner.process(HERE))
    for number, step in enumerate(steps, 1):
        async with asyncio.timeout(10):
            await step.at_gate.wait()
        await harness.arrive(edited(f"e{number}", "m1", f"v{number}"))
        assert step.gate is not None
        step.gate.set()
    await processing
    assert harness.box.texts == [f"Answer {MOST_CHANGES}"]
    assert asked(harness) == [("user", f"v{MOST_CHANGES}")]
    assert await harness.past() == [f"v{MOST_CHANGES + 1}", f"Answer {MOST_CHANGES}"]


async def test_after_many_edits_a_message_can_still_be_taken_back(
    store: Store, redis: Redis
) -> None:
    """At once, as ever; further edits end no request."""
    harness = Harness(store, [last := hanging()])
    await harness.receive("v0", "m1")
    await harness.arrive(
        *(edited(f"e{number}", "m1", f"v{number}") for number in range(MOST_CHANGES))
    )
    async with under_way(harness, redis, last):
        async with store.live.subscribe(CHANGES) as published:
            await harness.arrive(edited("e10", "m1", "v10"))
            await anext(published)
        assert len(harness.model.requests) == 1
        await harness.arrive(unsent("e11", "m1"))
    assert (len(harness.model.requests), harness.box.texts, await harness.past()) == (1, [], [])


async def test_a_change_before_the_turn_is_tracked_is_not_missed(store: Store) -> None:
    """The turn is too young to look into its inbox otherwise."""
    harness = Harness(store, [])
    await harness.receive("Oops", "m1")
    harness.runner.cancellations.change(Change(HERE, "m1", "e1", is_unsent=True))
    opened = await store.journal.open(HERE, "turn_1", 1)
    assert opened is not None
    await harness.arrive(unsent("e1", "m1"))
    await store.leases.release(opened.lease)
    await harness.runner.process(HERE)
    assert (harness.model.requests, harness.box.texts) == ([], [])


async def test_an_entry_that_cannot_be_read_does_not_hold_the_answer_up(store: Store) -> None:
    """The change behind it cannot join: the next turn deals with both."""
    step = Step("Old.", gate=asyncio.Event())
    harness = Harness(store, [step, Step("Again.")])
    await harness.receive("Wether?", "m1")
    async with held(harness, step):
        await store.inbox.accept(HERE, "broken", b"{")
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert harness.box.texts[0] == "Again."
    assert len(harness.model.requests) == 2


async def test_a_turn_that_goes_on_leaves_a_change_behind_its_message(store: Store) -> None:
    """Both wait in the inbox: the change must not be read first, or nobody would know of it when
    the message is."""
    step = hanging()
    dead, other = Harness(store, [step]), Harness(store, [Step("One."), Step("Never sent.")])
    await dead.receive("One?", "m1")
    await cut_off(dead, step.at_gate)
    await other.receive("Two?", "m2")
    await other.arrive(unsent("e1", "m2"))
    await other.runner.process(HERE)
    assert (len(other.model.requests), other.box.texts) == (1, ["One."])
    assert await other.past() == ["One?", "One."]


async def test_an_edit_that_overtakes_its_message_counts(store: Store) -> None:
    """Also if a turn has read it before the message comes in; of two, the newer one by the
    platform's time."""
    harness = Harness(store, [Step("Sunny.")])
    newer = edited("e2", "m1", "Weather?")
    await harness.arrive(replace(newer, message=replace(newer.message, at=WRITTEN_AT + 2)))
    await proceed(harness, edited("e1", "m1", "Wether!"))
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    assert (asked(harness), harness.box.texts) == ([("user", "Weather?")], ["Sunny."])


async def test_what_is_taken_back_before_it_comes_leaves_no_edit_behind(
    store: Store, redis: Redis
) -> None:
    """Neither is the message answered, nor are its words stored."""
    harness = Harness(store, [])
    await proceed(harness, edited("e1", "m1", "Weather?"), unsent("u1", "m1"))
    assert not await harness.intake(HERE, InboundEvent(words("m1", "Wether?")))
    assert await redis.exists(Keys(HERE).of("early")) == 0


@CHANGED
async def test_a_stop_of_somebody_else_leaves_a_change_with_its_message(
    store: Store, change: InboundEvent
) -> None:
    """The message waits for a turn of its own, and so do its new words, or that there is none."""
    step = hanging()
    harness = Harness(store, [step, Step("Sunny.")])
    await harness.arrive(by_somebody_else("m0", "Hi"))
    async with held(harness, step):
        await harness.arrive(InboundEvent(words("m1", "Wether?"), group=True), change)
        await harness.arrive(by_somebody_else("s1", "/stop"))
        harness.runner.cancellations.stop(HERE)
    answers = ["Sunny."] if change.event == "edited" else []
    past = ["Weather?", "Sunny."] if change.event == "edited" else []
    assert harness.box.texts == ["Stopped.", *answers]
    assert (await harness.past())[3:] == past


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
    await proceed(harness, InboundEvent(question, "token-1"))
    await harness.receive("hi", "m2")
    await harness.runner.process(HERE)
    first, _ = await store.history.read(HERE, 2)
    lease = await leased(store, HERE)
    summary = encode(Summary(read_record(first).turn_id, 1, "m", "The old words"))
    await store.history.summarise(lease, summary)
    await store.leases.release(lease)
    await proceed(harness, edited("e1", "m1", "Weather?"))
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
    await proceed(harness, unsent("e1", "m1"))
    assert (asked(harness), box.words) == ([("user", "Weather?")], [])
    assert len(await store.outbox.read(HERE)) == 1
    await proceed(harness, unsent("e2", "m2"))
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
    await proceed(harness, edited("e1", "m1", "Weather?"))
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
    await proceed(harness, edited("e1", "m1", "Weather?"), by_somebody_else("m2", "Hello"))
    assert box.words == ["anew", "other"]
    assert await harness.past() == ["Weather?", "anew", "Hello", "other"]


async def test_a_choice_that_reads_like_a_command_is_not_asked_again(store: Store) -> None:
    """A pressed choice such as "reset" is no command, and must not become one."""
    harness = Harness(store, [Step("one")], Pieces(busy=2))
    await proceed(harness, InboundEvent(words("m1", "reset"), action=SAY))
    await proceed(harness, edited("e1", "m1", "Weather?"))
    assert await harness.past() == ["Weather?", "one"]
    assert len(await store.outbox.read(HERE)) == 1


async def test_a_turn_that_has_said_more_than_the_answer_is_not_reopened(store: Store) -> None:
    """What it has said besides, here a reminder, would be lost."""
    harness = Harness(store, [Step("one")], Pieces(busy=2))
    await harness.arrive(
        InboundEvent(words("r1_1000", "Call home"), action="reminders.due", scheduled="shown")
    )
    await proceed(harness, InboundEvent(words("m1", "Wether?")))
    before = await store.outbox.read(HERE)
    await proceed(harness, edited("e1", "m1", "Weather?"))
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
    await proceed(harness, replace(change, address="a thread"))
    is_edited = change.event == "edited"
    assert box.words == ([] if takes_back and not is_edited else ["one", "two"])
    assert await harness.past() == (["Weather?", "one two"] if is_edited else [])
    assert len(harness.model.requests) == 1


async def test_an_answer_that_people_have_read_stays(store: Store) -> None:
    """Ten seconds later a message that is taken back leaves the history only."""
    harness = Harness(store, [Step("one")], box := Pieces(takes_back=True))
    await proceed(harness, InboundEvent(words("m1", "Oops")))
    [entry] = await store.history.read(HERE, 1)
    record = read_record(entry)
    lease = await leased(store, HERE)
    earlier = encode(replace(record, at=record.at - 10_000))
    await store.history.rewrite(lease, {entry: earlier})
    await store.leases.release(lease)
    change = InboundEvent(replace(words("e1", ""), at=record.at), "a thread", event="unsent")
    await proceed(harness, replace(change, target="m1"))
    assert (box.words, await harness.past()) == (["one"], [])


async def test_an_answer_goes_with_its_first_message_after_a_reset(store: Store) -> None:
    """Nothing shows any more which of its messages were taken back before."""
    harness = Harness(store, [Step("both")], Pieces(busy=2))
    for number in (1, 2):
        await harness.receive("Oops", f"m{number}")
    await harness.runner.process(HERE)
    await harness.receive("/reset", "m3")
    await harness.runner.process(HERE)
    await proceed(harness, unsent("e1", "m1"))
    assert "both" not in str(await store.outbox.read(HERE))
