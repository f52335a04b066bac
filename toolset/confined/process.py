"""Runs a program to its end or stops it: too long, too much said, or no longer wanted."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from toolset.tool import ToolError

OUTPUT_CAP = 32 * 1024  # bytes kept
FLOOD = 1024 * 1024  # bytes after which a program is stopped
LOOK_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a program.

    Attributes:
        code: its exit code; 128 and the number of the signal where one ended it.
        output: what it said on both channels, with a word where that is not all.
    """

    code: int
    output: str


async def run(argv: Sequence[str], seconds: float, check: Callable[[], Awaitable[None]]) -> Finished:
    """Run a program without an environment and without input.

    Args:
        check: is asked now and then; what it raises stops the program.

    Raises:
        ToolError: it took too long, or failed the check.
    """
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env={}, cwd="/", start_new_session=True
    )
    ending = asyncio.create_task(_end_of(process))
    guard = asyncio.create_task(_look_after(check))
    try:
        done, _ = await asyncio.wait({ending, guard}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if guard in done:
            guard.result()
        if ending not in done:
            raise ToolError(f"timed out after {seconds:.3g} s")
        return ending.result()
    finally:
        guard.cancel()
        _kill(process)
        await asyncio.gather(ending, guard, return_exceptions=True)


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
    return Finished(code if code >= 0 else 128 - code, output)


async def _read(process: Process) -> bytes:
    return await process.stdout.read(OUTPUT_CAP) if process.stdout else b""


async def _look_after(check: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        await check()


def _kill(process: Process) -> None:
    """With all it has started: a box goes with the program that made it."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # gone, on some systems with its name still there
            os.killpg(process.pid, signal.SIGKILL)
