"""Files of people are fetched with the bot's token, and only such as can be read, and only from
Slack; those of answers are shared once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bot.channels import Delivery, Reply
from bot.channels.slack import Config
from bot.errors import DeliverLater, TokenRefused
from bot.file_types import CANVAS
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Text
from tests.bot.channels.fetching import fetched
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, JSON, image, mention, message
from tests.fakes.stored_files import CHART, PNG, LocalFiles
from tests.toolset.webpage.documents import pdf
from tests.toolset.webpage.office_files import sheet

CAT = b"\x89PNG\r\n\x1a\n" + b"x" * 100
PATH = "/files-pri/T1-F1/cat.png"
MIB = 1024 * 1024
UPLOAD, SHARE = "files.getUploadURLExternal", "files.completeUploadExternal"
SHARED = [("weather.png", PNG, TS)]


async def fetch(rig: Rig, ref: str, mime: str = "image/png", size: int = 100) -> bytes | None:
    return await fetched(rig.slack, "slack:x", Media(ref, mime, size))


async def test_a_file_known_by_its_id_alone_is_looked_up(fake: SlackFake, rig: Rig) -> None:
    """As in channels shared with other workspaces."""
    fake.files[PATH] = (CAT, "image/png")
    fake.file_cards["F1"] = {"id": "F1", "url_private": f"{fake.origin}{PATH}"}
    assert await fetch(rig, "F1") == CAT
    assert await fetch(rig, "F2") is None


@pytest.mark.parametrize(
    ("kind", "content"),
    [("text/plain", b"words"), ("image/gif", b"GIF89a")],
)
async def test_what_is_no_image_for_a_model_is_left(
    fake: SlackFake, rig: Rig, kind: str, content: bytes
) -> None:
    """Whatever the event has called it."""
    fake.files[PATH] = (content, kind)
    assert await fetch(rig, f"{fake.origin}{PATH}") is None


async def test_a_canvas_is_a_page_that_files_info_lets_us_have(fake: SlackFake, rig: Rig) -> None:
    """A page in place of any other file is the login page."""
    fake.files[PATH] = (b"<h1>Plan</h1>", "text/html")
    fake.file_cards["F1"] = {
        "id": "F1",
        "url_private": "x",
        "url_private_download": f"{fake.origin}{PATH}",
    }
    assert await fetch(rig, "F1", CANVAS) == b"<h1>Plan</h1>"
    for ref, mime in ((f"{fake.origin}{PATH}", CANVAS), ("F1", "application/pdf")):
        with capture_logs() as logged:
            assert await fetch(rig, ref, mime) is None
        assert [line["cause"] for line in logged] == ["a login page came in its place"]


async def test_a_login_page_is_no_image(fake: SlackFake, rig: Rig) -> None:
    """Without the scope Slack sends one with status 200; the log names the scope."""
    fake.files[PATH] = (CAT, "image/png")
    fake.scopes.remove("files:read")
    with capture_logs() as logged:
        assert await fetch(rig, f"{fake.origin}{PATH}") is None
        assert await fetch(rig, "F1") is None
    assert all("files:read" in line["fix"] for line in logged)
    assert len(logged) == 2


@pytest.mark.parametrize(
    ("ref", "mime", "size"),
    [
        ("https://evil.example/cat.png", "image/png", 1),
        ("https://evil.example/?.slack.com", "image/png", 1),
        ("https://evilslack.com/cat.png", "image/png", 1),
        ("http://files.slack.com/cat.png", "image/png", 1),
        ("https://files.slack.com@evil.example/cat.png", "image/png", 1),
        ("file:///etc/passwd", "image/png", 1),
        ("https://files.slack.com/x.zip", "application/zip", 1),
        ("https://files.slack.com/x.pdf", "application/pdf", 13 * MIB),
        ("https://files.slack.com/x.gif", "image/gif", 1),
        ("https://files.slack.com/x.png", "image/png", 11 * MIB),
    ],
)
async def test_nothing_else_is_even_asked_for(rig: Rig, ref: str, mime: str, size: int) -> None:
    """The token goes to Slack alone; the guard of these tests would see any other address."""
    assert await fetch(rig, ref, mime, size) is None


@pytest.mark.parametrize(
    ("url", "is_slack_url"),
    [
        ("https://files.slack.com/a", True),
        ("https://hooks.slack.com/commands/1", True),
        ("https://slack.com/api/x", True),
        ("https://slack.com.evil.example/", False),
        ("https://[bad", False),
        ("", False),
    ],
)
def test_slacks_addresses_are_known(url: str, is_slack_url: bool) -> None:
    """By scheme and host."""
    assert Config().is_slack_url(url) is is_slack_url


async def test_a_file_that_is_gone_or_out_of_reach_is_none(fake: SlackFake, rig: Rig) -> None:
    """The model gets a placeholder."""
    assert await fetch(rig, f"{fake.origin}/files-pri/gone.png") is None
    fake.break_down("files.info")
    assert await fetch(rig, "F1") is None


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


@pytest.fixture
def files() -> LocalFiles:
    """The files, with a chart."""
    return LocalFiles()


@pytest.fixture
async def sharing(fake: SlackFake, files: LocalFiles) -> AsyncIterator[Rig]:
    """The channel, with files."""
    async with open_rig(fake, files=files) as sharing:
        yield sharing


def with_chart(attempts: int = 1, **address: Any) -> Delivery:
    """The delivery of a file, as ``split`` makes it."""
    return replace(delivery(attempts=attempts, **address), reply=Reply(CHART.text, files=(CHART,)))


async def deliver(sharing: Rig, what: Delivery) -> None:
    await sharing.slack.deliver("slack:T00000001:C00000001:x", what, ours)


def words(fake: SlackFake) -> list[str]:
    return [posted["markdown_text"] for posted in fake.posted]


def test_each_file_is_a_message_of_its_own(sharing: Rig) -> None:
    """So that text and files are delivered once each."""
    reply = Reply("Here they are.", private=True, files=(CHART, CHART))
    file = Reply(CHART.text, private=True, files=(CHART,))
    assert sharing.slack.split(reply) == [Reply("Here they are.", private=True), file, file]


async def test_a_file_is_shared_in_the_thread(fake: SlackFake, sharing: Rig) -> None:
    """With its words for people who do not see it; nothing else is posted."""
    await deliver(sharing, with_chart())
    assert (fake.shared, fake.posted) == (SHARED, [])
    assert fake.called(UPLOAD) == [
        {"filename": "weather.png", "length": str(len(PNG)), "alt_txt": CHART.text}
    ]


@pytest.mark.parametrize("lost", ["hang_up", "break_down"])
async def test_a_share_whose_answer_is_lost_is_not_repeated(
    fake: SlackFake, sharing: Rig, lost: str
) -> None:
    """The second attempt finds the file in the thread."""
    getattr(fake, lost)(SHARE, after=True)
    with pytest.raises(DeliverLater):
        await deliver(sharing, with_chart())
    await deliver(sharing, with_chart(attempts=2))
    assert fake.shared == SHARED


@pytest.mark.parametrize("method", [UPLOAD, SHARE, "upload"])
async def test_what_did_not_arrive_is_sent_again(
    fake: SlackFake, sharing: Rig, method: str
) -> None:
    """From the beginning."""
    fake.break_down(method)
    with pytest.raises(DeliverLater):
        await deliver(sharing, with_chart())
    assert fake.shared == []
    await deliver(sharing, with_chart(attempts=2))
    assert fake.shared == SHARED


async def test_without_the_scope_there_are_words(fake: SlackFake, sharing: Rig) -> None:
    """The log says what to do."""
    fake.scopes.remove("files:write")
    with capture_logs() as logged:
        await deliver(sharing, with_chart())
    assert (words(fake), fake.shared) == ([CHART.text], [])
    assert [line["fix"] for line in logged if "fix" in line] == [
        "the app needs the scope files:write; add it and install the app again"
    ]


async def test_a_file_that_is_gone_is_told_in_words(
    fake: SlackFake, sharing: Rig, files: LocalFiles
) -> None:
    """Its day is over."""
    files.stored.clear()
    await deliver(sharing, with_chart())
    assert words(fake) == [CHART.text]


async def test_a_store_that_is_away_is_waited_for(
    fake: SlackFake, sharing: Rig, files: LocalFiles
) -> None:
    """The file may still be there."""
    files.away = True
    with pytest.raises(DeliverLater):
        await deliver(sharing, with_chart())
    assert (fake.posted, fake.shared) == ([], [])


async def test_refusals_have_their_consequence(fake: SlackFake, sharing: Rig) -> None:
    """A dead token waits for the operator; any other refusal leaves the words."""
    fake.fail(UPLOAD, "token_revoked")
    with pytest.raises(TokenRefused):
        await deliver(sharing, with_chart())
    fake.fail(SHARE, "posting_to_channel_denied")
    await deliver(sharing, with_chart())
    assert words(fake) == [CHART.text]
    fake.break_down("upload", status=400)
    await deliver(sharing, replace(with_chart(), id="turn_2"))
    assert words(fake) == [CHART.text] * 2


async def test_an_answer_for_one_person_has_words(fake: SlackFake, sharing: Rig) -> None:
    """A file is seen by the whole channel."""
    address = f"{fake.origin}/commands/1"
    await deliver(sharing, with_chart(response_url=address))
    assert [spoken["text"] for spoken in fake.responses["/commands/1"]] == [CHART.text]
    assert (fake.shared, CHANNEL in str(fake.posted)) == ([], False)
