"""The stand-in for Gemini's cached contents is as strict as the real service, and forgets as it
does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.gemini import KEY, GeminiFake, gemini_fake_in_thread
from tests.shared_data import recorded
from tests.waiting import until

JSON = dict[str, Any]

MODEL = "models/gemini-3.5-flash"
STREAM = "v1beta/models/gemini-3.5-flash:streamGenerateContent"
QUESTION = {"role": "user", "parts": [{"text": "?"}]}
LONG = {"parts": [{"text": "x" * 4096 * 4}]}
GONE = (403, "CachedContent not found (or permission denied)")

REFUSED: list[tuple[JSON, tuple[int, str]]] = [
    ({"systemInstruction": LONG}, (400, "unexpected model name format")),
    (
        {"model": "gemini-3.5-flash", "systemInstruction": LONG},
        (400, "unexpected model name format"),
    ),
    (
        {"model": "models/gemini-9", "systemInstruction": LONG},
        (404, "is not supported for createCachedContent"),
    ),
    (
        {"model": MODEL, "systemInstruction": QUESTION},
        (400, "too small. total_token_count=15, min_total_token_"),
    ),
    (
        {"model": MODEL, "systemInstruction": LONG, "generationConfig": {}},
        (400, 'Unknown name "generationConfig"'),
    ),
    (
        {"model": MODEL, "systemInstruction": LONG, "ttl": "600"},
        (400, "Invalid value at 'cached_content.ttl'"),
    ),
    (
        {
            "model": MODEL,
            "systemInstruction": LONG,
            "ttl": "1s",
            "expireTime": "2030-01-01T00:00:00Z",
        },
        (400, "oneof field 'expiration' is already set"),
    ),
    ({"model": MODEL, "tools": [{}, {}]}, (400, "Multiple tools are supported only")),
    (
        {
            "model": MODEL,
            "systemInstruction": LONG,
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        },
        (400, "set without function_declarations"),
    ),
]


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake_in_thread() as fake:
        yield fake


def send(
    fake: GeminiFake, method: str, path: str, body: JSON | None = None, key: str = KEY
) -> httpx.Response:
    """One request, by hand."""
    return httpx.request(
        method, f"{fake.base_url}/{path}", json=body, headers={"x-goog-api-key": key}
    )


def refusal(response: httpx.Response) -> tuple[int, str]:
    """Status and text of an error."""
    return response.status_code, response.json()["error"]["message"]


def created(fake: GeminiFake, **fields: Any) -> str:
    """The name of a content that is kept."""
    response = send(
        fake, "POST", "v1beta/cachedContents", {"model": MODEL, "systemInstruction": LONG, **fields}
    )
    name: str = response.json()["name"]
    return name


@pytest.mark.parametrize(("body", "expected"), REFUSED)
def test_what_cannot_be_cached_is_refused(
    fake: GeminiFake, body: JSON, expected: tuple[int, str]
) -> None:
    """With the service's text; nothing is kept."""
    status, text = refusal(send(fake, "POST", "v1beta/cachedContents", body))
    assert (status, expected[1] in text, fake.caches.kept) == (expected[0], True, {}), text


def test_what_the_specification_does_not_know_is_refused(fake: GeminiFake) -> None:
    """Prompt and tools have the form they have in a request."""
    recorded("..", "specs", "gemini", "generatecontent_request.strict.schema.json")
    body = {"model": MODEL, "systemInstruction": {**LONG, "text": "x"}}
    status, text = refusal(send(fake, "POST", "v1beta/cachedContents", body))
    assert (status, text.startswith("Invalid JSON payload received. $.systemInstruction")) == (
        400,
        True,
    ), text


def test_a_content_is_described(fake: GeminiFake) -> None:
    """Without what is in it."""
    body = {
        "model": MODEL,
        "system_instruction": LONG,
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    }
    card = send(
        fake, "POST", "v1beta/cachedContents", {**body, "ttl": "1.5s", "displayName": "f"}
    ).json()
    assert card.keys() == {
        "name",
        "model",
        "createTime",
        "updateTime",
        "expireTime",
        "usageMetadata",
    }
    assert (card["name"], card["model"]) == ("cachedContents/1", MODEL)
    assert card["usageMetadata"]["totalTokenCount"] > 4096
    assert fake.caches.kept["cachedContents/1"].seconds == 1.5


