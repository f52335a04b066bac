"""A server that is a process of ours: the SDK's transport, with our own program in between."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from toolset.mcp.config import ServerConfig

GUARD = Path(__file__).with_name("guard.py")


@asynccontextmanager
async def run_server(config: ServerConfig) -> AsyncIterator[Any]:
    """Start a server and connect to it; on exit it is ended, with all that it started.

    Its environment is what every program needs and what the operator gives it: none of Kaiwa's
    secrets.

    Raises:
        OSError: it cannot be started.
    """
    environment = get_default_environment() | dict(config.env)
    if shutil.which(config.command, path=environment.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", str(GUARD), config.command, *config.args],
        env=environment,
        encoding_error_handler="replace",
    )
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: ASYNC230 -- no file waits
        async with stdio_client(server, nowhere) as streams:
            yield streams
