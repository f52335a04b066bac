"""``create_image`` in a conversation: which picture is changed, what is counted, and where none is
made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from bot.channels import Abilities, InboundEvent
from bot.features.limits.feature import UNCOUNTED
from bot.features.limits.store import Counter, Counters
from bot.providers import MediaSupport
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import kv_key
from bot.transcript import Author, Media, Message, Text, ToolCall
from tests.bot.harness import UTC, WRITTEN_AT, Harness
from tests.bot.pipeline.test_sent_files import PICTURES, Drive
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.toolset.contexts import http_client
from tests.toolset.images.pictures import opened, picture
from toolset.create_image import NO_PICTURE, NOT_SHOWN, SHOWN, CreateImage, CreateImageConfig
from toolset.tool import USED_UP, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

MODEL = "gemini-3.1-flash-image"
PHOTO = picture(32, 32, "JPEG", "#ff0000")
DRAW, CHANGE = {"prompt": "A cat"}, {"prompt": "Make it blue", "change": True}


def steps(*calls: dict[str, Any]) -> list[Step]:
    """A model that makes each call in a turn of its own."""
    return [
        step
        for number, call in enumerate(calls)
        for step in (Step(calls=(ToolCall(f"c{number}", "create_image", call),)), Step("Done."))
    ]


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake() as fake:
        yield fake


@pytest.fixture
async def tools(fake: GeminiFake) -> AsyncIterator[ToolMap]:
    """The tool alone; a person has two pictures a day."""
    async with http_client() as http:
        yield ToolMap([ValidatedTool(made(http, fake), *read_schemas("create_image"))])


def made(http: httpx.AsyncClient, fake: GeminiFake) -> CreateImage:
    """The tool."""
    config = CreateImageConfig(
        image_model=MODEL,
        daily_user_images=2,
        gemini_api_key=SecretStr(KEY),
        google_gemini_base_url=fake.base_url,
    )
    tool = CreateImage.create(http, config)
    assert tool is not None
    return tool


async def say(harness: Harness, number: int, *parts: Text | Media, author: str = "u1") -> None:
    """A message, and the whole turn that it begins."""
    message = Message(f"m{number}", "user", parts, WRITTEN_AT + number, Author(author))
    await harness.take(InboundEvent(message))


def sees(harness: Harness) -> Harness:
    """A model that sees pictures."""
    harness.model.media = MediaSupport(PICTURES.kinds)
    return harness


def results(harness: Harness) -> list[dict[str, Any]]:
    """What the model has read of the last call."""
    return [
        one.response for message in harness.model.requests[-1].messages for one in message.results
    ][-1:]


async def test_a_picture_that_somebody_sent_is_changed(
    store: Store, fake: GeminiFake, tools: ToolMap
) -> None:
    """In the turn that shows it to the model."""
    harness = sees(Harness(store, steps(CHANGE), Drive(photo=PHOTO), tools))
    fake.paint(picture())
    await say(harness, 1, Media("photo", "image/jpeg"), Text("Make it blue"))
    part, _ = fake.requests[0].body["contents"][0]["parts"]
    assert part["inlineData"]["mimeType"] == "image/jpeg"
    (file,) = harness.box.delivered[-1].reply.files
    assert (file.name, file.text, results(harness)) == (
        "image.jpg",
        "Make it blue",
        [{"image": SHOWN}],
    )


async def test_the_picture_that_was_made_last_is_changed(
    store: Store, fake: GeminiFake, tools: ToolMap
) -> None:
    """A turn later, from the store."""
    harness = sees(Harness(store, steps(DRAW, CHANGE), Drive(), tools))
    fake.paint(picture(colour="#00ff00"))
    fake.paint(picture())
    await say(harness, 1, Text("Draw a cat"))
    await say(harness, 2, Text("Make it blue"))
    first, second = (delivery.reply.files[0] for delivery in harness.box.delivered)
    assert first.id != second.id
    given = fake.requests[1].body["contents"][0]["parts"][0]["inlineData"]
    stored = await store.files.read(first.id)
    assert stored is not None
    assert given["mimeType"] == "image/jpeg"
    assert opened(stored.data).size == (64, 48)


async def test_there_may_be_none(store: Store, fake: GeminiFake, tools: ToolMap) -> None:
    """The model asks the person for it; a picture that is gone is none."""
    harness = sees(Harness(store, steps(CHANGE, DRAW, CHANGE), Drive(), tools))
    await say(harness, 1, Text("Make it blue"))
    assert (results(harness), fake.requests) == ([{"error": NO_PICTURE}], [])
    fake.paint(picture())
    await say(harness, 2, Text("Draw a cat"))
    (file,) = harness.box.delivered[-1].reply.files
    await store.files.erase("mailbox", ["room-0001"])
    assert await store.files.read(file.id) is None
    await say(harness, 3, Text("Make it blue"), author="u2")
    assert results(harness) == [{"error": NO_PICTURE}]


async def test_a_person_has_so_many_a_day(store: Store, fake: GeminiFake, tools: ToolMap) -> None:
    """In all turns together; others have their own."""
    harness = Harness(store, steps(DRAW, DRAW, DRAW, DRAW), Drive(), tools)
    for number in range(3):
        fake.paint(picture())
        await say(harness, number, Text("Draw a cat"))
    assert results(harness) == [{"error": USED_UP.format(name="create_image", limit=2)}]
    await say(harness, 4, Text("Draw a cat"), author="u2")
    assert (results(harness), fake.unused) == ([{"image": SHOWN}], 0)


async def test_none_is_made_while_the_store_does_not_count_it(
    store: Store, redis: Redis, fake: GeminiFake, tools: ToolMap
) -> None:
    """It would cost money without a limit; the model is told the cause, and that it may try
    again."""
    harness, counter = Harness(store, steps(DRAW, DRAW), Drive(), tools), "mailbox:u1 create_image"
    await redis.set(kv_key(f"spent:{UTC.today}:user:{counter}"), "no counter", ex=60)
    await say(harness, 1, Text("Draw a cat"))
    assert (results(harness), fake.requests) == ([{"error": UNCOUNTED}], [])
    await redis.delete(kv_key(f"spent:{UTC.today}:user:{counter}"))
    fake.paint(picture())
    await say(harness, 2, Text("Draw a cat"))
    assert (results(harness), fake.unused) == ([{"image": SHOWN}], 0)


async def test_its_tokens_are_counted(store: Store, fake: GeminiFake, tools: ToolMap) -> None:
    """Among the person's, and in the operator's report by the image model's name."""
    harness = Harness(store, steps(DRAW), Drive(), tools)
    fake.paint(picture())
    await say(harness, 1, Text("Draw a cat"))
    await harness.runner.services.features.aclose()
    _, (spent,) = await Counters(store).read(UTC.today, "", [Counter("user", "mailbox:u1")])
    (day,) = await Counters(store).days([UTC.today])
    counts = {kind: count for kind, count in day.counts.items() if MODEL in kind and count}
    assert counts == {f"input {MODEL}": 12, f"output {MODEL}": 1_200}
    assert (spent.messages, spent.tokens) == (1, day.counts["tokens"])
    assert day.counts["tokens"] >= 1_212


async def test_none_is_made_where_a_channel_shows_none(
    store: Store, fake: GeminiFake, tools: ToolMap
) -> None:
    """Such as LINE without a public address."""
    box = Drive()
    box.abilities = Abilities(shows_pictures=False)
    harness = Harness(store, steps(DRAW), box, tools)
    await say(harness, 1, Text("Draw a cat"))
    assert (results(harness), fake.requests) == ([{"error": NOT_SHOWN}], [])