def test_a_content_lives_an_hour_unless_it_is_told_otherwise(fake: GeminiFake) -> None:
    """By a duration or a time; there is nothing else to change."""
    name = created(fake)
    content = fake.caches.kept[name]
    assert content.seconds == 3600
    assert send(fake, "PATCH", f"v1beta/{name}", {"ttl": "600s"}).json()["name"] == name
    assert content.seconds == 600
    send(fake, "PATCH", f"v1beta/{name}", {"expireTime": "2100-01-01T00:00:00Z"})
    assert content.seconds > 3600
    assert refusal(send(fake, "PATCH", f"v1beta/{name}", {})) == (
        400,
        "Only expiration can be updated.",
    )
    assert refusal(send(fake, "PATCH", f"v1beta/{name}", {"tools": []}))[0] == 400


async def test_a_content_that_has_expired_is_gone(fake: GeminiFake) -> None:
    """For requests, changes and deletion alike."""
    name = created(fake, ttl="0.01s")
    body = {"contents": [QUESTION], "cachedContent": name}
    fake.say("ok")
    await until(lambda: send(fake, "POST", STREAM, body).status_code == 403)
    assert refusal(send(fake, "POST", STREAM, body)) == GONE
    assert refusal(send(fake, "PATCH", f"v1beta/{name}", {"ttl": "9s"})) == GONE
    assert refusal(send(fake, "DELETE", f"v1beta/{name}")) == GONE


def test_a_content_is_deleted_once(fake: GeminiFake) -> None:
    """The second time it is not there."""
    name = created(fake)
    assert send(fake, "DELETE", f"v1beta/{name}").json() == {}
    assert refusal(send(fake, "DELETE", f"v1beta/{name}")) == GONE
    assert fake.caches.log == ["POST", f"DELETE {name}", f"DELETE {name}"]


def test_a_content_serves_its_own_model(fake: GeminiFake) -> None:
    """And is counted in each event of an answer."""
    name = created(fake)
    body = {"contents": [QUESTION], "cachedContent": name}
    other = refusal(send(fake, "POST", STREAM.replace("3.5-flash", "2.5-pro"), body))
    ours, theirs = MODEL, "models/gemini-2.5-pro"
    same = (
        f"Model used by GenerateContent request ({theirs}) and CachedContent ({ours}) has to be "
        "the same."
    )
    assert other == (400, same)
    fake.say("ok")
    [event] = send(fake, "POST", STREAM, body).json()
    tokens = fake.caches.kept[name].tokens
    assert event["usageMetadata"] == {
        "promptTokenCount": 100 + tokens,
        "cachedContentTokenCount": tokens,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 115 + tokens,
    }


def test_a_smaller_content_is_enough_for_an_older_model(fake: GeminiFake) -> None:
    """2,048 tokens for 2.5, 4,096 after that."""
    body = {
        "model": "models/gemini-2.5-flash",
        "systemInstruction": {"parts": [{"text": "x" * 2048 * 4}]},
    }
    assert send(fake, "POST", "v1beta/cachedContents", body).status_code == 200
    assert send(fake, "POST", "v1beta/cachedContents", {**body, "model": MODEL}).status_code == 400


def test_what_is_not_offered_is_not_found(fake: GeminiFake) -> None:
    """Nor is anything without a key."""
    assert refusal(send(fake, "GET", "v1beta/cachedContents"))[0] == 404
    assert refusal(send(fake, "POST", "v1beta/cachedContents/1", {}))[0] == 404
    assert refusal(send(fake, "POST", "v1beta/cachedContents", {}, key="wrong"))[1].startswith(
        "API key not valid."
    )
    broken = httpx.post(
        f"{fake.base_url}/v1beta/cachedContents", content=b"{", headers={"x-goog-api-key": KEY}
    )
    assert refusal(broken) == (400, "Invalid JSON payload received.")
