"""A program is run to its end or stopped, with all it has started."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import warnings
from pathlib import Path

import pytest

from tests.waiting import until
from toolset.confined.process import CommandResult, run
from toolset.tool import ToolError


async def fine() -> None:
    """No objection."""


async def never() -> None:
    """No end."""
    await asyncio.Event().wait()


def shell(script: str) -> list[str]:
    """A script of the test's own."""
    return ["/bin/sh", "-c", script]


def is_alive(pid: int) -> bool:
    """Whether a process is there and not only waiting to be buried."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_it_gives_the_exit_code_and_what_was_said() -> None:
    """Both channels, as they came."""
    assert await run(shell("echo one; echo two >&2; exit 3"), 10, fine) == CommandResult(
        3, "one\ntwo\n"
    )


async def test_a_program_gets_no_environment_and_no_input() -> None:
    """Kaiwa's keys are not inherited."""
    assert await run(["/usr/bin/env"], 10, fine) == CommandResult(0, "")
    assert await run(["/bin/cat"], 10, fine) == CommandResult(0, "")


async def test_long_output_is_cut_with_the_number_of_bytes() -> None:
    """What cannot be decoded is replaced."""
    finished = await run(shell("head -c 40000 /dev/zero | tr '\\0' a; printf '\\377'"), 10, fine)
    assert finished == CommandResult(
        0, "a" * 32_768 + "[truncated: 7233 bytes dropped, refine your query]"
    )
    assert (await run(shell("printf '\\377'"), 10, fine)).output == "\ufffd"


async def test_a_program_is_given_a_socket_by_its_number_and_as_input() -> None:
    """Nothing else that is open here is open there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"hello\n")
        script = (
            f"read line; echo $line; test /dev/fd/{theirs.fileno()} -ef /dev/stdin && ls /dev/fd "
            "| wc -l"
        )
        finished = await run(shell(script), 10, never, theirs)
    assert finished == CommandResult(0, "hello\n5\n"), (
        "0, 1, 2, the socket, and the folder that ls reads"
    )


async def test_a_flood_is_stopped() -> None:
    """Long before its time is over."""
    finished = await run(shell("exec yes"), 10, fine)
    assert (finished.code, finished.is_whole) == (128 + 9, False)
    assert "bytes dropped" in finished.output


@pytest.mark.parametrize("how", ["time", "check", "cancelled"])
async def test_a_stopped_program_takes_its_children_along(tmp_path: Path, how: str) -> None:
    """Whether it took too long, the check objected, or nobody wants it any more."""
    reported = tmp_path / "pid"

    async def check() -> None:
        if how == "check":
            await until(lambda: reported.exists() and reported.read_text().endswith("\n"))
            raise ToolError("too much")

    running = asyncio.create_task(
        run(shell(f"sleep 60 & echo $! > {reported}; wait"), 0.5 if how == "time" else 30, check)
    )
    await until(lambda: reported.exists() and reported.read_text().endswith("\n"))
    child = int(reported.read_text())
    if how == "cancelled":
        running.cancel()
    expected = {"time": "timed out after 0.5 s", "check": "too much", "cancelled": ""}[how]
    with pytest.raises(asyncio.CancelledError if how == "cancelled" else ToolError) as raised:
        await running
    assert str(raised.value) == expected
    await until(lambda: not is_alive(child))


async def test_a_program_gets_the_variables_it_is_given_and_no_more() -> None:
    """None by default; more output is returned where more is asked for."""
    assert (await run(["/usr/bin/env"], 5, never)).output == ""
    assert (await run(["/usr/bin/env"], 5, never, environment={"A": "b"})).output == "A=b\n"
    script = "head -c 100000 /dev/zero | tr '\\0' x"
    assert (
        await run(
            shell(script), 5, never, output_cap=200_000, environment={"PATH": "/usr/bin:/bin"}
        )
    ).output == "x" * 100_000


def test_a_program_cancelled_at_its_start_leaves_nothing_open() -> None:
    """Neither a process nor its pipe, even if the event loop ends at once."""

    async def cancelled(seconds: float) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await run(shell("sleep 60"), 60, never)

    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        for seconds in (0, 0.001, 0.002, 0.004):
            asyncio.run(cancelled(seconds))
        gc.collect()
    assert [str(warning.message) for warning in left] == []
