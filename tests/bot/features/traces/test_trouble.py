"""Traces of what goes wrong: stores that do not answer, models with other names, calls that are
stopped, and what comes late."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import UTC
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis
from structlog.testing import capture_logs

from bot.clock import now_ms
from bot.errors import StoreUnavailable
from bot.features.traces.as_text import BROKEN_OFF, ENDED_HERE, waterfall
from bot.features.traces.feature import BOUND_S
from bot.features.traces.reading import (
    TracedTurn,
    TurnWords,
    find_turns,
    is_lost,
    read_first_words,
    read_words,
)
from bot.features.traces.records import Act, Fact, Share, Words, encode, pack_words
from bot.features.traces.store import (
    HOUR_MS,
    TURN_BYTES,
    Change,
    Traces,
    day_of,
    hour_of,
    keyed,
)
from bot.interrupts import Interrupt
from bot.providers.scripted import Step
from bot.store import Store, open_store
from bot.store.keys import person_of, shard_of
from bot.telemetry.observed import (
    CallEnded,
    CommitBegun,
    EventTaken,
    Rated,
    RequestSent,
    ResponseRead,
    ShareEnded,
    ShareFailed,
)
from bot.transcript import ToolCall, ToolResult, Usage
from tests.bot.harness import HERE, Harness, words
from tests.fakes.tools import Launch, tool_map
from tests.fixtures_store import redis_server
from tests.process.redis_server import RedisServer
from tests.waiting import until, until_true
from toolset.tool import ToolContext

CALL = ToolCall("c1", "launch", {"what": "kite"})
WORDS = {"trace_words_hours": 24}
MADE = CallEnded(CALL, CALL, "high", ToolResult("c1", "launch", {"flies": True}), 7)


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store, 7)


async def sent(harness: Harness) -> None:
    """Have what is still to be sent reach the store."""
    await harness.runner.services.features.aclose()
    await harness.store.scripts.ask("PING")


def share(at: int, *facts: Fact, outcome: str = "answered", kept_words: int = 0) -> Share:
    """What a process has kept of a turn."""
    return Share(
        f"turn_{at}", "a", at, "line", 0, "c", "p", "u", [*facts], outcome, words=kept_words
    )


async def test_a_response_answers_the_request_whatever_its_model_is_called(
    store: Store, traces: Traces
) -> None:
    """An alias is answered by the model that it stands for."""
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    message = words("m1", "hello")
    observe(HERE, "turn_1", EventTaken(message, "message", "answered"))
    observe(HERE, "turn_1", RequestSent("flash-latest", (b"{}",)))
    read = ResponseRead("flash-3.5", (b"{}",), message, "end_turn", Usage(1), "", "flash-latest")
    observe(HERE, "turn_1", read)
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert [fact.name for fact in turn.first.facts[1:]] == ["flash-latest", "flash-3.5"]
    assert not is_lost(turn.first.facts, 1)


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_call_that_is_stopped_is_an_act(
    store: Store, traces: Traces, monkeypatch: pytest.MonkeyPatch, *, idempotent: bool
) -> None:
    """It may have acted by then."""

    begun = asyncio.Event()

    class Slow(Launch):
        async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
            begun.set()
            await asyncio.Event().wait()
            return {}

    monkeypatch.setattr(Slow, "idempotent", idempotent, raising=False)
    settings = {"approval_mode": "auto_approve"}
    harness = Harness(store, [Step(calls=(CALL,))], tools=tool_map(Slow()), settings=settings)
    turn = asyncio.create_task(harness.say("Launch it", "m1"))
    await begun.wait()
    await harness.receive("/stop", "m2")
    harness.runner.interrupts.interrupt(Interrupt(HERE, "m2"))
    await turn
    await sent(harness)
    (act,) = await traces.acts([day_of(store.clock())])
    assert (act.what, act.outcome) == ("launch", "error")
    (traced, *_) = await find_turns(traces)
    assert traced.tools == ["launch"]


async def test_a_call_that_was_not_made_is_no_act(store: Store, traces: Traces) -> None:
    """Who stops it in place of a decision."""
    harness = Harness(store, [Step(calls=(CALL,))], tools=tool_map(Launch()))
    await harness.say("Launch it", "m1")
    await harness.say("/stop", "m2")
    await sent(harness)
    assert await traces.acts([day_of(store.clock())]) == []


async def test_what_a_store_has_not_answered_is_sent_again() -> None:
    """Words, facts and acts, until the store is back."""
    with redis_server() as url:
        async with open_store(url, history_days=1) as store:
            process = int((await store.scripts.client.info("server"))["process_id"])
            traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
            observe = harness.runner.services.features.observe
            observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
            await until_true(lambda: kept(traces, "event"), 10)
            os.kill(process, signal.SIGSTOP)
            try:
                observe(HERE, "turn_1", RequestSent("gemini", (b'{"contents":"kite"}',)))
                observe(HERE, "turn_1", MADE)
                with pytest.raises(StoreUnavailable):
                    await store.scripts.ask("PING")
            finally:
                os.kill(process, signal.SIGCONT)
            await until_true(lambda: kept(traces, "event", "request", "call"), 20)
            assert len(await traces.acts([day_of(store.clock())])) == 1
            await harness.runner.services.features.aclose()


async def kept(traces: Traces, *kinds: str) -> bool:
    """Whether the only turn has these facts, with the words of each."""
    found = await find_turns(traces)
    facts = [fact.kind for turn in found for _, _, fact in turn.facts]
    held = [await read_words(traces, turn) for turn in found]
    return facts == [*kinds] and sum(len(one.by_fact) for one in held) == len(kinds)


def test_an_answered_turn_has_not_failed() -> None:
    """Whatever a model was asked beside it, as for a summary."""
    facts = (Fact("event", 1), Fact("failure", 2, "gemini", "model_down"))
    assert TracedTurn("turn_1", [share(1, *facts)]).failures == []
    assert TracedTurn("turn_1", [share(1, *facts, outcome="failed")]).failures == ["model_down"]


def test_what_was_delivered_tells_the_end_of_a_turn_whose_process_was_killed() -> None:
    """Right after its commit; another process delivers."""
    taken, failed = Fact("event", 1), Fact("failure", 2, "gemini", "model_down")

    def outcome(*facts: Fact, delivered: str) -> str:
        delivery = share(9, Fact("delivery", 1, "line", "delivered", id=delivered), outcome="")
        return TracedTurn("turn_1", [share(1, *facts, outcome=""), delivery]).outcome

    assert outcome(taken, delivered="turn_1_1") == "answered"
    assert outcome(taken, failed, delivered="turn_1_1") == "failed"
    assert outcome(taken, delivered="question_1") == ""


async def test_what_is_deleted_is_counted_once(store: Store, traces: Traces) -> None:
    """Facts and words are counted apart, as words may be gone before."""
    hour = store.clock() // HOUR_MS * HOUR_MS - 3 * HOUR_MS
    shares = [share(hour + number, Fact("event", 0), kept_words=100_000) for number in range(10)]
    for one in shares:
        stored = encode(one)
        _ = traces.note_later([Change(one, stored, 100_000)])
    await store.scripts.ask("PING")
    await traces.trim_hour(hour_of(hour), 500_000)
    left = await find_turns(traces)
    assert len(left) == 5
    facts = sum(len(encode(turn.first)) for turn in left)
    assert await traces.hours(24) == {hour_of(hour): facts + 500_000}
    assert await traces.hours(1) == {hour_of(hour): facts}


async def test_a_late_rating_does_not_bring_old_facts_back(
    store: Store, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept by itself; what was deleted meanwhile stays deleted."""
    harness = Harness(store, [Step("Hi.")])
    await harness.say("hello", "m1")
    await sent(harness)
    (turn,) = await find_turns(traces)
    await traces.delete_hour(hour_of(turn.at))
    monkeypatch.setattr("bot.features.traces.recorder.OPEN_MS", -1)
    harness.runner.services.features.observe(HERE, turn.id, Rated(is_good=True, by="u1"))
    await sent(harness)
    (left,) = [one async for some in traces.shares(hour_of(store.clock())) for one in some]
    assert [fact.kind for fact in left.facts] == ["rating"]


