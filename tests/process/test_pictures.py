"""Files through a whole process: what it holds of them stays within a small machine's memory."""

from __future__ import annotations

import asyncio
import re
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.fakes import line_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import said
from tests.fakes.line import LineFake
from tests.process.kaiwa_process import ENTRY, Installation, KaiwaProcess
from tests.process.webhooks import post_line, post_line_event
from tests.toolset.webpage.office_files import word
from tests.waiting import until

MIB = 1024 * 1024
PICTURE = b"\xff\xd8\xff\xe0".ljust(9 * MIB, b"x")
FILM = b"film" * (31 * MIB // 4)
EACH = 6
USERS = [f"U{number:032x}" for number in range(1, 5)]
MOST = 400  # MiB; a dyno has 512, and the bundled Valkey wants some
ANSWER = "I have seen it."


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_files_of_several_people_fit_into_a_small_machine(
    here: Installation, gemini: GeminiFake, line: LineFake
) -> None:
    """A document is read by a program of its own, whose libraries the process never loads; then
    four people send six pictures of 9 MiB each, say hi, and send a film of 31 MiB, which Google is
    handed one after the other, and keeps none."""
    gemini.always = lambda _: said(ANSWER)
    # A new interpreter: a fork's memory and libraries are also its parent's.
    async with here.run(entry=ENTRY) as running:
        assert await send_document(running, line) == 200
        await until(lambda: len(line.sent) == 1, 30)
        assert "lxml" not in libraries(running)
        for count, send in enumerate((send_album, say_hi, send_film), 1):
            statuses = await asyncio.gather(*(send(running, line, user) for user in USERS))
            assert statuses == [200] * len(USERS)
            await until(partial(is_sent, line, 1 + count * len(USERS)), 60)
            assert peak(running) < MOST
        await until(lambda: not gemini.files.stored)
    assert line.texts == [[ANSWER]] * (1 + 3 * len(USERS))
    document, *others = gemini.requests
    assert "\nThe meeting is at ten.\n" in document.body["contents"][0]["parts"][1]["text"]
    pictures, films = others[: 2 * len(USERS)], others[2 * len(USERS) :]
    assert [request.raw.count(b"inlineData") for request in pictures] == [1] * 2 * len(USERS)
    assert [request.raw.count(b"fileData") for request in films] == [1] * len(USERS)
    uploads = [upload.size for upload in gemini.files.uploads.values()]
    assert uploads.count(len(FILM)) == len(USERS)


async def send_document(running: KaiwaProcess, line: LineFake) -> int:
    """Somebody sends a letter."""
    letter = word("The meeting is at ten.")
    line.image("325708", letter, "application/octet-stream")
    message = {"id": "325708", "type": "file", "fileName": "letter.docx", "fileSize": len(letter)}
    return await post_line_event(running, line.event(message=message))


async def say_hi(running: KaiwaProcess, line: LineFake, user: str) -> int:
    """Somebody writes."""
    return await post_line(running, line, "hi", user)


def is_sent(line: LineFake, count: int) -> bool:
    """Whether LINE has so many answers."""
    return len(line.sent) >= count


async def send_film(running: KaiwaProcess, line: LineFake, user: str) -> int:
    """Somebody sends a film, which LINE converts first."""
    film = line_events.message_id()
    line.image(film, FILM, "video/mp4", pending=1)
    message = {"id": film, "type": "video", "duration": 60_000, "contentProvider": {"type": "line"}}
    return await running.post(
        "/webhooks/line", *line_events.webhook(line.event(place=user, user=user, message=message))
    )


async def send_album(running: KaiwaProcess, line: LineFake, user: str) -> int:
    """Somebody sends pictures together."""
    events = []
    for index in range(1, EACH + 1):
        picture = line_events.message_id()
        line.image(picture, PICTURE)
        album = {"id": f"album-{user}", "index": index, "total": EACH}
        message = {
            "id": picture,
            "type": "image",
            "contentProvider": {"type": "line"},
            "imageSet": album,
        }
        events.append(line.event(place=user, user=user, message=message))
    return await post_line_event(running, *events)


def libraries(running: KaiwaProcess) -> str:
    """What the process has loaded, as far as the system tells."""
    maps = Path(f"/proc/{running.process.pid}/maps")
    return maps.read_text("utf-8") if maps.is_file() else ""


def peak(running: KaiwaProcess) -> int:
    """The most memory the process has held at once, in MiB."""
    status = Path(f"/proc/{running.process.pid}/status").read_text("utf-8")
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found[1]) // 1024
