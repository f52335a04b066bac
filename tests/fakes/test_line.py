"""The stand-in for LINE refuses what the real service refuses, and fails the ways it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from bot.channels.line.inbound import is_signed
from tests.fakes.line import LineFake, Trouble, line_fake
from tests.fakes.line_events import (
    GROUP,
    ROOM,
    SECRET,
    TOKEN,
    USER,
    event,
    mention,
    text_message,
    webhook,
)

JSON = dict[str, Any]

BEARER = {"Authorization": f"Bearer {TOKEN}"}
REPLY, PUSH = "/v2/bot/message/reply", "/v2/bot/message/push"
KEY = {"X-Line-Retry-Key": "123e4567-e89b-12d3-a456-426614174000"}
HI = {"type": "text", "text": "hi"}
IMAGE = {
    "type": "image",
    "originalContentUrl": "https://a.example/1",
    "previewImageUrl": "https://a.example/1",
}
YES = {"type": "postback", "label": "Yes", "data": "yes", "displayText": "Yes"}
NO = {"type": "message", "label": "No", "text": "no"}
CONFIRM = {"type": "confirm", "text": "Sure?", "actions": [YES, NO]}
ASKED = {"type": "template", "altText": "Sure?", "template": CONFIRM}
WORDS = {"type": "text", "text": "Where?"}
SUSHI = {"type": "postback", "label": "Sushi", "data": "1"}
BUTTON: JSON = {"type": "button", "action": SUSHI}


def flex(*contents: JSON, **box: Any) -> JSON:
    """A Flex Message with one box."""
    body = {"type": "box", "layout": "vertical", "contents": list(contents), **box}
    return {"type": "flex", "altText": "Where?", "contents": {"type": "bubble", "body": body}}


def carousel(*messages: JSON) -> JSON:
    """A Flex Message with the bubbles of others."""
    bubbles = [message["contents"] for message in messages]
    return flex() | {"contents": {"type": "carousel", "contents": bubbles}}


def quick(*actions: JSON) -> JSON:
    """A text with buttons above the keyboard."""
    return HI | {
        "quickReply": {"items": [{"type": "action", "action": action} for action in actions]}
    }


@pytest.fixture
def fake() -> Iterator[LineFake]:
    with line_fake() as fake:
        yield fake


@pytest.fixture
async def client(fake: LineFake) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=fake.base_url, headers=BEARER) as client:
        yield client


async def post(client: httpx.AsyncClient, path: str, body: JSON, **headers: str) -> tuple[int, str]:
    """Status and message of the answer."""
    answer = await client.post(path, json=body, headers=headers)
    return answer.status_code, answer.json().get("message", "")


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer another"}, {"Authorization": TOKEN}]
)
async def test_only_the_channels_token_opens_it(fake: LineFake, headers: dict[str, str]) -> None:
    """401, whatever is asked."""
    async with httpx.AsyncClient(base_url=fake.base_url, headers=headers) as client:
        answer = await client.get("/v2/bot/info")
    assert answer.status_code == 401
    assert answer.headers["X-Line-Request-Id"]


async def test_a_reply_token_serves_once_and_for_a_minute(
    fake: LineFake, client: httpx.AsyncClient
) -> None:
    """Used, late and made-up tokens are told apart by nobody."""
    used, late = fake.token(), fake.token()
    assert await post(client, REPLY, {"replyToken": used, "messages": [HI]}) == (200, "")
    fake.advance(61)
    for token in (used, late, "made-up"):
        assert await post(client, REPLY, {"replyToken": token, "messages": [HI]}) == (
            400,
            "Invalid reply token",
        )
    assert fake.texts == [["hi"]]


async def test_a_retry_key_belongs_to_a_push_and_counts_once(
    fake: LineFake, client: httpx.AsyncClient
) -> None:
    """On a reply it is an error; repeated, it is answered with the first request's id."""
    reply = {"replyToken": fake.token(), "messages": [HI]}
    assert (await post(client, REPLY, reply, **KEY))[0] == 400
    push = {"to": USER, "messages": [HI]}
    assert (await post(client, PUSH, push, **{"X-Line-Retry-Key": "no-uuid"}))[0] == 400
    assert (await post(client, PUSH, push, **KEY))[0] == 200
    again = await client.post(PUSH, json=push, headers=KEY)
    assert again.status_code == 409
    assert again.headers["x-line-accepted-request-id"]
    assert len(fake.sent) == 1


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "Size must be between 1 and 5"),
        ([HI] * 6, "Size must be between 1 and 5"),
        ([{"type": "text", "text": ""}], "May not be empty"),
        ([{"type": "text", "text": " \n"}], "May not be empty"),
        ([{"type": "text", "text": "🍎" * 2_501}], "Length must be between 0 and 5000"),
        ([{"type": "markdown", "text": "hi"}], "Must be one of the following values"),
        ([HI | {"colour": "red"}], "Unknown property"),
        ([IMAGE | {"originalContentUrl": "http://a.example/1.png"}], "Must be a valid HTTPS URL"),
        (
            [IMAGE | {"previewImageUrl": f"https://a.example/{'1' * 2_000}"}],
            "Must be a valid HTTPS URL",
        ),
        (
            [{"type": "image", "originalContentUrl": "https://a.example/1.png"}],
            "Must be a valid HTTPS URL",
        ),
        ([IMAGE | {"text": "hi"}], "Unknown property"),
        ([ASKED | {"altText": ""}], "May not be empty"),
        ([ASKED | {"altText": "a" * 1_501}], "Length must be between 0 and 1500"),
        ([ASKED | {"quoteToken": "q"}], "Unknown property"),
        (
            [ASKED | {"template": CONFIRM | {"type": "buttons"}}],
            "Must be one of the following values: [confirm]",
        ),
        ([ASKED | {"template": CONFIRM | {"text": "a" * 241}}], "Length must be between 0 and 240"),
        ([ASKED | {"template": CONFIRM | {"title": "a"}}], "Unknown property"),
        ([ASKED | {"template": CONFIRM | {"actions": [YES]}}], "Size must be between 2 and 2"),
        (
            [ASKED | {"template": CONFIRM | {"actions": [YES, NO | {"label": "a" * 21}]}}],
            "Length must be between 0 and 20",
        ),
        (
            [ASKED | {"template": CONFIRM | {"actions": [NO, YES | {"data": "a" * 301}]}}],
            "Length must be between 0 and 300",
        ),
        (
            [ASKED | {"template": CONFIRM | {"actions": [YES, {"type": "clipboard"}]}}],
            "Must be one of the following",
        ),
        ([flex(WORDS) | {"altText": ""}], "May not be empty"),
        ([flex(WORDS) | {"text": "a"}], "Unknown property"),
        (
            [flex(WORDS) | {"contents": {"type": "grid"}}],
            "Must be one of the following values: [bubble]",
        ),
        ([carousel()], "Size must be between 1 and 12"),
        ([carousel(*[flex(WORDS)] * 13)], "Size must be between 1 and 12"),
        ([carousel(*[flex(*[WORDS | {"text": "a" * 1_900}] * 15)] * 2)], "too large"),
        ([carousel(flex(WORDS | {"text": ""}))], "May not be empty"),
        (
            [
                carousel(flex(WORDS))
                | {"contents": {"type": "carousel", "contents": [], "size": "mega"}}
            ],
            "Unknown property",
        ),
        ([flex({"type": "box", "layout": "horizontal", "contents": []})], "May not be empty"),
        (
            [flex({"type": "box", "layout": "horizontal", "contents": [WORDS | {"flex": "2"}]})],
            "Must be an integer",
        ),
        (
            [flex({"type": "box", "layout": "vertical", "contents": [WORDS]})],
            "Must be one of the following values",
        ),
        ([flex(WORDS) | {"contents": {"type": "bubble"}}], "At least one block must be specified"),
        ([flex(*[WORDS | {"text": "a" * 1_900}] * 16)], "too large"),
        ([flex(WORDS, layout="grid")], "Must be one of the following values: [vertical]"),
        ([flex(WORDS, spacing="wide")], "Invalid value"),
        ([flex(contents=None)], "May not be empty"),
        ([flex(WORDS | {"text": ""})], "May not be empty"),
        ([flex(WORDS | {"size": "huge"})], "Invalid value"),
        ([flex(WORDS | {"displayText": "a"})], "Unknown property"),
        ([flex({"type": "table"})], "Must be one of the following values: [text, button]"),
        ([flex(BUTTON | {"style": "danger"})], "Must be one of the following values: [primary"),
        ([flex(BUTTON | {"height": "lg"})], "Must be one of the following values: [sm, md]"),
        (
            [flex(BUTTON | {"action": SUSHI | {"label": "a" * 21}})],
            "Length must be between 0 and 20",
        ),
        (
            [flex(BUTTON | {"action": SUSHI | {"data": "a" * 301}})],
            "Length must be between 0 and 300",
        ),
        ([quick()], "Size must be between 1 and 13"),
        ([quick(*[NO] * 14)], "Size must be between 1 and 13"),
        ([quick(NO | {"text": ""})], "May not be empty"),
        ([quick(NO | {"displayText": "no"})], "Unknown property"),
        (
            [HI | {"quickReply": {"items": [{"type": "button", "action": NO}]}}],
            "Must be one of the following values",
        ),
    ],
)
async def test_messages_are_checked(
    client: httpx.AsyncClient, messages: list[JSON], complaint: str
) -> None:
    """Number, length in UTF-16 units, type and fields; the answer names the property."""
    answer = await client.post(PUSH, json={"to": USER, "messages": messages})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("The request body has ")
    assert complaint in answer.json()["details"][0]["message"]


