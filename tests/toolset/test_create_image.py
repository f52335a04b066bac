"""``create_image``: from a description to a picture, from a picture to another one, and never more
than is allowed."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.toolset.contexts import UsesInMemory, context, http_client
from tests.toolset.images.pictures import opened, picture
from toolset.create_image import (
    NO_PICTURE,
    NOT_SHOWN,
    SHOWN,
    TOO_LARGE,
    CreateImage,
    CreateImageConfig,
)
from toolset.images import gemini as client
from toolset.images.gemini import NO_MODEL, NO_QUOTA, REFUSED, UNREADABLE
from toolset.images.worker import NOT_READ
from toolset.shown import ModelUse
from toolset.tool import (
    USED_UP,
    ToolContext,
    ToolOutcome,
    ToolSetupError,
    ValidatedTool,
    read_schemas,
)

MODEL = "gemini-3.1-flash-image"
CAT = {"prompt": "A cat under an umbrella"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """What all tools share."""
    async with http_client() as http:
        yield http


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake() as fake:
        yield fake


def offered(http: httpx.AsyncClient, fake: GeminiFake, **settings: Any) -> ValidatedTool:
    """The tool as the model gets it."""
    given = {
        "image_model": MODEL,
        "gemini_api_key": KEY,
        "google_gemini_base_url": fake.base_url,
        **settings,
    }
    made = CreateImage.create(http, CreateImageConfig(**given))
    assert made is not None
    return ValidatedTool(made, *read_schemas("create_image"))


@pytest.fixture
def tool(http: httpx.AsyncClient, fake: GeminiFake) -> ValidatedTool:
    """The tool with its usual settings."""
    return offered(http, fake)


def beside(data: bytes | None, mime: str = "image/png") -> ToolContext:
    """A call in a conversation whose newest picture is this one."""

    async def newest() -> tuple[str, bytes] | None:
        return None if data is None else (mime, data)

    return replace(context(), newest_picture=newest)


async def test_a_description_becomes_a_picture(fake: GeminiFake, tool: ValidatedTool) -> None:
    """Not the model's draft; as a JPEG, with the description where it cannot be shown, and with the
    tokens used."""
    fake.paint(picture(640, 480))
    outcome = await tool.call(CAT, context())
    (file,) = outcome.files
    assert (file.name, file.mime, file.text) == ("image.jpg", "image/jpeg", CAT["prompt"])
    assert (opened(file.data).format, opened(file.data).size) == ("JPEG", (640, 480))
    assert (outcome.response, outcome.used) == ({"image": SHOWN}, ModelUse(MODEL, 12, 1_200))
    assert fake.requests[0].body == {
        "contents": [{"role": "user", "parts": [{"text": CAT["prompt"]}]}],
        "generationConfig": {"responseModalities": ["IMAGE"]},
    }


async def test_a_shape_is_asked_for(fake: GeminiFake, tool: ValidatedTool) -> None:
    """The service knows more of them than the model is offered."""
    fake.paint(picture())
    assert not (await tool.call({**CAT, "shape": "16:9"}, context())).is_error
    assert fake.requests[0].body["generationConfig"]["imageConfig"] == {"aspectRatio": "16:9"}
    assert (await tool.call({**CAT, "shape": "32:9"}, context())).is_error


async def test_the_newest_picture_is_changed(fake: GeminiFake, tool: ValidatedTool) -> None:
    """It goes before the wish, as it is."""
    fake.paint(picture())
    given = picture(kind="WEBP")
    outcome = await tool.call(
        {"prompt": "Make it blue", "change": True}, beside(given, "image/webp")
    )
    assert not outcome.is_error, outcome.response
    first, second = fake.requests[0].body["contents"][0]["parts"]
    assert (first["inlineData"]["mimeType"], base64.b64decode(first["inlineData"]["data"])) == (
        "image/webp",
        given,
    )
    assert second == {"text": "Make it blue"}


@pytest.mark.parametrize(
    ("data", "text"), [(None, NO_PICTURE), (b"x" * (7 * 1024 * 1024 + 1), TOO_LARGE)]
)
async def test_nothing_can_be_changed(
    fake: GeminiFake, tool: ValidatedTool, data: bytes | None, text: str
) -> None:
    """No request is made."""
    outcome = await tool.call({"prompt": "Blue", "change": True}, beside(data))
    assert (outcome, fake.requests) == (ToolOutcome.error(text), [])


async def test_a_person_has_so_many_a_day(http: httpx.AsyncClient, fake: GeminiFake) -> None:
    """The same call, after a crash, is counted once."""
    tool, uses = offered(http, fake, daily_user_images=2), UsesInMemory()
    for key in ("a", "a", "b"):
        fake.paint(picture())
        assert not (
            await tool.call(CAT, replace(context(), find_store=uses.find, idempotency_key=key))
        ).is_error
    refused = await tool.call(CAT, replace(context(), find_store=uses.find, idempotency_key="c"))
    assert (refused, len(fake.requests)) == (
        ToolOutcome.error(USED_UP.format(name="create_image", limit=2)),
        3,
    )


async def test_none_is_made_where_none_is_seen(fake: GeminiFake, tool: ValidatedTool) -> None:
    """LINE shows no picture without PUBLIC_URL: nobody pays for it."""
    outcome = await tool.call(CAT, replace(context(), shows_pictures=False))
    assert (outcome, fake.requests) == (ToolOutcome.error(NOT_SHOWN), [])


async def test_an_empty_description_is_refused(fake: GeminiFake, tool: ValidatedTool) -> None:
    """Before anything is sent."""
    assert (await tool.call({"prompt": "  \n"}, context())).is_error
    assert fake.requests == []


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, REFUSED),
        (404, NO_MODEL),
        (429, NO_QUOTA),
        (503, "API error: status 503"),
        (418, "API error: status 418"),
    ],
)
async def test_a_refusal_is_told(
    fake: GeminiFake, tool: ValidatedTool, status: int, text: str
) -> None:
    """With no word of the service's own; a passing failure gets a second attempt."""
    for _ in range(2):
        fake.fail(status, "sk-secret at 10.0.0.1")
    assert await tool.call(CAT, context()) == ToolOutcome.error(text)
    assert len(fake.requests) == 1 + (status == 503)


