"""What is kept of a turn, and what deletes it."""

from __future__ import annotations

import pytest
from msgspec import json
from msgspec.structs import replace
from redis.asyncio import Redis

from bot import log as logging
from bot.channels import InboundEvent
from bot.errors import TryAgain
from bot.features.traces.reading import (
    TracedTurn,
    Wanted,
    find_last,
    find_turn,
    find_turns,
    read_words,
)
from bot.features.traces.records import Act, Fact, Kind, Share, encode
from bot.features.traces.shown import state_of
from bot.features.traces.store import HOUR_MS, Change, Traces, day_of, keyed
from bot.pipeline.feature import Feature
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import shard_of
from bot.telemetry.observed import DeliveryBegun, EventTaken, Measured, RequestSent
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness, edited, unsent, words
from tests.fakes.tools import Launch, tool_map
from tests.retrying import Retrying

CALL = ToolCall("c1", "launch", {"what": "kite"})
WORDS = {"trace_words_hours": 24}


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store, 7)


async def sent(harness: Harness) -> None:
    """Have what is still to be sent reach the store."""
    await harness.runner.services.features.aclose()
    await harness.store.scripts.ask("PING")


async def only_turn(traces: Traces) -> TracedTurn:
    (turn,) = await find_turns(traces)
    return turn


async def test_a_turn_is_kept_step_by_step(store: Store, traces: Traces) -> None:
    """A failure of the model, an allowed call, and the answer, with words."""
    busy = Step("One moment", error=TryAgain("rate_limited", "too many requests", after=0.0))
    steps = [busy, Step(calls=(CALL,)), Step("It flies.")]
    harness = Harness(store, steps, tools=tool_map(Launch()), settings=WORDS, kind=Retrying)
    await harness.say("Launch the kite", "m1")
    await harness.say("yes", "m2")
    await sent(harness)
    turn = await only_turn(traces)
    assert [fact.kind for _, _, fact in turn.facts] == [
        "event",
        "request",
        "failure",
        "request",
        "response",
        "delivery",
        "delivery",
        "decision",
        "call",
        "event",
        "request",
        "response",
        "delivery",
    ]
    kept = await read_words(traces, turn)
    assert not kept.damaged
    texts = [kept.by_fact[share.share, number].text for share, number, _ in turn.facts]
    assert texts[0] == "Launch the kite"
    assert texts[2] == "too many requests"
    assert texts[-1] == "It flies."
    assert kept.conversation == HERE
    (call,) = [one for one in kept.by_fact.values() if one.arguments]
    assert json.decode(call.arguments) == {"what": "kite"}
    assert json.decode(call.result) == {"heard": {"what": "kite"}}
    request = kept.by_fact[turn.first.share, 1]
    body = kept.body(request.pieces)
    assert body is not None
    assert json.decode(body)[0].startswith("SYSTEM")
    assert (turn.outcome, turn.tools, turn.failures) == ("answered", ["launch"], [])


async def test_facts_hold_nobodys_words_nor_ids(store: Store, traces: Traces) -> None:
    """Where words are not kept, nothing that was said is in any key of the traces."""
    harness = Harness(store, [Step(calls=(CALL,)), Step("It flies.")], tools=tool_map(Launch()))
    await harness.say("Launch the kite", "m1")
    await sent(harness)
    turn = await only_turn(traces)
    key = await traces.read_key()
    assert turn.first.conversation == keyed(key, HERE)
    assert turn.first.person == keyed(key, "mailbox:u1")
    assert not turn.has_words
    shown = json.encode(turn.shares)
    for word in (b"kite", b"flies", HERE.encode(), b'"u1"'):
        assert word not in shown
    assert await traces.words(turn.first.shard, turn.id) == b""


async def test_a_call_that_acts_is_in_the_record_of_acts(store: Store, traces: Traces) -> None:
    """Without its arguments."""
    harness = Harness(store, [Step(calls=(CALL,)), Step("It flies.")], tools=tool_map(Launch()))
    await harness.say("Launch the kite", "m1")
    await harness.say("yes", "m2")
    await sent(harness)
    turn, key = await only_turn(traces), await traces.read_key()
    (act,) = await traces.acts({day_of(turn.at), day_of(store.clock())})
    person = keyed(key, "mailbox:u1")
    arguments = keyed(key, '{"what":"kite"}')
    assert act == Act(act.at, turn.id, person, "launch", arguments, "approved", person, "ok")


@pytest.mark.parametrize("change", [edited("e1", "m1", "other words"), unsent("e1", "m1")])
async def test_a_change_deletes_the_words_of_the_conversation(
    store: Store, traces: Traces, change: InboundEvent
) -> None:
    """Later requests hold the message too."""
    harness = Harness(store, [Step("First."), Step("Second."), Step("Third.")], settings=WORDS)
    await harness.say("the secret word", "m1")
    await harness.say("and another", "m2")
    await sent(harness)
    first, second = [one.id for one in await find_turns(traces)]
    await harness.take(change)
    await sent(harness)
    for turn_id in (first, second):
        turn = await find_turn(traces, turn_id)
        assert turn is not None
        assert (await read_words(traces, turn)).by_fact == {}


