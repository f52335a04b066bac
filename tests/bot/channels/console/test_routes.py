"""The console over HTTP: messages in, history and live events out, errors that say what to fix."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from bot.features.approvals.questions import Question
from bot.features.polls.poll import VOTE
from bot.live_events import Answered, AnswerText, TurnStarted
from bot.transcript import Author, FileRef, Message, Text, ToolCall, ToolResult
from tests.fakes.live import encoded
from tests.fakes.site import AT, Site

HERE = "/console/conversation"
MESSAGES = f"{HERE}/messages"
CHART = FileRef("f1", "sun.png", "image/png", "20 °C")
SHOWN = {"path": f"/files/f1{'0' * 32}.png", "name": "sun.png", "text": "20 °C", "url": ""}
SUNNY = ToolResult("c1", "w", {"sun": 1}, files=(CHART,))
AWAY = {"error": "Messages cannot be stored at the moment. Please try again in a few seconds."}


async def test_a_message_is_accepted(site: Site, client: httpx.AsyncClient) -> None:
    """The answer comes as soon as the message is kept; what the device tells of itself comes
    along."""
    spoken = {"text": "Hello", "id": "message_1", "locale": "en-GB", "time_zone": "Europe/London"}
    response = await client.post(MESSAGES, json=spoken)
    assert (response.status_code, response.json()) == (202, {"id": "message_1"})
    turn = await site.turn()
    assert (turn.conversation, turn.asked.text) == ("console:conversation", "Hello")
    assert turn.asked.author is not None
    assert (turn.asked.author.locale, turn.asked.author.time_zone) == ("en-GB", "Europe/London")


async def test_a_browser_without_a_locale_has_its_languages(
    site: Site, client: httpx.AsyncClient
) -> None:
    """The header every browser sends is better than nothing."""
    response = await client.post(
        MESSAGES, json={"text": "Hello"}, headers={"Accept-Language": "ja-JP,en;q=0.5"}
    )
    asked = (await site.turn()).asked
    assert response.json() == {"id": asked.id}
    assert asked.author is not None
    assert asked.author.locale == "ja-JP"


NOT_JSON = 'Please send JSON: {"text": "…"}, with Content-Type: application/json.'


@pytest.mark.parametrize(
    ("content", "media_type", "status", "error"),
    [
        (b'{"text": ""}', "application/json", 400, "There is nothing to read in this message."),
        (
            b'{"text": "a", "id": "short"}',
            "application/json",
            400,
            "An id is 8 to 64 letters, digits, - or _.",
        ),
        (b'{"text": 1}', "application/json", 400, NOT_JSON),
        (b'{"text": "\xff"}', "application/json", 400, NOT_JSON),
        (b"not json", "application/json; charset=utf-8", 400, NOT_JSON),
        (b"", "application/json", 400, NOT_JSON),
        (b'{"text": "a"}', "text/plain", 415, NOT_JSON),
        (
            b" " * 65_537,
            "application/json",
            413,
            "This message is too long: 8,000 characters are the limit.",
        ),
    ],
)
async def test_what_cannot_be_taken_is_refused(
    site: Site, client: httpx.AsyncClient, content: bytes, media_type: str, status: int, error: str
) -> None:
    """Every refusal is JSON and says why."""
    response = await client.post(MESSAGES, content=content, headers={"Content-Type": media_type})
    assert (response.status_code, response.json()) == (status, {"error": error})


@pytest.mark.parametrize("path", ["", "/events", "/messages"])
async def test_a_conversation_needs_a_proper_id(client: httpx.AsyncClient, path: str) -> None:
    """Ids become parts of keys: nothing else gets that far."""
    method = "POST" if path == "/messages" else "GET"
    response = await client.request(
        method, f"/console/a:b:c:d:e{path}", headers={"Accept-Language": "ja"}
    )
    assert response.status_code == 404
    assert response.json() == {"error": "IDには、英数字と「-」「_」を8～64文字で指定してください。"}


@pytest.mark.parametrize("path", ["", "/events", "/messages"])
async def test_an_absent_store_is_said_with_the_time_to_come_back(
    site: Site, client: httpx.AsyncClient, path: str
) -> None:
    """Nothing was kept, and the page knows that it may send again."""
    site.away = site.live.away = True
    if path == "/messages":
        response = await client.post(HERE + path, json={"text": "Hello"})
    else:
        response = await client.get(HERE + path)
    assert (response.status_code, response.headers["retry-after"], response.json()) == (
        503,
        "2",
        AWAY,
    )


async def test_the_history_holds_what_the_page_shows(site: Site, client: httpx.AsyncClient) -> None:
    """Calls come with their results, answers with the files of these; results alone come with
    nothing."""
    site.history["console:conversation"] = [
        Message("m0", "tool", (ToolResult("c0", "w", {}),), AT),
        Message("m1", "user", (Text("Weather in Tokyo and Osaka?"),), AT, context="Friday"),
        Message(
            "m2",
            "model",
            (Text("One moment."), ToolCall("c1", "w", {"at": "T"}), ToolCall("c2", "w", {})),
            AT,
        ),
        Message("m3", "tool", (SUNNY, ToolResult("c2", "w", {"error": "no"}, True)), AT),
        Message("m4", "model", (Text("Sunny."),), AT),
        Message("m5", "user", (Text("And?"),), AT),
        Message("m6", "model", (ToolCall("c3", "w", {}),), AT),
        Message("scheduled_r1_2", "user", (Text("It is time."),), AT),
    ]
    response = await client.get(HERE)
    assert response.headers["cache-control"] == "no-store"
    fine: dict[str, Any] = {"name": "w", "is_error": False, "is_rejected": False, "title": ""}
    done = {**fine, "id": "c1", "arguments": {"at": "T"}, "response": {"sun": 1}}
    failed = {**fine, "id": "c2", "arguments": {}, "response": {"error": "no"}, "is_error": True}
    unfinished = {**fine, "id": "c3", "arguments": {}, "response": None}

    def entry(name: str, role: str, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
        return {"id": name, "role": role, "at": AT, "text": text, "calls": list(calls), "files": []}

    assert response.json() == {
        "messages": [
            entry("m1", "user", "Weather in Tokyo and Osaka?"),
            entry("m2", "model", "One moment.", done, failed),
            entry("m4", "model", "Sunny.") | {"files": [SHOWN]},
            entry("m5", "user", "And?"),
            entry("m6", "model", "", unfinished),
            entry("scheduled_r1_2", "scheduled", "It is time."),
        ],
        "whole": True,
        "cards": [],
    }
    newer = (await client.get(HERE, params={"after": "m4"})).json()
    assert (newer["messages"], newer["whole"]) == (response.json()["messages"][3:], False)
    nothing_new = await client.get(HERE, params={"after": "scheduled_r1_2"})
    assert nothing_new.json() == {"messages": [], "whole": False, "cards": []}
    assert (await client.get(HERE, params={"after": "forgotten"})).json() == response.json()


async def test_calls_have_their_titles(site: Site, client: httpx.AsyncClient) -> None:
    """In the page's language."""
    site.titles = {("w", "en"): "Weather", ("w", "ja"): "天気"}
    site.history["console:conversation"] = [Message("m1", "model", (ToolCall("c1", "w", {}),), AT)]
    for language, title in (("en-GB", "Weather"), ("ja", "天気")):
        response = await client.get(HERE, headers={"Accept-Language": language})
        assert response.json()["messages"][0]["calls"][0]["title"] == title


