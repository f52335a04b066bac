"""Runs the extraction of a document in a process of its own, and kills it when its time is over."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolset.confined.process import FLOOD, run
from toolset.tool import ToolError
from toolset.webpage.fetch import Document

PROGRAM = Path(__file__).with_name("extract.py")
LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # where Python's own is, on some systems
UNREADABLE = "the page's text cannot be read: it is damaged, encrypted or too complicated"


async def extract(document: Document, seconds: float) -> dict[str, str]:
    """Title, date and text; empty where unknown.

    The process gets the document, the charset's name, and nothing of the environment but where libraries are.

    Raises:
        ToolError: the document cannot be read in this time.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)

        async def send() -> None:
            with suppress(OSError):  # it has ended
                await asyncio.get_running_loop().sock_sendall(ours, document.body)
                ours.shutdown(socket.SHUT_WR)

        argv = [sys.executable, "-IB", str(PROGRAM), document.kind, document.charset, str(seconds)]
        libraries = {name: os.environ[name] for name in LIBRARIES if name in os.environ}
        result = await run(argv, seconds, send, theirs, FLOOD, libraries)
    return _read(result.output if result.code == 0 else "")


def _read(output: str) -> dict[str, str]:
    try:
        found: Any = json.loads(output)
        return {name: str(found[name]) for name in ("title", "date", "text")}
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError(UNREADABLE) from error
