"""Runs a program to its end, or stops it: after a timeout, too much output, or a cancellation."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from toolset.tool import ToolError

OUTPUT_CAP = 32 * 1024  # bytes returned by default
FLOOD = 1024 * 1024  # bytes of output after which a program is stopped
EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a program.

    Attributes:
        code: its exit code, or 128 plus the number of the signal that ended it.
        output: stdout and stderr, with a note at the end where something was cut.
        is_whole: whether it ended by itself, with all processes it had started.
    """

    code: int
    output: str
    is_whole: bool = True


async def run(
    argv: Sequence[str],
    seconds: float,
    watch: Callable[[], Awaitable[None]],
    stdin: socket.socket | None = None,
    output_cap: int = OUTPUT_CAP,
    environment: Mapping[str, str] = EMPTY,
) -> CommandResult:
    """Run a program, by default with an empty environment.

    Args:
        watch: runs beside it and may end earlier; an exception stops the program.
        stdin: also inherited under its own descriptor number; None gives no input.
        output_cap: bytes returned.

    Raises:
        ToolError: it took too long.
    """
    process = await _start(argv, stdin, environment)
    ending = asyncio.create_task(_collect_output(process, output_cap))
    guard = asyncio.ensure_future(watch())
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


async def _start(
    argv: Sequence[str], stdin: socket.socket | None, environment: Mapping[str, str]
) -> Process:
    """Start the program; a cancellation waits for the start, then kills it, so that no process and
    no pipe is left."""
    source, passed = DEVNULL, tuple[int, ...]()
    if stdin is not None:
        source = stdin.fileno()
        passed = (source,)
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=source,
            stdout=PIPE,
            stderr=STDOUT,
            env=environment,
            cwd="/",
            start_new_session=True,
            pass_fds=passed,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill(process)
        await process.wait()
        raise


async def _collect_output(process: Process, cap: int) -> CommandResult:
    data, total = bytearray(), 0
    while chunk := await _read(process):
        data += chunk[: cap - len(data)]
        total += len(chunk)
        if total > FLOOD:
            _kill(process)
    code = await process.wait()
    output = data.decode(errors="replace")
    if dropped := total - len(data):
        output += f"[truncated: {dropped} bytes dropped, refine your query]"
    return CommandResult(code if code >= 0 else 128 - code, output, is_whole=code >= 0)


async def _read(process: Process) -> bytes:
    return await process.stdout.read(OUTPUT_CAP) if process.stdout else b""


def _kill(process: Process) -> None:
    """Kill the program with its process group; a sandbox ends with the program that made it."""
    if process.returncode is None:
        with suppress(
            ProcessLookupError, PermissionError
        ):  # already gone; some systems still know its group
            os.killpg(process.pid, signal.SIGKILL)