async def test_a_turn_that_goes_on_after_a_long_wait_is_under_way(store: Store) -> None:
    """For ten minutes from its last step on."""
    at = store.clock() - HOUR_MS
    facts = (Fact("event", 1), Fact("decision", HOUR_MS - 60_000), Fact("request", HOUR_MS - 1_000))
    turn = TracedTurn("turn_1", [replace(share(at, *facts), outcome="")])
    assert turn.is_under_way(store.clock())
    assert not turn.is_under_way(store.clock() + HOUR_MS)


def test_what_is_no_text_has_a_digest_too() -> None:
    """As an argument of the terminal may be."""
    assert keyed(b"key", "line:\udcff") == keyed(b"key", "line:?")


@pytest.mark.parametrize(("ends", "said"), [(True, BROKEN_OFF), (False, ENDED_HERE)])
async def test_a_request_that_was_broken_off_is_not_that_of_a_dead_process(
    store: Store, traces: Traces, *, ends: bool, said: str
) -> None:
    """The terminal says which of them it is."""
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    observe(HERE, "turn_1", RequestSent("gemini", (b"{}",)))
    if ends:
        observe(HERE, "turn_1", CommitBegun("answered"))
    await sent(harness)
    (turn,) = await find_turns(traces)
    lines = waterfall(turn, await read_words(traces, turn), UTC, store.clock() + HOUR_MS)
    assert [line.strip() for line in lines if "sent; " in line] == [said]


