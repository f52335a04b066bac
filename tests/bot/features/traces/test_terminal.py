"""What an operator sees of turns in the terminal."""

from __future__ import annotations

import asyncio
import json
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bot.app.storage import open_store_of
from bot.errors import BadInput, TryAgain
from bot.features.traces.as_text import json_text, visible
from bot.features.traces.looking import read_since
from bot.features.traces.reading import find_last
from bot.features.traces.store import Traces
from bot.pipeline.turn import MAX_STARTS
from bot.providers.scripted import Step
from bot.settings import load
from bot.telemetry.observed import Rated
from bot.transcript import ToolCall, new_id
from tests.bot.command_line import Call
from tests.bot.harness import HERE, Harness
from tests.bot.store.turns import leased
from tests.fakes.tools import Echo, Launch, tool_map
from tests.retrying import Retrying

pytestmark = pytest.mark.usefixtures("restored_logging", "settings")

LAUNCH = ToolCall("c1", "launch", {"what": "kite"})
MISSING = ToolCall("c2", "no_such_tool", {})
HOSTILE = "kite \x1b[2J\u202etxt.exe"
WORDS = {"trace_words_hours": 24}
BUSY = Step(error=TryAgain("rate_limited", "too many requests", after=0.0))
NOW = 1_795_300_000_000


def played(
    steps: Sequence[Step], *texts: str, hours: int = 24, after: Callable[[Harness], Any] = bool
) -> str:
    """Have texts answered; the id of the newest turn.

    Args:
        after: is called before the harness ends.
    """

    async def play() -> str:
        async with open_store_of(load()) as store:
            tools = tool_map(Launch(), Echo())
            settings = {"trace_words_hours": hours}
            harness = Harness(store, steps, tools=tools, settings=settings, kind=Retrying)
            for text in texts:
                await harness.say(text, new_id("m"))
            await harness.runner.services.features.aclose()
            await store.scripts.ask("PING")
            turn = await find_last(Traces(store, 7))
            assert turn is not None
            if after is not bool:
                after(harness)
                await harness.runner.services.features.aclose()
                await store.scripts.ask("PING")
            return turn.id

    return asyncio.run(play())


def has_refused(harness: Harness) -> None:
    """By now the store has: what it refused is a part of the facts from now on."""


@pytest.fixture
def redis_of(valkey_url: str) -> Iterator[Redis]:
    """The store, from outside."""
    with Redis.from_url(valkey_url) as redis:
        yield redis


def test_a_turn_is_a_waterfall_with_words(call: Call) -> None:
    """Each step is a line; what people wrote moves no cursor and reorders nothing."""
    turn = played([BUSY, Step(calls=(LAUNCH,)), Step("It flies.")], HOSTILE, "yes")
    code, out, err = call("trace", "last")
    assert (code, err) == (0, "")
    assert out.startswith(f"{turn}  ")
    assert f"({HERE})" in out
    assert "kite \\x1b[2J\\u202etxt.exe" in out
    assert "failure  " in out
    assert "too many requests" in out
    assert 'arguments {"what":"kite"}' in out
    assert 'result {"heard":{"what":"kite"}}' in out
    assert "> It flies." in out
    assert not set("\x1b\u202e") & set(out)
    for name in (turn, f"{turn}_1"):  # as in the log of a delivery
        assert call("trace", name)[1] == out


def test_json_has_all_facts_and_words(call: Call) -> None:
    """And it is JSON, whatever the words hold."""
    turn = played([Step(calls=(LAUNCH,)), Step("It flies.")], HOSTILE, "yes")
    code, out, _ = call("trace", turn, "--json")
    assert code == 0
    assert "\u202e" not in out
    printed = json.loads(out)
    facts = [fact for share in printed["shares"] for fact in share["facts"]]
    assert (printed["turn"], printed["conversation"]) == (turn, HERE)
    assert facts[0]["words"]["text"] == HOSTILE
    (called,) = [fact for fact in facts if fact["kind"] == "call"]
    assert called["words"]["result"] == {"heard": {"what": "kite"}}
    (request, *_) = [fact for fact in facts if fact["kind"] == "request"]
    _, (asked,) = json.loads(request["words"]["body"])
    assert asked["parts"][0]["text"] == HOSTILE


