"""Files through a whole process: what it holds of them stays within a small machine's memory."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.fakes import line_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import answer_of
from tests.fakes.line import LineFake
from tests.fakes.mcp_server import PNG
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.process.webhooks import post_line
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
async def test_many_large_pictures_fit_into_a_small_machine(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """Four people with six pictures of 9 MiB each, and again when all four say hi afterwards."""
    gemini.always = lambda _: answer_of([{"text": ANSWER}])
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await asyncio.gather(*(send_album(running, line, user) for user in USERS)) == [
            200
        ] * len(USERS)
        await until(lambda: len(line.sent) == len(USERS), 60)
        assert peak(running) < MOST
        assert await asyncio.gather(*(post_line(running, line, "hi", user) for user in USERS)) == [
            200
        ] * len(USERS)
        await until(lambda: len(line.sent) == 2 * len(USERS), 60)
        assert peak(running) < MOST
    assert line.texts == [[ANSWER]] * 2 * len(USERS)
    assert [request.raw.count(b"inlineData") for request in gemini.requests] == [1] * 2 * len(USERS)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_films_of_several_people_fit_into_a_small_machine(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """Four people with a film of 31 MiB each: Google is handed one after the other, and keeps
    none."""
    gemini.always = lambda _: answer_of([{"text": ANSWER}])
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await asyncio.gather(*(send_film(running, line, user) for user in USERS)) == [
            200
        ] * len(USERS)
        await until(lambda: len(line.sent) == len(USERS), 60)
        assert peak(running) < MOST
        await until(lambda: not gemini.files.stored)
    assert line.texts == [[ANSWER]] * len(USERS)
    assert [request.raw.count(b"fileData") for request in gemini.requests] == [1] * len(USERS)
    assert [upload.size for upload in gemini.files.uploads.values()] == [len(FILM)] * len(USERS)


async def test_a_document_is_read_beside_the_process(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """By a program of its own, whose libraries the process itself never loads."""
    gemini.say(ANSWER)
    letter = word("The meeting is at ten.")
    line.image("325708", letter, "application/octet-stream")
    message = {"id": "325708", "type": "file", "fileName": "letter.docx", "fileSize": len(letter)}
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert (
            await running.post("/webhooks/line", *line_events.webhook(line.event(message=message)))
            == 200
        )
        await until(lambda: bool(line.sent), 30)
        assert "lxml" not in libraries(running)
    [request] = gemini.requests
    assert "\nThe meeting is at ten.\n" in request.body["contents"][0]["parts"][1]["text"]


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
    return await running.post("/webhooks/line", *line_events.webhook(*events))


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


async def test_a_file_of_the_page_reaches_the_model(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake
) -> None:
    """Uploaded to one process of two and sent with a message; in the history it stays a name and a
    picture."""
    gemini.say("A cat.")
    async with kaiwa(tmp_path, "run", "--processes", "2", **variables) as running:
        path = "/console/conversation-1/files/file_0001"
        async with running.browser() as http:
            stored = await http.put(path, params={"name": "cat.png"}, content=PNG)
        assert stored.status_code == 201
        file = {"ref": "file_0001", "name": "cat.png"} | stored.json()
        await running.say("conversation-1", "What is this?", files=[file])
        assert await running.answers("conversation-1", 1) == ["A cat."]
        question, _ = await running.history("conversation-1")
        assert question["files"] == [
            {"path": path, "name": "cat.png", "text": "cat.png", "url": ""}
        ]
        async with running.browser() as http:
            assert (await http.get(path)).content == PNG
    assert [request.raw.count(b"inlineData") for request in gemini.requests] == [1]
