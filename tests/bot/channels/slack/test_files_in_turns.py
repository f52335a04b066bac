"""Files shared in Slack: from the signed webhook to what the model gets and people read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Text
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import DIRECT, JSON, image, mention, message
from tests.toolset.webpage.documents import pdf
from tests.toolset.webpage.office_files import sheet


class FilePipeline(SlackPipeline):
    """A process that gets files."""

    def file(self, name: str, content: bytes, mime: str, served: str = "", **fields: Any) -> JSON:
        """A file that somebody has uploaded."""
        path = f"/files-pri/T1-F1/{len(self.fake.files)}"
        self.fake.files[path] = (content, served or mime)
        return image(name, f"{self.fake.origin}{path}", mimetype=mime, size=len(content), **fields)

    async def take(self, payload: JSON) -> list[str | Media]:
        """A webhook, and what the model is shown."""
        await self.send(payload)
        parts = (
            [part for one in self.model.requests[-1].messages for part in one.parts]
            if self.model.requests
            else []
        )
        return [
            part.text if isinstance(part, Text) else part
            for part in parts
            if isinstance(part, Text | Media)
        ]


@pytest.fixture
async def pipeline(fake: SlackFake, store: Store) -> AsyncIterator[FilePipeline]:
    async with FilePipeline(store, fake, [Step("I see.")]) as pipeline:
        yield pipeline


async def test_several_files_of_one_message_are_read(pipeline: FilePipeline) -> None:
    """With its words, each in its own way: a PDF as it is, a sheet and source code as text, an
    archive not at all."""
    report = pdf("Sencha")
    files = [
        pipeline.file("report.pdf", report, "application/pdf"),
        pipeline.file(
            "prices.xlsx",
            sheet(),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        pipeline.file("main.py", b"def f():\n    return 1\n", "text/plain", filetype="python"),
        pipeline.file("all.zip", b"PK", "application/zip"),
    ]
    asked = mention("what is this?", TS, subtype="file_share", files=files)
    words, about, document, prices, code = await pipeline.take(asked)
    assert words == "what is this?\n\n[attached file, not readable here: all.zip, application/zip]"
    assert about == "[file report.pdf: attached below]"
    assert isinstance(document, Media)
    assert (document.data, document.name) == (report, "report.pdf")
    assert isinstance(prices, str)
    assert "Sencha | 1200" in prices
    assert isinstance(code, str)
    assert "\ndef f():\n    return 1\n" in code
    assert pipeline.fake.shown == ["I see."]


@pytest.mark.parametrize(
    ("mime", "heard"),
    [
        ("audio/mp4", "audio/mp4"),
        ("video/mp4", "audio/mp4"),
        ("video/webm", "audio/webm"),
        ("audio/webm", "audio/webm"),
    ],
)
async def test_a_voice_clip_is_heard(pipeline: FilePipeline, mime: str, heard: str) -> None:
    """Also where Slack calls it a video."""
    clip = pipeline.file("audio_message.mp4", b"sound", mime, subtype="slack_audio")
    body = message("", TS, channel=DIRECT, channel_type="im", subtype="file_share", files=[clip])
    [voice] = await pipeline.take(body)
    assert isinstance(voice, Media)
    assert (voice.mime, voice.data) == (heard, b"sound")


async def test_a_canvas_is_read(pipeline: FilePipeline) -> None:
    """Its main text, which Slack serves as a page."""
    page = b"<h1>Plan</h1><p>We meet on Monday.</p><ul><li>Bring tea</li></ul>"
    canvas = pipeline.file(
        "plan", page, "application/vnd.slack-docs", "text/html", title="Plan", filetype="quip"
    )
    pipeline.fake.file_cards["F0001"] = {
        "id": "F0001",
        "url_private_download": canvas["url_private"],
    }
    words, plan = await pipeline.take(mention("when?", TS, files=[canvas]))
    assert words == "when?"
    assert isinstance(plan, str)
    assert plan.startswith("[file Plan: ")
    assert "\n# Plan\nWe meet on Monday.\n- Bring tea\n" in plan
