"""Voice messages, videos and files in LINE: from the signed webhook to what the model gets and
people read."""

from __future__ import annotations

from typing import Any

import pytest

from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Text
from tests.bot.channels.line.pipeline import open_pipeline
from tests.fakes.line import LineFake
from tests.fakes.line_events import JSON
from tests.toolset.webpage.office_files import word


def content(kind: str, **fields: Any) -> JSON:
    """A message that is no text, as LINE describes it."""
    return {"id": "325708", "type": kind, "quoteToken": "q", **fields}


@pytest.mark.long
async def test_a_recording_is_heard(store: Store, fake: LineFake) -> None:
    """When LINE has converted it, which takes a moment."""
    fake.image("325708", b"recorded", "audio/x-m4a", pending=1)
    async with open_pipeline(store, fake, [Step("You said hello.")]) as here:
        voice = content("audio", duration=4_000, contentProvider={"type": "line"})
        await here.converse(fake.event(message=voice))
        assert here.asked().parts == (Media("325708", "audio/mp4", 8, b"recorded"),)
    assert fake.texts == [["You said hello."]]


async def test_a_document_is_read(store: Store, fake: LineFake) -> None:
    """By its name, whatever LINE serves it as; words that follow are another message."""
    letter = word("The meeting is at ten.")
    fake.image("325708", letter, "application/octet-stream")
    message = content("file", fileName="議事録 <2>.docx", fileSize=len(letter))
    async with open_pipeline(store, fake, [Step("At ten.")]) as here:
        await here.converse(fake.event(message=message), fake.text("When?"))
        [file] = here.model.requests[0].messages[0].parts
        assert isinstance(file, Text)
        assert file.text.startswith("[file 議事録 2 .docx: ")
        assert "\nThe meeting is at ten.\n" in file.text
        assert here.asked().text == "When?"
    assert fake.texts == [["At ten."]]
