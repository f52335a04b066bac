"""Words of a turn that takes in a change: of what was said before nothing is kept, and the new
answer's are if it was begun afterwards."""

from __future__ import annotations

from types import MethodType
from typing import cast

import pytest

from bot import log as logging
from bot.channels import InboundEvent
from bot.features.traces.reading import TurnWords, find_turn, find_turns, read_words
from bot.features.traces.recorder import Recorder
from bot.features.traces.share import OpenShare
from bot.features.traces.store import Traces
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import shard_of
from bot.telemetry.observed import (
    EventTaken,
    ObservedStep,
    RequestSent,
    ResponseRead,
    ShareBegun,
    ShareEnded,
)
from bot.transcript import Usage
from tests.bot.features.traces.test_traces import WORDS, sent
from tests.bot.harness import HERE, Harness, unsent, words
from tests.waiting import until

OLD, NEW = "the secret word", "other words"
TAKEN = EventTaken(words("m1", OLD), "message", "superseded")
CHANGE = EventTaken(words("e1", ""), "unsent", "changes")
EDIT = EventTaken(words("e2", ""), "edited", "changes")
SAID = EventTaken(words("m2", NEW), "message", "answered")
ASKED = RequestSent("gemini", (b'["', b"file", b'", "other words"]'))


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store, 7)


async def kept_of(traces: Traces, turn_id: str) -> TurnWords:
    turn = await find_turn(traces, turn_id)
    assert turn is not None
    return await read_words(traces, turn)


async def test_the_answer_to_an_edited_message_keeps_its_words(
    store: Store, traces: Traces
) -> None:
    """Its requests, and the conversation's id; what was edited stands in no key any more."""
    harness = Harness(store, [Step("First."), Step("Second.")], settings=WORDS)
    await harness.say(OLD, "m1")
    await sent(harness)
    await harness.take(unsent("e1", "m1"), InboundEvent(words("m2", NEW)))
    await sent(harness)
    turn, first = await find_turns(traces)
    kept = await read_words(traces, turn)
    assert (turn.has_words, kept.conversation) == (True, HERE)
    texts = [one.text for one in kept.by_fact.values()]
    assert texts == ["", NEW, "", "", "Second."]
    body = kept.body(kept.by_fact[turn.first.share, 2].pieces)
    assert body is not None
    assert NEW.encode() in body
    assert OLD.encode() not in body
    assert (await read_words(traces, first)).by_fact == {}


@pytest.mark.parametrize(
    ("steps", "numbers"),
    [
        ((ShareBegun(is_resumed=False), TAKEN, CHANGE, SAID, ASKED), {1, 2, 3}),
        ((TAKEN, CHANGE, EDIT, SAID, ShareEnded("")), {2, 3}),
        ((TAKEN, ASKED, CHANGE, SAID, ASKED), set()),
        ((ShareBegun(is_resumed=True), TAKEN, CHANGE, SAID, ASKED), set()),
        ((TAKEN, CHANGE, ASKED, EDIT, SAID), set()),
    ],
    ids=["before", "twice", "meanwhile", "resumed", "before and meanwhile"],
)
async def test_what_a_turn_may_have_of_a_changed_message_is_not_kept(
    store: Store, traces: Traces, steps: tuple[ObservedStep, ...], numbers: set[int]
) -> None:
    """Once a model has been asked, anything may hold it; what came before the change does."""
    harness = Harness(store, [], settings=WORDS)
    for step in steps:
        harness.runner.services.features.observe(HERE, "turn_1", step)
    await sent(harness)
    kept = await kept_of(traces, "turn_1")
    assert {number for _, number in kept.by_fact} == numbers
    assert not any(OLD in one.text for one in kept.by_fact.values())
    turn = await find_turn(traces, "turn_1")
    assert turn is not None
    assert turn.has_words is bool(numbers)


async def test_words_that_were_sent_before_a_change_are_not_sent_again(
    store: Store, traces: Traces
) -> None:
    """Not even if the store has not answered; while they are deleted nothing else is sent."""
    recorder = Recorder(traces, lambda: 24, lambda conversation: conversation, "1.0")
    recorder.key = b"key"
    observe = recorder.observer(HERE, "turn_1")
    share = cast(MethodType, observe).__self__
    assert isinstance(share, OpenShare)
    share.observe(TAKEN)
    records, words_at = bytes(share.records), share.words_at
    share.observe(CHANGE)
    share.take_back(records, words_at)
    assert records not in bytes(share.records)
    share.observe(SAID)
    share.observe(ASKED)
    recorder.flush()
    assert share.records
    await until(lambda: share.words_at > words_at)
    recorder.flush()
    await store.scripts.ask("PING")
    stored = await traces.words(shard_of(HERE), "turn_1")
    assert stored
    assert records not in stored
    await recorder.aclose()


async def test_words_of_a_turn_that_keeps_none_are_not_sent_again(
    store: Store, traces: Traces
) -> None:
    """They are older than the change, whenever the store is back."""
    recorder = Recorder(traces, lambda: 24, lambda conversation: conversation, "1.0")
    recorder.key = b"key"
    share = cast(MethodType, recorder.observer(HERE, "turn_1")).__self__
    assert isinstance(share, OpenShare)
    share.observe(TAKEN)
    share.observe(ASKED)
    records = bytes(share.records)
    share.observe(CHANGE)
    share.take_back(records, share.words_at)
    share.observe(SAID)
    await recorder.aclose()
    await store.scripts.ask("PING")
    assert await traces.words(shard_of(HERE), "turn_1") == b""


@pytest.mark.parametrize("events", [(b'"s3cret-', b'of-mine"'), (b'"s3cret-of-mine"', b"{}")])
@pytest.mark.usefixtures("restored_logging")
async def test_a_secret_that_a_model_writes_in_two_events_is_not_kept(
    store: Store, traces: Traces, events: tuple[bytes, ...]
) -> None:
    """The message is kept as it was read from them."""
    logging.hide(["s3cret-of-mine"])
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    answer = words("m2", "It is s3cret-of-mine, and more.")
    observe(HERE, "turn_1", SAID)
    observe(HERE, "turn_1", ResponseRead("gemini", events, answer, "end_turn", Usage(1)))
    await sent(harness)
    kept = await kept_of(traces, "turn_1")
    (body,) = [kept.body(one.pieces) for one in kept.by_fact.values() if one.pieces]
    assert body is not None
    assert b"It is [secret], and more." in body
    assert b"s3cret" not in body