def test_raw_is_a_new_file_for_its_owner(call: Call, tmp_path: Path) -> None:
    """With each request and response under its own name."""
    played([Step("Hi.")], "hello")
    path = tmp_path / "turn.zip"
    code, out, err = call("trace", "last", "--raw", str(path))
    assert (code, out, err) == (0, "", f"2 requests and responses in {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert {one.external_attr >> 16 for one in archive.infolist()} == {0o600}
        assert b"hello" in archive.read(names[0])
    assert [name.split("-")[1] for name in names] == ["request", "response"]
    code, _, err = call("trace", "last", "--raw", str(path))
    assert code == 2
    assert "exists: name a new file" in err


def test_whoever_looks_at_words_is_in_the_record_of_acts(call: Call) -> None:
    """Beside calls that act; a look at facts alone is not."""
    turn = played([Step(calls=(LAUNCH,)), Step("It flies.")], "Launch the kite", "yes")
    assert [act["what"] for act in json.loads(call("acts", "--json")[1])] == ["launch"]
    call("trace", turn)
    look, launched = json.loads(call("acts", "--json")[1])
    assert (look["who"], look["what"], look["turn"]) == ("terminal", "words", turn)
    assert (launched["decided"], launched["outcome"]) == ("approved", "ok")
    code, out, err = call("acts")
    assert (code, err) == (0, "2 acts\n")
    assert [line.split("\t")[3] for line in out.splitlines()] == ["words", "launch"]


def test_without_words_facts_are_shown_and_raw_is_refused(call: Call, tmp_path: Path) -> None:
    """Nothing that was said is printed, and no act is kept."""
    turn = played([Step("Hi.")], "zanzibar", hours=0)
    code, out, err = call("trace", turn)
    assert (code, "zanzibar" in out) == (0, False)
    assert err == "no words are kept of it: TRACE_WORDS_HOURS says for how long they are\n"
    code, _, err = call("trace", turn, "--raw", str(tmp_path / "turn.zip"))
    assert (code, err) == (
        2,
        f"kaiwa: {turn}: no words are kept of it: TRACE_WORDS_HOURS says for how long they are\n",
    )
    assert call("acts", "--json")[1] == "[]\n"


def test_a_private_conversation_is_named_as_the_reason(call: Call) -> None:
    """TRACE_WORDS_HOURS would have had its words kept."""
    turn = played([Step("Hi.")], "/private on", "zanzibar", after=has_refused)
    code, out, err = call("trace", turn)
    assert (code, "zanzibar" in out) == (0, False)
    assert err.startswith("no words are kept of it: the conversation is private (/private on)")


def test_words_that_are_over_and_damaged_ones(call: Call, redis_of: Redis) -> None:
    """The facts are still there, and a line says what is missing."""
    turn = played([Step("Hi.")], "hello")
    (key,) = redis_of.keys("*:words:*")
    redis_of.append(key, b"\x00\x00\x00\x09damaged")
    _, out, _ = call("trace", turn)
    assert "> hello" in out
    assert "The rest of the words is damaged and cannot be read." in out
    redis_of.delete(key)
    code, out, err = call("trace", turn)
    assert (code, "hello" in out) == (0, False)
    assert err.startswith("its words are deleted: ")


def test_damaged_facts_are_left_out(call: Call, redis_of: Redis) -> None:
    """One line of the log says how many."""
    turn = played([Step("Hi.")], "hello")
    (hour,) = redis_of.keys("*:traces:[0-9]*")
    redis_of.hset(hour, "turn_x 1", b"damaged")
    code, out, err = call("conversations")
    assert (code, turn in out) == (0, True)
    assert "traces.unreadable" in err


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (("trace", "last"), "no turn is kept: facts last for TRACE_DAYS; see kaiwa conversations"),
        (("trace", "turn_1"), "nothing of turn_1 is kept: facts last for TRACE_DAYS"),
        (("trace", "line:U0:user:U1"), "nothing is kept of 'line:U0:user:U1'"),
        (("trace", "\x1b[2J"), "'\\x1b[2J' is no turn (turn_…), no conversation"),
        (("trace", "last", "--json", "--raw", "x"), "choose one of them"),
        (("conversations", "--since", "soon"), "--since takes 30m, 2h, 3d or a time such as"),
        (("conversations", "--rated", "fine"), "--rated takes good or bad, not 'fine'"),
        (("conversations", "--place", "here"), "--place takes an id such as line:…"),
    ],
)
def test_bad_input_is_one_line(call: Call, arguments: tuple[str, ...], mend: str) -> None:
    """Which says what to do."""
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert mend in err


def test_where_nothing_is_traced_the_variable_is_named(call: Call) -> None:
    """With TRACE_DAYS=0."""
    code, _, err = call("report", TRACE_DAYS="0")
    assert (code, "TRACE_DAYS" in err) == (2, True)


