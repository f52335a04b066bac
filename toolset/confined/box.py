"""A command's run in its box: its files go in as an archive, and what it leaves is looked at from outside.

The folders in the box are memory of a fixed size. They are opened from here before the command starts, and stay open
when it has ended and its box is gone, so nothing in the box is relied on to hand anything out.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, Self

from toolset.confined.carrying import EMPTY
from toolset.confined.process import Finished, run
from toolset.confined.sandbox import FILLED, READY, SECONDS, TMP, WORK, NoSandbox, Sandbox
from toolset.confined.tree import FOLDER
from toolset.confined.workspace import MOST_ENTRIES
from toolset.tool import ToolError

LOOK_EVERY_S = 0.02
TOLD_CAP = 64 * 1024  # bytes of what bubblewrap tells about itself
TOO_MANY = f"a command may make at most {MOST_ENTRIES} files and folders"


class Box:
    """One command's box; as a context it closes what it has opened.

    Attributes:
        work: the open folder the command works in, once it has run.
    """

    work: int
    _init: int

    def __init__(self, sandbox: Sandbox, command: Sequence[str]) -> None:
        self._sandbox = sandbox
        self._command = command
        self._opened = ExitStack()
        self._ours, self._theirs = map(self._opened.enter_context, socket.socketpair())
        self._ours.setblocking(False)
        self._is_filled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    async def run(self, archive: bytes) -> Finished:
        """Run the command on the files of an archive to its end, or stop it.

        Raises:
            ToolError: it took too long, or made too many files.
            NoSandbox: it has not begun, since its box does not work.
        """
        argv = self._sandbox.argv(self._command, self._theirs.fileno())
        finished = await run(argv, SECONDS, lambda: self._accompany(archive), self._theirs)
        if not self._is_filled:
            raise NoSandbox(f"bubblewrap does not work: {finished.output.strip()}")
        await _readable(self._init)
        return finished

    async def _accompany(self, archive: bytes) -> None:
        """What is told on the socket comes from the box's own beginning: no command runs before it."""
        if sys.platform != "linux":
            raise NoSandbox("bubblewrap is a program of Linux")
        self._theirs.close()
        told = await self._told(READY)
        if not told.endswith(READY):
            return
        about: dict[str, Any] = json.loads(told.removesuffix(READY))
        init = about["child-pid"]
        try:
            self._init = self._closing(os.pidfd_open(init))
            self.work, tmp = (self._closing(os.open(f"/proc/{init}/root{folder}", FOLDER)) for folder in (WORK, TMP))
        except OSError as error:
            raise NoSandbox(f"a box cannot be looked into: {error.strerror}") from error
        with suppress(ConnectionError):  # the box has ended
            await asyncio.get_running_loop().sock_sendall(self._ours, archive)
            self._ours.shutdown(socket.SHUT_WR)
            self._is_filled = (await self._told(FILLED)).endswith(FILLED)
        while True:
            if max(_entries(self.work), _entries(tmp)) > MOST_ENTRIES:
                raise ToolError(TOO_MANY)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _told(self, end: bytes) -> bytes:
        """What is told up to this, or until nobody is left to tell."""
        told = b""
        while not told.endswith(end) and len(told) < TOLD_CAP:
            chunk = await asyncio.get_running_loop().sock_recv(self._ours, TOLD_CAP)
            if not chunk:
                break
            told += chunk
        return told

    def _closing(self, descriptor: int) -> int:
        self._opened.callback(os.close, descriptor)
        return descriptor


async def _readable(descriptor: int) -> None:
    """A process's is when it has ended; that of a box's first one, when all others in the box have."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


def _entries(folder: int) -> int:
    """Names in a file system of its own. Its bytes are limited by the system, but files without any take memory too."""
    about = os.fstatvfs(folder)
    return about.f_files - about.f_ffree - 1


async def _try(sandbox: Sandbox) -> None:
    with Box(sandbox, ["true"]) as box:
        finished = await box.run(EMPTY)
    if finished.code:
        raise NoSandbox(f"bubblewrap does not work: {finished.output.strip()}")


def require(sandbox: Sandbox) -> None:
    """Try a box, before anybody asks for one.

    Raises:
        NoSandbox: it does not work.
    """
    with ThreadPoolExecutor(1) as pool:  # an event loop may run in this thread
        try:
            pool.submit(asyncio.run, _try(sandbox)).result()
        except (OSError, ToolError) as error:
            raise NoSandbox(f"bubblewrap does not work: {error}") from error