async def test_buttons_come_back_as_they_were_given(
    fake: LineFake, client: httpx.AsyncClient
) -> None:
    """As a postback with its data, or as a message with its words, from the place where they were
    shown last."""
    both = [ASKED, quick(*[NO | {"label": f"No {number}"} for number in range(13)])]
    assert await post(client, PUSH, {"to": GROUP, "messages": both}) == (200, "")
    assert fake.texts == [["Sure?", "hi"]]
    yes, no = fake.press("Yes"), fake.press("No 7", user=None)
    assert (yes["type"], yes["postback"], yes["source"]["userId"]) == (
        "postback",
        {"data": "yes"},
        USER,
    )
    assert (no["type"], no["message"]["text"], no["source"]) == (
        "message",
        "no",
        {"type": "group", "groupId": GROUP},
    )
    assert await post(client, REPLY, {"replyToken": yes["replyToken"], "messages": [HI]}) == (
        200,
        "",
    )


async def test_bodies_are_checked(fake: LineFake, client: httpx.AsyncClient) -> None:
    """JSON objects with known fields, to known ids."""
    assert (await client.post(PUSH, content=b"{")).status_code == 400
    assert (await client.post(PUSH, content=b"[]")).status_code == 400
    assert (await post(client, PUSH, {"to": USER, "messages": [HI], "x": 1}))[0] == 400
    assert (await post(client, PUSH, {"to": "somebody", "messages": [HI]}))[0] == 400
    assert fake.sent == []


