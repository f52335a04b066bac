"""The supervisor of several processes, with members that only write down what they get."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.project import environment
from tests.waiting import until

pytestmark = pytest.mark.process

SUPERVISOR = """
import socket, sys
from bot.supervisor import Supervisor
folder, stop_s, *command = sys.argv[1:]
with socket.create_server(("127.0.0.1", 0)) as sock:
    sys.exit(Supervisor(sock, folder, command).run(2, float(stop_s)))
"""
MEMBER = """
import json, os, select, signal, socket, sys, time
how, listening, link, folder, is_first, replaces = sys.argv[1:]
def note(**what):
    with open(folder + "/notes", "a") as notes:
        notes.write(json.dumps({"pid": os.getpid(), **what}) + "\\n")
def leave(number, frame):
    note(signal=signal.Signals(number).name)
    if how == "waits" and is_first == "True":
        return
    if how != "hangs" and (how != "drains" or number == signal.SIGINT):
        sys.exit(0)
woken, wakeup = socket.socketpair()
wakeup.setblocking(False)
signal.set_wakeup_fd(wakeup.fileno())
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, leave)
port = socket.socket(fileno=int(listening)).getsockname()[1]
note(is_first=is_first, replaces=replaces, at=time.monotonic(), port=port)
if how.startswith("fails"):
    sys.exit(int(how[-1]))
link = socket.socket(fileno=int(link))
link.send(b"+")
if how == "falls":
    sys.exit(3)
while link not in select.select([link, woken], [], [])[0]:
    woken.recv(1)
note(signal="none")
"""


class Group:
    """A supervisor and the notes of its members."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self._notes = folder / "notes"

    @property
    def notes(self) -> list[dict[str, Any]]:
        return (
            [json.loads(line) for line in self._notes.read_text().splitlines()]
            if self._notes.exists()
            else []
        )

    @property
    def started(self) -> list[dict[str, Any]]:
        """The starts of members."""
        return [note for note in self.notes if "at" in note]

    @property
    def signals(self) -> list[str]:
        return sorted(note["signal"] for note in self.notes if "signal" in note)


@asynccontextmanager
async def group(folder: Path, how: str, stop_s: float = 20) -> AsyncIterator[Group]:
    """A supervisor of two members."""
    member = (sys.executable, "-c", MEMBER, how)
    command = (sys.executable, "-c", SUPERVISOR, str(folder), str(stop_s), *member)
    process = await asyncio.create_subprocess_exec(*command, env=environment())
    try:
        yield Group(process, folder)
    finally:
        if process.returncode is None:
            process.kill()  # its members notice
            await process.wait()


async def test_a_member_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """All listen on one port, the first one knows that it is, and who comes later gets the reason;
    SIGTERM ends all."""
    async with asyncio.timeout(30), group(tmp_path, "stays") as members:
        await until(lambda: len(members.started) == 2)
        os.kill(members.started[0]["pid"], signal.SIGKILL)
        await until(lambda: len(members.started) == 3)
        assert [note["replaces"] for note in members.started] == ["", "", "signal 9"]
        assert [note["is_first"] for note in members.started] == ["True", "False", "True"]
        assert len({note["port"] for note in members.started}) == 1
        members.process.terminate()
        assert await members.process.wait() == 0
        assert members.signals == ["SIGTERM", "SIGTERM"]


@pytest.mark.parametrize("code", [1, 2])
async def test_what_keeps_the_first_member_from_starting_ends_all(
    tmp_path: Path, code: int
) -> None:
    """A wrong setting, or a store that is away: it is printed once, with the exit code of one
    process."""
    async with asyncio.timeout(30), group(tmp_path, f"fails {code}") as members:
        assert await members.process.wait() == code
        assert len(members.started) == 1


async def test_members_that_end_at_once_are_replaced_after_a_pause(tmp_path: Path) -> None:
    """Two members of one start each in a second: they leave the CPU to others."""
    async with asyncio.timeout(30), group(tmp_path, "falls") as members:
        await until(lambda: len(members.started) >= 6)
        assert {note["replaces"] for note in members.started} == {"", "exit code 3"}
        first, *_, last = (note["at"] for note in members.started[:6])
        assert last - first >= 2
        members.process.send_signal(signal.SIGINT)
        assert await members.process.wait() == 0


async def test_the_first_member_ends_last(tmp_path: Path) -> None:
    """The end of its link tells it that the others have ended."""
    async with asyncio.timeout(30), group(tmp_path, "waits") as members:
        await until(lambda: len(members.started) == 2)
        members.process.terminate()
        assert await members.process.wait() == 0
        assert members.signals == ["SIGTERM", "SIGTERM", "none"]
        assert members.notes[-1]["pid"] == members.started[0]["pid"]


async def test_members_that_do_not_drain_are_killed(tmp_path: Path) -> None:
    """The exit code says so."""
    async with asyncio.timeout(30), group(tmp_path, "hangs", stop_s=0.5) as members:
        await until(lambda: len(members.started) == 2)
        members.process.terminate()
        assert await members.process.wait() == 1
        assert members.signals == ["SIGTERM", "SIGTERM"]


async def test_a_second_order_reaches_members_as_another_signal(tmp_path: Path) -> None:
    """A platform sends SIGTERM to every process: to the members it comes twice, and means the same
    as once."""
    async with asyncio.timeout(30), group(tmp_path, "drains") as members:
        await until(lambda: len(members.started) == 2)
        members.process.terminate()
        await until(lambda: members.signals == ["SIGTERM", "SIGTERM"])
        members.process.terminate()
        assert await members.process.wait() == 0
        assert members.signals == ["SIGINT", "SIGINT", "SIGTERM", "SIGTERM"]


async def test_members_notice_that_the_supervisor_is_dead(tmp_path: Path) -> None:
    """Their links end."""
    async with asyncio.timeout(30), group(tmp_path, "stays") as members:
        await until(lambda: len(members.started) == 2)
        members.process.kill()
        await until(lambda: members.signals == ["none", "none"])
