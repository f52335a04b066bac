"""A server that is a process of ours: JSON-RPC messages, one on each line of its input and output.

The SDK has such a transport, without a limit for a line: a server could fill the memory with one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from toolset.mcp.config import ServerConfig
from toolset.mcp.pace import LINE_BYTES, Pace, has_too_many_values, is_nested_too_deeply
from toolset.mcp.relay import Received, Streams

EXIT_S = 1.5  # to end by itself when its input ends, and again after SIGTERM
POLL_S = 0.02
END_WITH_PARENT = """
import ctypes, os, sys
PR_SET_PDEATHSIG, SIGKILL = 1, 9
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@asynccontextmanager
async def run_server(config: ServerConfig) -> AsyncIterator[Streams]:
    """Start a server and connect to it; on exit it is ended, with all that it started.

    Its environment is what every program needs and what the operator gives it: none of Kaiwa's
    secrets.

    Raises:
        OSError: it cannot be started.
    """
    env = get_default_environment() | dict(config.env)
    process = await asyncio.create_subprocess_exec(
        *_ending_with_us(config.command, env),
        *config.args,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LINE_BYTES,
        start_new_session=True,
    )
    try:
        heard, reading = anyio.create_memory_object_stream[Received](0)
        writing, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group, heard, reading, writing, said:
            group.start_soon(_read, process, heard)
            group.start_soon(_write, process, said)
            yield reading, writing
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


def _ending_with_us(command: str, env: Mapping[str, str]) -> list[str]:
    """The command; its process ends when Kaiwa is killed, even if it does not read its input."""
    if sys.platform != "linux" or shutil.which(command, path=env.get("PATH")) is None:
        return [command]
    return [sys.executable, "-I", "-S", "-c", END_WITH_PARENT, command]


async def _read(
    process: asyncio.subprocess.Process, heard: MemoryObjectSendStream[Received]
) -> None:
    """Hand on each line until the server closes its output, or writes one that is too long."""
    output, pace = cast(asyncio.StreamReader, process.stdout), Pace()
    with suppress(OSError, ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while line := await output.readline():
            await pace.keep(1, line)
            if has_too_many_values(line):
                break
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as error:
                if is_nested_too_deeply(error):  # whose call it answers cannot be read
                    break
                continue  # not a message: servers print other things too
            await heard.send(SessionMessage(message))
    await heard.aclose()


async def _write(
    process: asyncio.subprocess.Process, said: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    """Write each message as a line, until the server reads no more."""
    pipe = cast(asyncio.StreamWriter, process.stdin)
    with suppress(OSError):
        async for message in said:
            pipe.write(
                message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            )
            await pipe.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, then SIGTERM, then SIGKILL, each to all processes that it started."""
    cast(asyncio.StreamWriter, process.stdin).close()
    if not await _has_ended(process):
        _signal(process, signal.SIGTERM)
        await _has_ended(process)
    _signal(process, signal.SIGKILL)
    await _has_ended(process)
    transport = getattr(process, "_transport", None)  # a descendant may hold the pipes open
    if transport is not None:
        transport.close()


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """Whether it ends soon. ``process.wait`` waits for its pipes too, which a descendant may
    hold."""
    with anyio.move_on_after(EXIT_S):
        while process.returncode is None:  # noqa: ASYNC110 -- asyncio tells of it by ``wait`` alone
            await anyio.sleep(POLL_S)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the group of the process, which it leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
