"""Runs a program of ours with some input in a process of its own, and kills it when its time is
over."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from toolset.confined.process import FLOOD, run

LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # where Python's own is, on some systems


async def run_own(program: Path, arguments: Sequence[str], given: bytes, seconds: float) -> str:
    """What the program prints; empty if it fails.

    The process gets its arguments, the input, and nothing of the environment but where libraries
    are.

    Raises:
        ToolError: it took too long.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)

        async def send() -> None:
            with suppress(OSError):  # it has ended
                await asyncio.get_running_loop().sock_sendall(ours, given)
                ours.shutdown(socket.SHUT_WR)

        argv = [sys.executable, "-IB", str(program), *arguments]
        libraries = {name: os.environ[name] for name in LIBRARIES if name in os.environ}
        result = await run(
            argv, seconds, send, stdin=theirs, output_cap=FLOOD, environment=libraries
        )
    return result.output if result.code == 0 else ""


async def run_for_picture(program: Path, given: bytes, seconds: float, beginning: bytes) -> bytes:
    """The picture that a program prints in base64.

    Args:
        beginning: of every picture in its format.

    Raises:
        ToolError: it took too long.
        ValueError: it has printed no such picture.
    """
    picture = base64.b64decode(await run_own(program, (), given, seconds), validate=True)
    if not picture.startswith(beginning):
        raise ValueError("no picture")
    return picture