@pytest.mark.parametrize("command", ["/reset", "/forget me", "/private on", "記録オフ"])
async def test_commands_delete_words(store: Store, traces: Traces, command: str) -> None:
    """Nothing that was said before is left in any key."""
    harness = Harness(store, [Step("Aha."), Step("Oho.")], settings=WORDS)
    await harness.say("zanzibar", "m1")
    await sent(harness)
    turn = await only_turn(traces)
    assert (await read_words(traces, turn)).by_fact
    await harness.say(command, "m2")
    await sent(harness)
    assert await traces.words(turn.first.shard, turn.id) == b""


async def test_a_private_conversation_keeps_facts_alone(store: Store, traces: Traces) -> None:
    """Until somebody ends that."""
    harness = Harness(store, [Step("One."), Step("Two.")], settings=WORDS)
    await harness.say("/private on", "m1")
    await harness.say("hello", "m2")
    await sent(harness)
    turn = (await find_turns(traces))[0]
    assert await traces.words(turn.first.shard, turn.id) == b""
    await harness.say("/private off", "m3")
    await harness.say("hello again", "m4")
    await sent(harness)
    turn = (await find_turns(traces))[0]
    assert await traces.words(turn.first.shard, turn.id)


async def test_a_group_hears_who_has_done_it(store: Store) -> None:
    """By name where the platform tells it."""
    harness = Harness(store, [], settings=WORDS)
    await harness.take(InboundEvent(words("m1", "/private on"), group=True))
    assert harness.box.texts[0].startswith("Somebody has switched it on")


async def test_words_of_a_turn_that_began_before_a_deletion_are_not_kept(
    store: Store, traces: Traces
) -> None:
    """A process may still be working on it."""
    began_at = store.clock()
    await traces.delete_words(HERE)
    _ = traces.add_words_later(HERE, "turn_1", began_at - 1, b"words", 24)
    _ = traces.add_words_later(HERE, "turn_2", store.clock() + 1, b"words", 24)
    await store.scripts.ask("PING")
    shard = shard_of(HERE)
    assert await traces.words(shard, "turn_1") == b""
    assert await traces.words(shard, "turn_2") == b"words"


async def test_turns_are_found_by_what_they_were(store: Store, traces: Traces) -> None:
    """By tool, failure, conversation and channel."""
    failing = Step(error=TryAgain("rate_limited", "too many requests", after=0.0))
    steps = [Step(calls=(CALL,)), Step("It flies."), *[failing] * 8]
    harness = Harness(store, steps, tools=tool_map(Launch()))
    await harness.say("Launch the kite", "m1")
    await harness.say("yes", "m2")
    await harness.say("And again", "m3")
    await sent(harness)
    failed, flown = await find_turns(traces)
    assert [one.id for one in await find_turns(traces, Wanted(tool="launch"))] == [flown.id]
    assert [one.id for one in await find_turns(traces, Wanted(failed=True))] == [failed.id]
    assert await find_turns(traces, Wanted(channel="line")) == []
    key = await traces.read_key()
    assert len(await find_turns(traces, Wanted(conversation=keyed(key, HERE)))) == 2


async def test_nothing_is_kept_where_it_is_off(store: Store) -> None:
    """With TRACE_DAYS=0 no feature observes."""
    harness = Harness(store, [Step("Hi.")], settings={"trace_days": 0})
    await harness.say("hello", "m1")
    assert harness.runner.services.features.hooks(Feature.observer) == []
    assert await Traces(store, 7).hours() == {}


def part(at: int, *kinds: Kind, share: str = "a", resumed: bool = False) -> Share:
    """What a process has kept of a turn; its steps are a second apart."""
    facts = [Fact(kind, number * 1000) for number, kind in enumerate(kinds, 1)]
    return Share("turn_1", share, at, "line", 0, "c", "p", "u", facts, resumed=resumed)


async def note(store: Store, *shares: Share) -> None:
    """Keep them."""
    traces = Traces(store, 7)
    for share in shares:
        stored = encode(share)
        _ = traces.note_later([Change(share, stored, 0)])
    await store.scripts.ask("PING")


async def test_a_turn_of_two_hours_is_one(store: Store, traces: Traces) -> None:
    """Another process went on with it, and it was rated, when the next hour had begun."""
    hour = store.clock() // HOUR_MS * HOUR_MS
    first = part(hour - 500, "event", "request")
    second = replace(
        part(hour + 500, "event", "response", share="b", resumed=True), outcome="answered", ms=2_000
    )
    await note(store, first, second, part(hour + 60_000, "rating", share="c"))
    (turn,) = await find_turns(traces)
    assert [share.share for share in turn.shares] == ["a", "b", "c"]
    assert (turn.outcome, turn.ms) == ("answered", 3_000)
    found = await find_turn(traces, "turn_1")
    assert found is not None
    assert found.shares == turn.shares