@pytest.mark.parametrize(
    ("seconds", "status"), [(5, 202), (60, 202), (0, 400), (7, 400), (65, 400), ("5", 400)]
)
async def test_the_loading_animation_has_its_steps(
    client: httpx.AsyncClient, seconds: object, status: int
) -> None:
    """5 to 60 seconds, in steps of 5."""
    body = {"chatId": USER, "loadingSeconds": seconds}
    assert (await post(client, "/v2/bot/chat/loading/start", body))[0] == status


async def test_the_loading_animation_is_for_people(client: httpx.AsyncClient) -> None:
    """Not for groups."""
    assert (await post(client, "/v2/bot/chat/loading/start", {"chatId": GROUP}))[0] == 400


async def test_the_month_ends_pushes_but_not_replies(
    fake: LineFake, client: httpx.AsyncClient
) -> None:
    """A push counts once per reader."""
    fake.limit, fake.members = 4, {ROOM: 3}
    assert (await post(client, PUSH, {"to": ROOM, "messages": [HI, HI]}))[0] == 200
    assert (await client.get("/v2/bot/message/quota")).json() == {"type": "limited", "value": 4}
    assert (await client.get("/v2/bot/message/quota/consumption")).json() == {"totalUsage": 3}
    assert await post(client, PUSH, {"to": GROUP, "messages": [HI]}) == (
        429,
        "You have reached your monthly limit.",
    )
    assert (await post(client, REPLY, {"replyToken": fake.token(), "messages": [HI]}))[0] == 200