async def test_an_older_state_that_comes_late_changes_nothing(store: Store, traces: Traces) -> None:
    """Requests of several connections may overtake each other."""
    at = store.clock()
    for one in (share(at, Fact("event", 0), Fact("request", 1)), share(at, Fact("event", 0))):
        await traces.note_later([Change(one, encode(one), 0)])
    (turn,) = await find_turns(traces)
    assert [fact.kind for fact in turn.first.facts] == ["event", "request"]


async def test_the_first_message_is_found_wherever_its_words_stand(
    store: Store, traces: Traces
) -> None:
    """Words of a later step may have come first."""
    at = store.clock()
    one = share(at, Fact("event", 0), Fact("response", 1), kept_words=1)
    await traces.note_later([Change(one, encode(one), 0)])
    for words_of in (Words("a", 1, "hi"), Words("a", 0, "hello", conversation=HERE)):
        await traces.add_words_later("line:1", one.turn, at, pack_words(words_of), 24)
    (turn,) = await find_turns(traces)
    turn = TracedTurn(turn.id, [replace(turn.first, shard=shard_of("line:1"))])
    (first,) = (await read_first_words(traces, [turn])).values()
    assert (first.text, first.conversation) == ("hello", HERE)


@pytest.mark.parametrize(
    ("kinds", "lost"),
    [
        (["request", "request", "response", "response"], [False, False]),
        (["request", "request", "response"], [True, False]),
        (["request", "request", "response", "request", "response"], [True, False, False]),
    ],
)
def test_requests_to_one_model_at_once_are_answered(kinds: list[Any], lost: list[bool]) -> None:
    """As those of tools that ask a model side by side."""
    facts = [Fact(kind, at, "gemini") for at, kind in enumerate(kinds)]
    asked = [number for number, fact in enumerate(facts) if fact.kind == "request"]
    assert [is_lost(facts, number) for number in asked] == lost


async def test_what_was_written_in_private_is_not_kept_afterwards(
    store: Store, traces: Traces
) -> None:
    """Words that reach the store when somebody has ended it."""
    await traces.set_private(HERE, private=True)
    written_at = store.clock() + 1
    await until(lambda: store.clock() > written_at, 5)
    await traces.set_private(HERE, private=False)
    await traces.add_words_later(HERE, "turn_1", written_at, b"words", 24)
    assert await traces.words(shard_of(HERE), "turn_1") == b""


async def test_two_looks_at_once_are_two_acts(store: Store, traces: Traces) -> None:
    """In the same millisecond."""
    look = Act(store.clock(), "turn_1", "page", "words")
    await traces.keep_acts([look])
    await traces.keep_acts([look])
    assert await traces.acts([day_of(look.at)]) == [look, look]