def test_conversations_are_found_by_what_their_turns_were(call: Call, redis_of: Redis) -> None:
    """By tool, failure, place, time; the digest and the newest turn lead on."""
    steps = [Step(calls=(LAUNCH,)), Step("It flies."), *[BUSY] * 8]
    turn = played(steps, "Launch the kite", "yes", "And again")
    (found,) = json.loads(call("conversations", "--json")[1])
    assert (found["id"], found["turns"], found["failed"]) == (HERE, 2, 1)
    (failed,) = json.loads(call("conversations", "--failed", "--json")[1])
    assert (failed["turns"], failed["last_turn"]) == (1, turn)
    (with_tool,) = json.loads(call("conversations", "--tool", "launch", "--json")[1])
    assert with_tool["tools"] == ["launch"]
    assert json.loads(call("conversations", "--rated", "bad", "--json")[1]) == []
    assert json.loads(call("conversations", "--since", "2030-01-01", "--json")[1]) == []
    for place in (HERE, found["place"]):
        assert len(json.loads(call("conversations", "--place", place, "--json")[1])) == 1
    code, out, err = call("conversations")
    assert (code, err) == (0, "1 conversations; kaiwa trace shows one, or a turn\n")
    assert out.split("\t")[:2] == [turn, found["conversation"]]
    for which in (HERE, found["conversation"]):
        _, out, _ = call("trace", which)
        assert [line.split("\t")[2] for line in out.splitlines()] == ["failed", "answered"]
    assert len(json.loads(call("trace", HERE, "--json")[1])) == 2


def test_gaps_are_what_people_did_not_get(call: Call) -> None:
    """A failed tool, a bad rating, a failed turn; with the question while it is kept."""

    def rate(harness: Harness) -> None:
        rated = Rated(False, "u1")
        harness.runner.services.features.observe(HERE, turns[0], rated)

    turns = [played([Step(calls=(MISSING,)), Step("Sorry.")], HOSTILE)]
    played([*[BUSY] * 8], "And again", after=rate)
    found = json.loads(call("gaps", "--json")[1])
    kinds = {(gap["kind"], gap["what"]): gap for gap in found}
    assert set(kinds) == {("turn", "rate_limited"), ("tool", "unknown"), ("rating", "bad")}
    assert kinds["tool", "unknown"]["question"] == HOSTILE
    assert kinds["rating", "bad"]["turn"] == turns[0]
    looked = [act["turn"] for act in json.loads(call("acts", "--json")[1])]
    assert sorted(looked) == sorted({gap["turn"] for gap in found})
    code, out, err = call("gaps")
    assert (code, err) == (0, "3 gaps\n")
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


def test_the_report_counts(call: Call) -> None:
    """People, turns, answers, failures, gaps."""
    played([Step("Hi."), *[BUSY] * 8], "hello", "again")
    printed = json.loads(call("report", "--json")[1])
    assert (printed["people"], printed["turns"], printed["answers"]) == (1, 2, 1)
    assert printed["failures"] == {"rate_limited": 1}
    assert printed["gaps"] == {"turn": 1}
    code, out, err = call("report", "--days", "3")
    assert (code, "within 5 s\t1\n" in out) == (0, True)
    assert err == "about 0.00 USD in 3 days\n"


def test_a_turn_that_is_given_up_has_failed(call: Call) -> None:
    """Though no model was at fault; its id is that of the log."""

    async def play() -> None:
        async with open_store_of(load()) as store:
            harness = Harness(store, [], settings=WORDS)
            await harness.receive("hello", "m1")
            lease = await leased(store, HERE)
            for _ in range(MAX_STARTS + 1):  # the release takes one back
                await store.journal.begin(lease, "turn_1")
            await store.leases.release(lease)
            await harness.process()
            await harness.runner.services.features.aclose()
            await store.scripts.ask("PING")

    asyncio.run(play())
    (found,) = json.loads(call("conversations", "--failed", "--json")[1])
    assert found["last_turn"] == "turn_1"
    _, out, _ = call("trace", "turn_1")
    assert "given_up" in out
    assert "> started 5 times without getting on" in out


def test_times_of_since() -> None:
    """Periods before now, and times in the operator's zone."""
    assert read_since("2h", NOW) == NOW - 7_200_000
    assert read_since("3d", NOW) == NOW - 3 * 86_400_000
    assert read_since("1970-01-02", NOW) == 86_400_000
    with pytest.raises(BadInput):
        read_since("99999999d", NOW)


def test_json_hides_nothing_from_a_terminal() -> None:
    """And says the same."""
    text = "a\u202eb\x9b\U000e0041\n"
    shown = json_text(text)
    assert json.loads(shown) == text
    assert shown.isascii()
    assert visible("\x07ß日") == "\\x07ß日"