async def test_an_answer_has_no_more_files_than_were_sent(
    site: Site, client: httpx.AsyncClient
) -> None:
    """The last ones of its turn."""
    many = tuple(replace(CHART, name=f"{number}.png") for number in range(6))
    site.history["console:conversation"] = [
        Message("m1", "tool", (ToolResult("c1", "w", {}, files=many),), AT),
        Message("m2", "model", (Text("Sunny."),), AT),
    ]
    [answer] = (await client.get(HERE)).json()["messages"]
    assert [file["name"] for file in answer["files"]] == ["2.png", "3.png", "4.png", "5.png"]


async def test_events_are_streamed_as_they_happen(site: Site, client: httpx.AsyncClient) -> None:
    """Each event is one data line of JSON, read before the next one is sent."""
    async with client.stream("GET", f"{HERE}/events") as response:
        lines = response.aiter_lines()
        assert await anext(lines) == ":"
        for event in encoded(
            TurnStarted("turn_1", ("message_1",)),
            AnswerText("晴れ\n"),
            Answered("turn_1", "晴れ\n"),
        ):
            await site.live.publish("console:conversation", event)
            assert await next_data(lines) == json.loads(event)
    await site.watched(0)


LAUNCH = Question("question_1", "call_1", "launch", {"what": "rocket"}, until=AT)


async def test_an_open_question_comes_with_the_history(
    site: Site, client: httpx.AsyncClient
) -> None:
    """Whoever loads the page later is asked too."""
    assert (await client.get(HERE)).json() == {"messages": [], "whole": True, "cards": []}
    site.questions["console:conversation"] = LAUNCH
    (card,) = (await client.get(HERE)).json()["cards"]
    assert (card["key"], card["call_id"], card["until"]) == ("question_1", "call_1", AT)
    assert card["rows"] == [["", "launch"], ["", "▸ what: rocket"]]
    assert [button["value"] for button in card["buttons"]] == ["question_1"] * 2


async def next_data(lines: AsyncIterator[str]) -> object:
    """The next event of a stream, past comments and empty lines."""
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream has ended")


async def test_a_server_that_stops_ends_its_streams_cleanly() -> None:
    """An open page does not hold up a shutdown, and its stream is not torn off."""
    site = Site()
    async with httpx.AsyncClient() as client:
        async with site.open():
            request = client.build_request("GET", f"{site.url}{HERE}/events")
            response = await client.send(request, stream=True)
        assert await response.aread() == b":\n\n"


ACTIONS = f"{HERE}/actions"


async def test_a_vote_is_accepted(site: Site, client: httpx.AsyncClient) -> None:
    """By the conversation's one person; what comes of it is shown live."""
    vote = {"action": VOTE, "value": "poll_1:2"}
    accepted = await client.post(ACTIONS, json=vote, headers={"Accept-Language": "ja-JP"})
    assert (accepted.status_code, accepted.json()) == (202, {})
    arrival = await site.arrival()
    assert (arrival.action, arrival.target) == (VOTE, "poll_1:2")
    assert arrival.message.author == Author("conversation", locale="ja-JP")


@pytest.mark.parametrize(
    "press",
    [
        {"value": "poll_1"},
        {"action": "vote"},
        {"action": VOTE, "value": "p" * 201},
        {"action": VOTE, "value": "a b"},
        [],
    ],
)
async def test_what_is_no_press_is_refused(client: httpx.AsyncClient, press: object) -> None:
    """The answer shows the form."""
    response = await client.post(ACTIONS, json=press)
    assert response.status_code == 400
    assert '"action": ' in response.json()["error"]
