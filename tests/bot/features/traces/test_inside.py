"""The page ``/inside`` by HTTP: facts for who may see the page, words for who has the token."""

from __future__ import annotations

import tomllib
from typing import Any

import httpx
import pytest
from msgspec import convert, json
from pydantic import SecretStr

from bot.agent.loop import digest_of_persona
from bot.errors import RequestRefused
from bot.evals.questions import Question
from bot.features.traces.shown import difference, pretty
from bot.features.traces.store import Traces, day_of, traced_key, words_key
from bot.http import TRIES
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.store.keys import shard_of
from tests.bot.features.traces.inside_site import (
    CALL,
    HEADERS,
    USED,
    WITH_WORDS,
    client_of,
    flown,
    harness_of,
    rate,
    sent,
)
from tests.bot.harness import HERE


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store, 7)


async def turns_of(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    response = await client.get("/inside/turns", params=query)
    assert response.status_code == 200, response.text
    turns: list[dict[str, Any]] = response.json()["turns"]
    return turns


async def step_of(client: httpx.AsyncClient, turn: str, kind: str) -> str:
    """The path of the last step of a kind."""
    shown = (await client.get(f"/inside/turns/{turn}")).json()
    step = next(one for one in reversed(shown["steps"]) if one["kind"] == kind)
    return f"/inside/turns/{turn}/steps/{step['share']}/{step['number']}"


async def test_turns_are_found_by_every_filter(store: Store) -> None:
    """By conversation and place, their ids or digests, tool, persona, failure, rating, cost and
    time."""
    harness = await flown(store)
    async with client_of(harness) as client:
        asked, launched = await turns_of(client)
        assert (launched["tools"], launched["state"]) == (["launch"], "answered")
        await rate(harness, asked["id"])
        found = {
            "rated": await turns_of(client, rated="bad"),
            "tool": await turns_of(client, tool="launch"),
            "failed": await turns_of(client, failed="1"),
            "place": await turns_of(client, where=HERE),
            "digest": await turns_of(client, where=asked["conversation"]),
            "nowhere": await turns_of(client, where="mailbox:nowhere"),
            "channel": await turns_of(client, channel=f"slack@{'shop' * 7}.T0123ABCD"),
            "persona": await turns_of(client, persona=digest_of_persona("SYSTEM")),
            "other": await turns_of(client, persona="00000000"),
            "dear": await turns_of(client, usd="1"),
            "early": await turns_of(client, until=str(launched["at"])),
            "late": await turns_of(client, since=str(asked["at"])),
        }
    ids = {name: [turn["id"] for turn in turns] for name, turns in found.items()}
    both = [asked["id"], launched["id"]]
    assert ids == {
        "rated": [asked["id"]],
        "tool": [launched["id"]],
        "failed": [],
        "place": both,
        "digest": both,
        "nowhere": [],
        "channel": [],
        "persona": both,
        "other": [],
        "dear": [],
        "early": [],
        "late": [asked["id"]],
    }


async def test_turns_under_way_are_counted(store: Store) -> None:
    """A turn that waits for a decision has no outcome yet."""
    harness = harness_of(store, [Step(calls=(CALL,))])
    await harness.say("Launch the kite", "m1")
    await sent(harness)
    async with client_of(harness) as client:
        listing = (await client.get("/inside/turns")).json()
    assert listing["under_way"]["count"] == 1
    assert listing["under_way"]["oldest"] == listing["turns"]
    assert listing["turns"][0]["state"] == "waits"


@pytest.mark.parametrize(
    "query",
    [
        "rows=0",
        "rows=9999",
        "rows=x",
        "rated=worst",
        "failed=yes",
        "usd=-1",
        "usd=nan",
        "since=-5",
        "since=99999999999999999",
        "tool=" + "x" * 65,
        "persona=" + "x" * 9,
        "where=" + "x" * 301,
        "unknown=1",
    ],
)
async def test_a_bad_filter_is_one_line(store: Store, query: str) -> None:
    """That says which field, and nothing of what was given."""
    async with client_of(harness_of(store, [])) as client:
        response = await client.get(f"/inside/turns?{query}")
    assert response.status_code == 400
    error = response.json()["error"]
    assert error.startswith("This cannot be asked: ")
    assert len(error) < 150
    assert "\n" not in error


async def test_facts_hold_no_words(store: Store) -> None:
    """List and waterfall are for who may see the page."""
    harness = await flown(store)
    async with client_of(harness) as client:
        listing = await client.get("/inside/turns")
        turn = await client.get(f"/inside/turns/{listing.json()['turns'][1]['id']}")
    for word in ("kite", "flies", HERE, "Launch"):
        assert word not in listing.text + turn.text
    assert [step["kind"] for step in turn.json()["steps"]] == [
        "event",
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


async def test_words_need_the_token(store: Store, traces: Traces) -> None:
    """Also on this machine: without it, with a wrong one, and where none is set, there are none,
    and no look is in the record of acts."""
    harness = await flown(store)
    unset = harness_of(store, [], {"trace_words_hours": 24})
    async with client_of(harness) as client, client_of(unset) as other:
        turn = (await turns_of(client))[0]
        step = await step_of(client, turn["id"], "request")
        question = f"/inside/turns/{turn['id']}/question"
        for path, method in (
            (step, "GET"),
            (f"{step}/raw", "GET"),
            (f"{step}/again", "POST"),
            (question, "POST"),
            ("/inside/token", "POST"),
        ):
            bare = await client.request(method, path)
            wrong = await client.request(method, path, headers={"Inside-Token": "wrong"})
            off = await other.request(method, path, headers=HEADERS)
            for response in (bare, wrong, off):
                assert response.status_code == 403
                assert list(response.json()) == ["error"]
            assert "INSIDE_TOKEN is not set" in off.json()["error"]
        assert (await client.post("/inside/token", headers=HEADERS)).status_code == 204
    acts = await traces.acts([day_of(turn["at"])])
    assert [act.what for act in acts if act.who == "page"] == []


async def test_guesses_are_limited(store: Store) -> None:
    """After some wrong tokens an address waits; the right one passes all the same."""
    async with client_of(harness_of(store, [])) as client:
        guesses = [
            (await client.post("/inside/token", headers={"Inside-Token": f"{n}"})).status_code
            for n in range(TRIES + 1)
        ]
        assert guesses == [403] * TRIES + [429]
        assert (await client.post("/inside/token", headers=HEADERS)).status_code == 204


async def test_pages_of_other_sites_get_nothing(store: Store) -> None:
    """Not even with the token."""
    harness = await flown(store)
    cross = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
    async with client_of(harness) as client:
        turn = (await turns_of(client))[0]
        step = await step_of(client, turn["id"], "request")
        for path in ("/inside", "/inside/turns", step):
            assert (await client.get(path, headers=HEADERS | cross)).status_code == 403


async def test_a_step_shows_what_was_sent(store: Store, traces: Traces) -> None:
    """The words of it, its bytes as a download, and each look is in the record of acts."""
    harness = await flown(store)
    async with client_of(harness, headers=HEADERS) as client:
        asked, launched = await turns_of(client)
        request = await step_of(client, asked["id"], "request")
        shown = (await client.get(request)).json()
        assert json.decode(shown["body"])[1][-1]["parts"][0]["text"] == "How high does it fly?"
        raw = await client.get(f"{request}/raw")
        assert raw.text == shown["body"]
        assert raw.headers["content-disposition"].startswith("attachment; ")
        assert raw.headers["content-type"] == "application/octet-stream"
        assert raw.headers["x-content-type-options"] == "nosniff"
        assert "no-store" in raw.headers["cache-control"]
        call = (await client.get(await step_of(client, launched["id"], "call"))).json()
    assert json.decode(call["arguments"]) == {"what": "kite"}
    assert json.decode(call["result"]) == {"heard": {"what": "kite"}}
    await sent(harness)
    acts = await traces.acts([day_of(asked["at"])])
    looks = [(act.turn, act.what) for act in acts if act.who == "page"]
    assert looks == [(asked["id"], "words")] * 2 + [(launched["id"], "words")]


async def test_a_request_is_compared_with_the_one_before(store: Store) -> None:
    """Of the same turn, and of the turn before."""
    harness = await flown(store)
    async with client_of(harness, headers=HEADERS) as client:
        asked, launched = await turns_of(client)
        last = await step_of(client, launched["id"], "request")
        in_turn = (await client.get(last, params={"against": "step"})).json()["difference"]
        assert in_turn["same_before"] > 3
        assert any('"kite"' in line for line in in_turn["new"])
        request = await step_of(client, asked["id"], "request")
        between = (await client.get(request, params={"against": "turn"})).json()["difference"]
        assert any("How high does it fly?" in line for line in between["new"])
        first = (await client.get(request, params={"against": "step"})).json()["difference"]
        assert first is None
        assert (await client.get(request, params={"against": "x"})).status_code == 400


def test_half_a_character_is_compared_too() -> None:
    """A model may write it as an escape, in JSON that can be read."""
    before, after = pretty(b'{"text":"lone \\ud800"}'), pretty(b'{"text":"a \\ud83d\\ude00"}')
    assert json.encode(difference(before, after))
    assert before[1:-1] == ['"text": "lone \\ud800"']
    assert after[1:-1] == ['"text": "a 😀"']


async def test_the_turn_before_is_one_that_asked(store: Store, traces: Traces) -> None:
    """A command asks no model; where the words of that turn are deleted, nothing is compared."""
    harness = harness_of(store, [Step("One."), Step("Two."), Step("Three.")])
    for number, text in enumerate(("first", "/help", "second")):
        await harness.say(text, f"m{number}")
    await sent(harness)
    async with client_of(harness, headers=HEADERS) as client:
        request = await step_of(client, (await turns_of(client))[0]["id"], "request")
        shown = (await client.get(request, params={"against": "turn"})).json()
        assert any("second" in line for line in shown["difference"]["new"])
        await traces.delete_words(HERE)
        await harness.say("third", "m4")
        await sent(harness)
        request = await step_of(client, (await turns_of(client))[0]["id"], "request")
        answer = await client.get(request, params={"against": "turn"})
        assert (answer.status_code, answer.json().get("difference")) == (200, None)


async def test_a_request_is_asked_again(store: Store, traces: Traces) -> None:
    """Of the model that was named: it gets texts and no tools, nothing is delivered or kept, and
    the tokens count."""
    failing = Step(error=RequestRefused("request_refused", "too many letters"))
    second = Scripted([Step("A hundred metres.", usage=USED), Step(calls=(CALL,)), failing])
    settings = {**WITH_WORDS, "fallback_models": ("gemini:second",)}
    harness = await flown(store, settings=settings, models={"gemini:second": second})
    delivered, spent = len(harness.box.delivered), await tokens_spent(store)
    async with client_of(harness, headers=HEADERS) as client:
        turn = (await turns_of(client))[0]
        listing = (await client.get("/inside/turns")).json()
        assert listing["models"] == ["scripted:scripted", "gemini:second"]
        again = await step_of(client, turn["id"], "request") + "/again"
        order = {"model": "gemini:second"}
        answer = (await client.post(again, json=order)).json()
        assert (answer["text"], answer["model"]) == ("A hundred metres.", "scripted")
        called = (await client.post(again, json=order)).json()
        assert json.decode(called["calls"]) == [{"name": "launch", "arguments": {"what": "kite"}}]
        refused = await client.post(again, json=order)
        assert (refused.status_code, list(refused.json())) == (502, ["error"])
        assert "too many letters" in refused.json()["error"]
        for body in (b'{"model": "gemini:other"}', b"{", b"{}", b"x" * 5_000):
            assert (await client.post(again, content=body)).status_code == 400
        response = await step_of(client, turn["id"], "delivery") + "/again"
        assert (await client.post(response, json=order)).status_code == 409
    request = second.requests[0]
    assert request.tools == ()
    assert request.system == harness.model.requests[-1].system
    assert [message.text for message in request.messages][-1].endswith("How high does it fly?")
    assert len(harness.box.delivered) == delivered
    await sent(harness)
    assert await tokens_spent(store) == spent + USED.total
    acts = await traces.acts([day_of(turn["at"])])
    assert [act.what for act in acts if act.who == "page"] == ["again"] * 4


async def tokens_spent(store: Store) -> int:
    """What all conversations have used today."""
    (key,) = await store.scripts.ask("KEYS", "*:totals:????-??-??")
    return int(await store.scripts.ask("HGET", key, "tokens"))


async def test_no_model_is_asked_again_about_a_private_conversation(store: Store) -> None:
    """Nor where the day's tokens are used up."""
    harness = await flown(store)
    used_up = harness_of(store, [], {**WITH_WORDS, "daily_conversation_tokens": 1})
    order = {"model": "scripted:scripted"}
    async with client_of(harness, headers=HEADERS) as client:
        turn = (await turns_of(client))[0]
        again = await step_of(client, turn["id"], "request") + "/again"
        async with client_of(used_up, headers=HEADERS) as other:
            refused = await other.post(again, json=order)
        assert refused.json() == {"error": "The day's tokens are used up."}
        traced = traced_key(HERE)
        await store.scripts.transact([("HSET", traced, "private", 1), ("EXPIRE", traced, 60)])
        refused = await client.post(again, json=order)
        assert (refused.status_code, refused.json()["error"][:27]) == (
            409,
            "The conversation is private",
        )
    assert len(harness.model.requests) == 3


async def test_unknown_and_damaged_traces_are_one_line(store: Store) -> None:
    """As are those whose words are gone."""
    harness = await flown(store)
    async with client_of(harness, headers=HEADERS) as client:
        for name in ("turn_unknown", "x" * 200, "%00", "..%2f.."):
            response = await client.get(f"/inside/turns/{name}")
            assert response.status_code == 404
        turn = (await turns_of(client))[0]["id"]
        step = await step_of(client, turn, "request")
        for nowhere in ("none/7", "none/x", f"{step.split('/')[-2]}/{'9' * 5_000}"):
            answer = await client.get(f"/inside/turns/{turn}/steps/{nowhere}")
            assert answer.json() == {"error": "The turn has no such step."}
        await store.scripts.ask(
            "SET", words_key(shard_of(HERE), turn), b"\0\0\0\x09nonsense!", "EX", 60
        )
        assert "damaged" in (await client.get(step)).json()["error"]
        await store.scripts.ask("DEL", words_key(shard_of(HERE), turn))
        assert "expired" in (await client.get(step)).json()["error"]


async def test_a_private_conversation_has_no_words(store: Store) -> None:
    """Not on the page, and no model is asked about it."""
    harness = harness_of(store, [Step("One."), Step("Two.")])
    await harness.say("hello", "m1")
    await harness.say("/private on", "m2")
    await harness.say("hello again", "m3")
    await sent(harness)
    async with client_of(harness, headers=HEADERS) as client:
        for turn in await turns_of(client, channel="mailbox"):
            shown = (await client.get(f"/inside/turns/{turn['id']}")).json()
            for step in shown["steps"]:
                path = f"/inside/turns/{turn['id']}/steps/{step['share']}/{step['number']}"
                assert (await client.get(path)).status_code == 404
                again = await client.post(f"{path}/again", json={"model": "scripted:scripted"})
                assert again.status_code in (400, 404)
    assert harness.model.requests[2:] == []


async def test_a_question_is_made_of_a_turn(store: Store, traces: Traces) -> None:
    """In the form of evaluations, with placeholders for ids, and in the record of acts."""
    harness = harness_of(store, [Step("Noted.")])
    await harness.say(
        'Write to mei@example.com or U0123456789abcdef0123456789abcdef, "soon"\n☃', "m1"
    )
    await sent(harness)
    async with client_of(harness, headers=HEADERS) as client:
        turn = (await turns_of(client))[0]
        made = await client.post(f"/inside/turns/{turn['id']}/question")
    assert made.headers["content-disposition"].startswith("attachment; ")
    assert made.text.startswith("# This question leaves Kaiwa's care")
    (question,) = tomllib.loads(made.text)["question"]
    checked = convert(question, Question)
    assert checked.ask == 'Write to [id] or [id], "soon"\n☃'
    assert (checked.category, checked.calls) == ("no_tool", [])
    await sent(harness)
    acts = await traces.acts([day_of(turn["at"])])
    assert [act.what for act in acts if act.who == "page"] == ["question"]


async def test_a_token_may_have_any_letters(store: Store) -> None:
    """Browsers send headers of Latin letters only."""
    settings = {"inside_token": SecretStr("こんにちは、世界のみなさん！")}
    async with client_of(harness_of(store, [], settings)) as client:
        encoded = "".join(f"%{byte:02X}" for byte in "こんにちは、世界のみなさん！".encode())
        headers = {"Inside-Token": encoded}
        assert (await client.post("/inside/token", headers=headers)).status_code == 204


async def test_the_page_is_served_with_its_files(store: Store) -> None:
    """Template and texts of both languages."""
    async with client_of(harness_of(store, [])) as client:
        page = await client.get("/inside")
        assert page.headers["content-type"].startswith("text/html")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        script = await client.get("/inside/static/inside.js")
        assert script.headers["content-type"].startswith("text/javascript")
        words = (await client.get("/inside/static/texts.json")).json()
        assert words["en"].keys() == words["ja"].keys()
        assert (await client.get("/inside/static/inside.html")).status_code == 404