async def test_a_second_attempt_may_succeed(fake: GeminiFake, tool: ValidatedTool) -> None:
    """The service is often busy."""
    fake.fail(503)
    fake.paint(picture())
    assert not (await tool.call(CAT, context())).is_error


@pytest.mark.parametrize("reason", ["IMAGE_SAFETY", "PROHIBITED_CONTENT", "NO_IMAGE"])
async def test_a_model_that_declines_says_why(
    fake: GeminiFake, tool: ValidatedTool, reason: str
) -> None:
    """Its word is for the model, which explains it to the person."""
    fake.finish(reason)
    assert await tool.call(CAT, context()) == ToolOutcome.error(
        f"the image model declined: {reason}"
    )


async def test_a_blocked_description_says_why(fake: GeminiFake, tool: ValidatedTool) -> None:
    """Such an answer has no candidate."""
    fake.raw(
        b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}', content_type="application/json"
    )
    assert await tool.call(CAT, context()) == ToolOutcome.error(
        "the image model declined: PROHIBITED_CONTENT"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"candidates":7}',
        b'{"candidates":[{"content":{"parts":[{"text":"Here it is"}]},"finishReason":"STOP"}]}',
        b'{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"?"}}]}}]}',
    ],
)
async def test_an_answer_without_a_picture_is_an_error(
    fake: GeminiFake, tool: ValidatedTool, body: bytes
) -> None:
    """Nothing of it is passed on."""
    fake.raw(body, content_type="application/json")
    assert await tool.call(CAT, context()) == ToolOutcome.error(UNREADABLE)


async def test_what_is_no_picture_is_not_sent(fake: GeminiFake, tool: ValidatedTool) -> None:
    """Whatever its type says."""
    fake.paint(b"<script>alert(1)</script>")
    assert await tool.call(CAT, context()) == ToolOutcome.error(NOT_READ)


async def test_an_endless_answer_is_cut_off(
    fake: GeminiFake, tool: ValidatedTool, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is whole."""
    monkeypatch.setattr(client, "ANSWER_CAP", 1_000)
    fake.raw(b" " * 10_000, content_type="application/json")
    outcome = await offered(http, fake).call(CAT, context())
    assert outcome == ToolOutcome.error("API request failed: answer too large")


async def test_a_silent_model_is_not_waited_for(
    http: httpx.AsyncClient, fake: GeminiFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person gets an answer without a picture."""
    monkeypatch.setattr(client, "TIMEOUT_S", 0.2)
    gate = Event()
    fake.paint(picture(), gate=gate)
    outcome = await offered(http, fake).call(CAT, context())
    gate.set()
    assert outcome == ToolOutcome.error("API request failed: timeout")


async def test_it_is_off_without_a_model(http: httpx.AsyncClient) -> None:
    """Pictures cost money: the operator chooses."""
    assert CreateImage.create(http, CreateImageConfig(gemini_api_key=SecretStr(KEY))) is None
    with pytest.raises(ToolSetupError, match="IMAGE_MODEL needs GEMINI_API_KEY"):
        CreateImage.create(http, CreateImageConfig(image_model=MODEL))


@pytest.mark.parametrize(
    ("written", "read"), [("gemini:gemini-3-pro-image", "gemini-3-pro-image"), ("", "")]
)
def test_a_model_may_have_its_prefix(written: str, read: str) -> None:
    """As MODEL has it."""
    assert CreateImageConfig(image_model=written).image_model == read


@pytest.mark.parametrize("written", ["openai:gpt-image-1", "a/../b", "a b", "x" * 65])
def test_another_name_is_refused(written: str) -> None:
    """It becomes a part of an address."""
    with pytest.raises(ValidationError, match=r"gemini-3\.1-flash-image"):
        CreateImageConfig(image_model=written)
