"""Files are fetched with the bot's token, and only such as can be read, and only from Slack."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.channels.slack import Config
from bot.file_types import CANVAS
from bot.transcript import Media
from tests.bot.channels.fetching import fetched
from tests.bot.channels.slack.rig import Rig
from tests.fakes.slack import SlackFake

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100
PATH = "/files-pri/T1-F1/cat.png"
MIB = 1024 * 1024


async def fetch(rig: Rig, ref: str, mime: str = "image/png", size: int = 100) -> bytes | None:
    return await fetched(rig.slack, "slack:x", Media(ref, mime, size))


async def test_a_file_known_by_its_id_alone_is_looked_up(fake: SlackFake, rig: Rig) -> None:
    """As in channels shared with other workspaces."""
    fake.files[PATH] = (PNG, "image/png")
    fake.file_cards["F1"] = {"id": "F1", "url_private": f"{fake.origin}{PATH}"}
    assert await fetch(rig, "F1") == PNG
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
    fake.files[PATH] = (PNG, "image/png")
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