async def test_what_has_no_beginning_is_found_too(store: Store, traces: Traces) -> None:
    """A notice is no turn; of ratings alone there is nothing to look at."""
    await note(store, part(store.clock(), "rating"))
    assert await find_turns(traces) == []
    await note(store, part(store.clock(), "delivery"))
    (notice,) = await find_turns(traces)
    assert not notice.is_under_way(store.clock())
    assert await find_last(traces) is None


async def test_a_turn_that_waits_for_somebody_is_under_way_for_longer(
    store: Store, traces: Traces
) -> None:
    """Until the process that goes on with it has left it too."""
    began, hour = store.clock() - HOUR_MS, HOUR_MS
    waiting = replace(part(began, "event", "request", "response"), left="TurnParked")
    await note(store, waiting)
    (turn,) = await find_turns(traces)
    assert [state_of(turn, began + at) for at in (hour, 25 * hour)] == ["waits", "lost"]
    await note(store, part(began + 1_000, "decision", share="b", resumed=True))
    (turn,) = await find_turns(traces)
    assert [state_of(turn, began + at) for at in (5_000, hour)] == ["under_way", "lost"]


async def test_what_the_vendor_keeps_of_requests_is_kept_once(
    store: Store, traces: Traces, redis: Redis
) -> None:
    """For all requests that name it, without secrets."""
    logging.hide(["s3cret-of-mine"])
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    prefix = b'{"systemInstruction":"Be kind, s3cret-of-mine."}'
    for turn_id in ("turn_1", "turn_2"):
        observe(HERE, turn_id, EventTaken(words("m1", "hello"), "message", "answered"))
        body = b'{"contents":[],"cachedContent":"cachedContents/1"}'
        observe(HERE, turn_id, RequestSent("gemini", (body,), prefix))
    await sent(harness)
    for turn in await find_turns(traces):
        kept = await read_words(traces, turn)
        (request,) = [one for one in kept.by_fact.values() if one.pieces]
        assert kept.cached(request) == prefix.replace(b"s3cret-of-mine", b"[secret]")
    assert len([key async for key in redis.scan_iter(match="*:prompts:*")]) == 1


async def test_what_is_sent_without_a_turn_leaves_no_words(store: Store, traces: Traces) -> None:
    """It may be older than a deletion, or stand in a side conversation that no command reaches."""
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    observe("mailbox:late:u1", "press_1", DeliveryBegun("d1", "a late answer"))
    observe("mailbox:late:u1", "press_1", Measured("delivery", "delivered", "mailbox", 1, {}, {}))
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert await traces.words(turn.first.shard, turn.id) == b""


async def test_forget_me_reaches_words_kept_before_traces_were_switched_off(
    store: Store, traces: Traces
) -> None:
    """Whoever asks for it does not know what the operator has set."""
    harness = Harness(store, [Step("Aha.")], settings=WORDS)
    await harness.say("zanzibar", "m1")
    await sent(harness)
    turn = await only_turn(traces)
    off = Harness(store, [], settings={"trace_days": 0})
    await off.say("/forget me", "m2")
    assert await traces.words(turn.first.shard, turn.id) == b""


async def test_forget_me_reaches_a_group_where_one_was_only_heard(
    store: Store, traces: Traces
) -> None:
    """The words are indexed under their author."""
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    observe("mailbox:group-1", "turn_9", EventTaken(words("m1", "zanzibar"), "message", "left_out"))
    await sent(harness)
    turn = await only_turn(traces)
    assert await traces.words(turn.first.shard, turn.id)
    await harness.say("/forget me", "m2")
    assert await traces.words(turn.first.shard, turn.id) == b""


@pytest.mark.parametrize(("hours", "said"), [(36, "36 hours"), (0, "")])
async def test_people_are_told_for_how_long_words_are_kept(
    store: Store, hours: int, said: str
) -> None:
    """By /help, by what greets, and on the page about a person; in their language."""
    harness = Harness(store, [], settings={"trace_words_hours": hours})
    await harness.say("/help", "m1")
    greeting = InboundEvent(words("m2", ""), event="canned", target="line.greeting")
    await harness.take(greeting)
    await harness.process()
    features = harness.runner.services.features
    sections = await features.overview(HERE, InboundEvent(words("m3", "hello")))
    kept = [section.empty for section in sections]
    told = [text for text in [*harness.box.texts, *kept] if "is kept for" in text]
    assert len(told) == (3 if said else 0)
    assert all(said in text for text in told)
