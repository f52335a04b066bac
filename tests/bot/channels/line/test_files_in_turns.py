"""Voice messages, videos and files in LINE: from the signed webhook to what the model gets and
people read."""

from __future__ import annotations

from typing import Any

import pytest

from bot.file_types import MIB
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Text
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, text_message
from tests.toolset.webpage.office_files import word


def content(kind: str, **fields: Any) -> JSON:
    """A message that is no text, as LINE describes it."""
    return {"id": "325708", "type": kind, "quoteToken": "q", **fields}


def voice() -> JSON:
    return content("audio", duration=4_000, contentProvider={"type": "line"})


def seen(here: LinePipeline) -> list[str | Media]:
    """What the newest message shows the model."""
    return [
        part.text if isinstance(part, Text) else part
        for part in here.asked().parts
        if isinstance(part, Text | Media)
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "mime", "served"),
    [("audio", "audio/mp4", "audio/x-m4a"), ("video", "video/mp4", "video/mp4")],
)
async def test_a_recording_is_heard_and_seen(
    store: Store, fake: LineFake, kind: str, mime: str, served: str
) -> None:
    """When LINE has converted it, which takes a moment."""
    fake.image("325708", b"recorded", served, pending=1)
    async with open_pipeline(store, fake, [Step("You said hello.")]) as here:
        await here.converse(
            fake.event(message=content(kind, duration=4_000, contentProvider={"type": "line"}))
        )
        assert seen(here) == [Media("325708", mime, 8, b"recorded")]
    assert fake.texts == [["You said hello."]]


async def test_a_document_is_read(store: Store, fake: LineFake) -> None:
    """By its name, whatever LINE serves it as; words that follow are another message."""
    letter = word("The meeting is at ten.")
    fake.image("325708", letter, "application/octet-stream")
    message = content("file", fileName="議事録 <2>.docx", fileSize=len(letter))
    async with open_pipeline(store, fake, [Step("At ten.")]) as here:
        await here.converse(fake.event(message=message), fake.event(message=text_message("When?")))
        [file] = here.model.requests[0].messages[0].parts
        assert isinstance(file, Text)
        assert file.text.startswith("[file 議事録 2 .docx: ")
        assert "\nThe meeting is at ten.\n" in file.text
        assert here.asked().text == "When?"
    assert fake.texts == [["At ten."]]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("setup.exe", 100),
        ("archive.zip", 100),
        ("report.pdf", 13 * MIB),
        ("letter.doc", 100),
        ("", 100),
    ],
)
async def test_what_cannot_be_read_is_answered_with_the_limits(
    store: Store, fake: LineFake, name: str, size: int
) -> None:
    """By a sentence of the catalogue; nothing is fetched."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.event(message=content("file", fileName=name, fileSize=size)))
    assert fake.texts == [[texts().get("line.kind_file", "ja")]]
    assert fake.calls("content") == []


@pytest.mark.long
async def test_a_recording_that_line_cannot_convert_is_named(store: Store, fake: LineFake) -> None:
    """The model is told that there was one."""
    fake.image("325708", b"", "audio/x-m4a", broken=True)
    async with open_pipeline(store, fake, [Step("I could not get it.")]) as here:
        await here.converse(fake.event(message=voice()))
        assert seen(here) == [Media("325708", "audio/mp4")]
    assert fake.texts == [["I could not get it."]]


@pytest.mark.parametrize("kind", ["audio", "video", "file"])
async def test_files_in_a_group_are_not_for_the_bot(
    store: Store, fake: LineFake, kind: str
) -> None:
    """LINE cannot tell whom they are meant for, as with pictures."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(
            fake.event(place=GROUP, message=content(kind, fileName="a.pdf", fileSize=1))
        )
        assert here.model.requests == []
    assert fake.requests == []