async def test_many_steps_at_once_are_all_kept(store: Store, traces: Traces) -> None:
    """Of many turns, each under way more than once."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_0", EventTaken(words("m0", "hello"), "message", "answered"))
    await sent(harness)
    for number in range(1, 1_200):
        message = words(f"m{number}", "hello")
        observe(HERE, f"turn_{number % 100}", EventTaken(message, "message", "answered"))
    await sent(harness)
    turns = await find_turns(traces)
    assert sum(len(turn.facts) for turn in turns) == 1_200


async def test_words_that_are_refused_do_not_count(store: Store, traces: Traces) -> None:
    """Else private conversations would drive out what is kept of others."""
    harness = Harness(store, [Step("Aha.")], settings=WORDS)
    await traces.set_private(HERE, private=True)
    await harness.say("zanzibar", "m1")
    await sent(harness)
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert not turn.has_words
    assert await traces.hours(24) == {hour_of(turn.at): len(encode(turn.first))}
    await traces.trim_hour(hour_of(turn.at), 1)
    assert await traces.hours(24) == {hour_of(turn.at): 0}


async def test_what_a_full_store_refuses_does_not_count() -> None:
    """It is kept, and counted, with the next step."""
    with redis_server() as url:
        async with open_store(url, history_days=1) as store:
            traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
            observe = harness.runner.services.features.observe
            await store.scripts.client.config_set("maxmemory", 1)
            observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
            await sent(harness)
            assert await find_turns(traces) == []
            await store.scripts.client.config_set("maxmemory", 0)
            observe(HERE, "turn_1", RequestSent("gemini", (b"{}",)))
            await sent(harness)
            await sent(harness)
            (turn,) = await find_turns(traces)
            held = await traces.words(turn.first.shard, turn.id)
            count = len(encode(turn.first)) + len(held)
            assert await traces.hours(24) == {hour_of(turn.at): count}


async def test_words_that_are_too_many_take_no_others_with_them(
    store: Store, traces: Traces
) -> None:
    """Such as a result that is longer than all words of a turn may be."""
    harness = Harness(store, [], settings=WORDS)
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    long = ToolResult("c1", "launch", {"text": token_hex(2 * TURN_BYTES)})
    observe(HERE, "turn_1", CallEnded(CALL, CALL, "low", long, 7))
    observe(HERE, "turn_1", RequestSent("gemini", (b"{}",)))
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert {number for _, number in (await read_words(traces, turn)).by_fact} == {0, 2}


async def test_words_of_a_change_are_deleted_once_the_store_does_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it has refused is tried again."""
    monkeypatch.setattr("bot.features.traces.recorder.DELETE_S", 0.1)
    with redis_server() as url:
        async with open_store(url, history_days=1) as store:
            traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
            observe, ask = harness.runner.services.features.observe, store.scripts.ask
            observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
            await until_true(lambda: kept(traces, "event"), 10)
            await ask("ACL SETUSER", "default", "-hset")
            observe(HERE, "turn_1", EventTaken(words("e1", ""), "unsent", "changes"))
            observe(HERE, "turn_1", ShareEnded(""))
            with capture_logs() as logs:
                await until(lambda: bool(logs), 10)
            assert logs[0]["event"] == "traces.not_deleted"
            assert await traces.words(shard_of(HERE), "turn_1")
            await ask("ACL SETUSER", "default", "+hset")

            async def is_gone() -> bool:
                return not await traces.words(shard_of(HERE), "turn_1")

            await until_true(is_gone, 10)


async def test_whose_words_they_are_is_noted_once_the_store_is_back(tmp_path: Path) -> None:
    """Else /forget me would not reach what was only heard in a group."""
    server, group = RedisServer(tmp_path), "mailbox:group-1"
    server.start()
    try:
        async with open_store(server.url, history_days=1) as store:
            traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
            observe = harness.runner.services.features.observe
            observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
            await until_true(lambda: kept(traces, "event"), 10)
            server.kill()
            observe(group, "turn_2", EventTaken(words("m2", "hello"), "message", "left_out"))
            with pytest.raises(StoreUnavailable):
                await store.scripts.ask("PING")
            server.start()

            async def is_kept() -> bool:
                return bool(await traces.words(shard_of(group), "turn_2"))

            await until_true(is_kept, 20)
            assert f"words {group}" in await store.belongings.read(person_of(group, "u1"))
            await harness.runner.services.features.aclose()
    finally:
        server.kill()


@pytest.mark.parametrize(("left", "count"), [("TurnParked", 0), ("", 1)])
def test_who_leaves_a_turn_to_others_has_recorded_that(left: str, count: int) -> None:
    """Only of a process that was killed there is no end."""
    first = replace(share(1, Fact("event", 0), outcome=""), left=left)
    second = replace(share(2_000, Fact("decision", 1)), share="b", resumed=True)
    lines = waterfall(TracedTurn("turn_1", [first, second]), TurnWords(), UTC, 3_000)
    assert "\n".join(lines).count("recorded no end") == count


async def test_a_turn_that_is_given_up_has_taken_its_time(store: Store, traces: Traces) -> None:
    """From its beginning to its last step."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    began_at = now_ms()
    await until(lambda: now_ms() >= began_at + 5)
    observe(HERE, "turn_1", ShareFailed("given_up", "started 5 times"))
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert (turn.outcome, turn.ms >= 5) == ("failed", True)


async def test_a_turn_waits_though_the_store_was_away_meanwhile(
    store: Store, traces: Traces
) -> None:
    """A share that is shorter than it was is no older state."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    for cause in ("TurnParked", "StoreUnavailable", "TurnParked"):
        observe(HERE, "turn_1", ShareEnded(cause))
        await sent(harness)
    (turn,) = await find_turns(traces)
    assert turn.waits


async def test_a_store_that_has_lost_its_data_gets_the_key_back(
    store: Store, traces: Traces, redis: Redis
) -> None:
    """Else no conversation would be found by its id among what is kept from then on."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    await sent(harness)
    await redis.flushall()
    observe(HERE, "turn_2", EventTaken(words("m2", "hello"), "message", "answered"))
    await sent(harness)
    every = {seconds: work for _, seconds, work in harness.runner.services.features.every}
    await every[BOUND_S]()
    digest = await traces.digest_of(HERE)
    assert [turn.first.conversation for turn in await find_turns(traces)] == [digest]
