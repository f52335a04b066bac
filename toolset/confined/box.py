"""One run of a command in the sandbox: its files go in as an archive, its results are read from
outside.

The sandbox's folders are in memory, with a fixed size. They are opened from here before the command
starts and stay open after its end, so no process in the sandbox is trusted to send results.
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

from toolset.confined.archive import EMPTY
from toolset.confined.process import CommandResult, run
from toolset.confined.sandbox import FILLED, READY, SECONDS, TMP, WORK, NoSandbox, Sandbox
from toolset.confined.tree import FOLDER
from toolset.confined.workspace import MAX_ENTRIES
from toolset.tool import ToolError

POLL_S = 0.02
INFO_CAP = 64 * 1024  # bytes of bubblewrap's JSON about the sandbox
TOO_MANY = f"a command may make at most {MAX_ENTRIES} files and folders"


class Box:
    """One sandboxed command; leaving the context closes all descriptors.

    Attributes:
        work: descriptor of the command's working folder, once it has run.
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

    async def run(self, archive: bytes) -> CommandResult:
        """Run the command on the files of an archive.

        Raises:
            ToolError: it was stopped: it took too long, or made too many files.
            NoSandbox: it was not started, because the sandbox does not work.
        """
        argv = self._sandbox.argv(self._command, self._theirs.fileno())
        finished = await run(argv, SECONDS, lambda: self._fill_and_watch(archive), self._theirs)
        if not self._is_filled:
            raise NoSandbox(f"bubblewrap does not work: {finished.output.strip()}")
        await _wait_for_exit(self._init)
        return finished

    async def _fill_and_watch(self, archive: bytes) -> None:
        """Fill the sandbox, then count its files until cancelled. The socket is trusted: the
        command never has it."""
        if sys.platform != "linux":
            raise NoSandbox("bubblewrap is a program of Linux")
        self._theirs.close()
        received = await self._receive_until(READY)
        if not received.endswith(READY):
            return
        info: dict[str, Any] = json.loads(received.removesuffix(READY))
        init = info["child-pid"]
        try:
            self._init = self._close_later(os.pidfd_open(init))
            self.work, tmp = (
                self._close_later(os.open(f"/proc/{init}/root{folder}", FOLDER))
                for folder in (WORK, TMP)
            )
        except OSError as error:
            raise NoSandbox(f"the sandbox cannot be opened: {error.strerror}") from error
        with suppress(ConnectionError):  # the sandbox has ended
            await asyncio.get_running_loop().sock_sendall(self._ours, archive)
            self._ours.shutdown(socket.SHUT_WR)
            self._is_filled = (await self._receive_until(FILLED)).endswith(FILLED)
        while True:
            if max(_entries(self.work), _entries(tmp)) > MAX_ENTRIES:
                raise ToolError(TOO_MANY)
            await asyncio.sleep(POLL_S)

    async def _receive_until(self, end: bytes) -> bytes:
        """Receive up to ``end``, or to the end of the stream."""
        received = b""
        while not received.endswith(end) and len(received) < INFO_CAP:
            chunk = await asyncio.get_running_loop().sock_recv(self._ours, INFO_CAP)
            if not chunk:
                break
            received += chunk
        return received

    def _close_later(self, descriptor: int) -> int:
        self._opened.callback(os.close, descriptor)
        return descriptor


async def _wait_for_exit(descriptor: int) -> None:
    """Wait for a process by its pidfd; the sandbox's first process ends after all others in it."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


def _entries(folder: int) -> int:
    """Files in a memory file system. Its size limits bytes only, but empty files take memory
    too."""
    about = os.fstatvfs(folder)
    return about.f_files - about.f_ffree - 1


async def _run_true(sandbox: Sandbox) -> None:
    with Box(sandbox, ["true"]) as box:
        finished = await box.run(EMPTY)
    if finished.code:
        raise NoSandbox(f"bubblewrap does not work: {finished.output.strip()}")


def check_sandbox(sandbox: Sandbox) -> None:
    """Run ``true`` in the sandbox.

    Raises:
        NoSandbox: it does not work.
    """
    with ThreadPoolExecutor(1) as pool:  # an event loop may run in this thread
        try:
            pool.submit(asyncio.run, _run_true(sandbox)).result()
        except (OSError, ToolError) as error:
            raise NoSandbox(f"bubblewrap does not work: {error}") from error