async def test_content_comes_when_it_is_ready(fake: LineFake, client: httpx.AsyncClient) -> None:
    """202 without content first, where a test says so."""
    fake.image("1", b"image", pending=1)
    answers = [await client.get("/v2/bot/message/1/content") for _ in range(2)]
    assert [(answer.status_code, answer.content) for answer in answers] == [
        (202, b""),
        (200, b"image"),
    ]
    assert (await client.get("/v2/bot/message/2/content")).status_code == 404


async def test_a_recording_is_converted_first(fake: LineFake, client: httpx.AsyncClient) -> None:
    """LINE says how far it is, of recordings alone."""
    fake.image("1", b"sound", "audio/x-m4a", pending=1)
    fake.image("2", b"film", "video/mp4", broken=True)
    fake.image("3", b"image")
    states = [
        await client.get(f"/v2/bot/message/{number}/content/transcoding") for number in (1, 1, 2)
    ]
    assert [state.json() for state in states] == [
        {"status": one} for one in ("processing", "succeeded", "failed")
    ]
    assert (await client.get("/v2/bot/message/1/content")).content == b"sound"
    assert (await client.get("/v2/bot/message/2/content")).status_code == 202
    assert (await client.get("/v2/bot/message/3/content/transcoding")).status_code == 404


async def test_profiles_tell_a_language_in_private_only(
    fake: LineFake, client: httpx.AsyncClient
) -> None:
    """And nothing of strangers."""
    assert (await client.get(f"/v2/bot/profile/{USER}")).json()["language"] == "ja"
    assert "language" not in (await client.get(f"/v2/bot/group/{GROUP}/member/{USER}")).json()
    assert (await client.get(f"/v2/bot/room/{ROOM}/member/{'U' + '9' * 32}")).status_code == 404


async def test_the_webhook_is_set_and_tested(fake: LineFake, client: httpx.AsyncClient) -> None:
    """It must be https."""
    path = "/v2/bot/channel/webhook/endpoint"
    assert (await client.get(path)).status_code == 404
    assert (await client.put(path, json={"endpoint": "http://a.example"})).status_code == 400
    assert (await client.put(path, json={"endpoint": "https://a.example"})).status_code == 200
    assert (await client.get(path)).json() == {"endpoint": "https://a.example", "active": True}
    assert (await client.post("/v2/bot/channel/webhook/test", json={})).json()["success"] is True


@pytest.mark.parametrize(
    ("trouble", "error"), [("cut", httpx.TransportError), ("stalled", httpx.ReadTimeout)]
)
async def test_it_does_and_does_not_say_so(
    fake: LineFake, client: httpx.AsyncClient, trouble: Trouble, error: type[Exception]
) -> None:
    """The line is cut, or nothing comes: the message is out all the same."""
    fake.trouble("push", trouble)
    with pytest.raises(error):
        await client.post(PUSH, json={"to": USER, "messages": [HI]}, timeout=0.2)
    assert fake.texts == [["hi"]]


async def test_it_fails_as_told(fake: LineFake, client: httpx.AsyncClient) -> None:
    """So many times, without doing anything."""
    fake.fail("push", 429, "too fast", times=2, retry_after="3")
    fake.trouble("push", "garbled")
    push = {"to": USER, "messages": [HI]}
    answer = await client.post(PUSH, json=push)
    assert (answer.status_code, answer.json(), answer.headers["Retry-After"]) == (
        429,
        {"message": "too fast"},
        "3",
    )
    assert (await post(client, PUSH, push))[0] == 429
    assert fake.sent == []
    assert (await client.post(PUSH, json=push)).headers["Content-Type"] == "text/html"
    assert [request.call for request in fake.requests] == ["push"] * 3


def test_events_look_like_lines_own() -> None:
    """Ids, source, mention places, and a signature that Kaiwa takes."""
    made = event(
        place=GROUP, message=text_message("🍎 @Kaiwa hi", mention=mention("🍎 @Kaiwa hi", "@Kaiwa"))
    )
    assert made["source"] == {"type": "group", "groupId": GROUP, "userId": USER}
    [mentionee] = made["message"]["mention"]["mentionees"]
    assert (mentionee["index"], mentionee["length"], mentionee["isSelf"]) == (3, 6, True)
    body, headers = webhook(made)
    assert is_signed(SECRET, Headers(headers), body)
