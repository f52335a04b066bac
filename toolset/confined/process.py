"""Runs a program to its end or stops it: too long, too much said, or no longer wanted."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from toolset.tool import ToolError

OUTPUT_CAP = 32 * 1024  # bytes kept
FLOOD = 1024 * 1024  # bytes after which a program is stopped


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a program.

    Attributes:
        code: its exit code; 128 and the number of the signal where one ended it.
        output: what it said on both channels, with a word where that is not all.
        is_whole: whether it came to its own end, with all it has started.
    """

    code: int
    output: str
    is_whole: bool = True


async def run(
    argv: Sequence[str], seconds: float, beside: Callable[[], Awaitable[None]], stdin: socket.socket | None = None
) -> Finished:
    """Run a program without an environment.

    Args:
        beside: runs meanwhile and may end earlier; what it raises stops the program.
        stdin: also open in the program under its own number; None gives it no input.

    Raises:
        ToolError: it took too long.
    """
    process = await _started(argv, stdin)
    ending = asyncio.create_task(_end_of(process))
    guard = asyncio.ensure_future(beside())
    try:
        async with asyncio.timeout(seconds):
            await asyncio.wait({ending, guard}, return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                await guard
            return await asyncio.shield(ending)
    except TimeoutError:
        raise ToolError(f"timed out after {seconds:.3g} s") from None
    finally:
        guard.cancel()
        _kill(process)
        await asyncio.gather(ending, guard, return_exceptions=True)


async def _started(argv: Sequence[str], stdin: socket.socket | None) -> Process:
    """A start that is cancelled half way would leave behind what the program has started by then."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=DEVNULL if stdin is None else stdin.fileno(),
            stdout=PIPE,
            stderr=STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
            pass_fds=() if stdin is None else (stdin.fileno(),),
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        _kill(await starting)
        raise


async def _end_of(process: Process) -> Finished:
    kept, said = bytearray(), 0
    while chunk := await _read(process):
        kept += chunk[: OUTPUT_CAP - len(kept)]
        said += len(chunk)
        if said > FLOOD:
            _kill(process)
    code = await process.wait()
    output = kept.decode(errors="replace")
    if dropped := said - len(kept):
        output += f"[truncated: {dropped} bytes dropped, refine your query]"
    return Finished(code if code >= 0 else 128 - code, output, is_whole=code >= 0)


async def _read(process: Process) -> bytes:
    return await process.stdout.read(OUTPUT_CAP) if process.stdout else b""


def _kill(process: Process) -> None:
    """With all it has started: a box goes with the program that made it."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # gone, on some systems with its name still there
            os.killpg(process.pid, signal.SIGKILL)
