"""Images: fetched for a turn, sent to the model, never kept; several sent together are one
question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot import channels
from bot.channels import InboundEvent, Take
from bot.file_types import mime_of
from bot.pipeline.history import read_history
from bot.pipeline.media import EARLIER
from bot.providers.gemini.request import contents
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Media, Message, encode
from tests.bot.harness import HERE, Harness, Mailbox
from tests.bot.pipeline.held_turns import calling, held

JPEG = b"\xff\xd8\xff\xe0 a picture"


class Album(Mailbox):
    """A channel that keeps pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, bytes] = {}
        self.fetched: list[str] = []

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        self.fetched.append(media.ref)
        return media.ref in self.stored and take(self.stored[media.ref])


def picture(number: int, total: int = 0) -> InboundEvent:
    message = Message(
        f"m{number}", "user", (Media(f"pic{number}", "image/unknown"),), 1, Author("u1")
    )
    return InboundEvent(message, album=channels.Album("set", total) if total else None)


async def arrive(store: Store, event: InboundEvent) -> None:
    assert await store.inbox.accept(HERE, event.message.id, encode(event))


async def test_a_picture_reaches_the_model_and_not_the_history(store: Store) -> None:
    """The request holds its bytes and their real type; what is kept is the reference."""
    box = Album()
    box.stored = {"pic1": JPEG}
    harness = Harness(store, [Step("A cat")], box)
    await arrive(store, picture(1))
    await harness.process()
    (sent,) = harness.model.requests[0].messages
    (part,) = contents([sent], "gemini", "gemini-3.5-flash", repr)[0]["parts"][1:]
    assert part["inlineData"]["mimeType"] == "image/jpeg"
    (stored,) = (await read_history(harness.store, HERE))[0].parts
    assert stored == Media("pic1", "image/jpeg", len(JPEG))


async def test_a_picture_that_is_gone_leaves_a_placeholder(store: Store) -> None:
    """The model is told that there was one."""
    harness = Harness(store, [Step("I cannot see it")], Album())
    await arrive(store, picture(1))
    await harness.process()
    (sent,) = harness.model.requests[0].messages
    assert contents([sent], "gemini", "gemini-3.5-flash", repr)[0]["parts"][1] == {
        "text": "[image: not available]"
    }


async def test_pictures_sent_together_are_one_question(store: Store) -> None:
    """The turn waits a moment for those that are still to come."""
    box = Album()
    box.stored = {f"pic{number}": JPEG for number in range(3)}
    harness = Harness(store, [Step("Three cats")], box)
    await arrive(store, picture(0, total=3))
    attending = asyncio.create_task(harness.process())
    await arrive(store, picture(1, total=3))
    await arrive(store, picture(2, total=3))
    await attending
    assert box.texts == ["Three cats"]
    assert len(harness.model.requests[0].messages) == 3


@pytest.mark.long
async def test_an_album_that_stays_incomplete_is_answered_all_the_same(store: Store) -> None:
    """A picture that never comes does not hold up the others."""
    harness = Harness(store, [Step("One cat")], Album())
    await arrive(store, picture(0, total=2))
    await harness.process()
    assert harness.box.texts == ["One cat"]


async def test_pictures_are_fetched_once_for_all_requests_of_a_turn(store: Store) -> None:
    """A round of tools sees what the first request saw, and what has joined the turn meanwhile."""
    box = Album()
    box.stored = {"pic1": JPEG, "pic2": JPEG}
    first = calling(held=True)
    harness = Harness(store, [first, Step("Two cats")], box)
    await arrive(store, picture(1))
    async with held(harness, first):
        await arrive(store, picture(2))
    assert [shown(request.messages) for request in harness.model.requests] == [[JPEG], [JPEG, JPEG]]
    assert box.fetched == ["pic1", "pic2"]


async def test_a_later_turn_sees_the_pictures_of_the_two_before(store: Store) -> None:
    """What is older is a word that says so, and is not fetched again."""
    box = Album()
    box.stored = {"pic1": JPEG}
    harness = Harness(store, [Step(f"answer {number}") for number in range(4)], box)
    await arrive(store, picture(1))
    await harness.process()
    for number in range(2, 5):
        await harness.say("And now?", f"m{number}")
    assert [shown(request.messages) for request in harness.model.requests] == [
        [JPEG],
        [JPEG],
        [JPEG],
        [],
    ]
    assert harness.model.requests[-1].messages[0].text == EARLIER.format("image")
    assert box.fetched == ["pic1"] * 3


def shown(messages: Sequence[Message]) -> list[bytes]:
    """The contents that a request carries."""
    return [
        part.data
        for message in messages
        for part in message.parts
        if isinstance(part, Media) and part.data
    ]


@pytest.mark.parametrize(
    ("start", "mime"),
    [
        (b"\xff\xd8\xff\xe1", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x18ftypheic", "image/heic"),
        (b"<html>", ""),
        (b"", ""),
    ],
)
def test_a_type_is_known_by_the_first_bytes(start: bytes, mime: str) -> None:
    """What a platform says of a file is not relied on."""
    assert mime_of(start) == mime
