"""Files as text, read in a process of their own."""

from __future__ import annotations

import asyncio

import structlog

from bot.file_types import DOCUMENTS, kind_of
from toolset.shares import Shares
from toolset.tool import ToolError
from toolset.webpage.worker import read_file

log = structlog.stdlib.get_logger(__name__)

READ_S = 10.0  # for one file
AT_ONCE = 2  # processes that read; each may take 320 MiB


class FileReader:
    """Reads the texts of files, a few at a time, for all turns of a process; those of one person
    one by one."""

    def __init__(self) -> None:
        self._running = asyncio.Semaphore(AT_ONCE)
        self._people = Shares(1)

    async def read(self, person: str, mime: str, data: bytes) -> str:
        """The text of a document, a PDF or a text file; empty where it cannot be read."""
        async with self._people.of(person), self._running:
            try:
                return await read_file(DOCUMENTS.get(mime, kind_of(mime)), data, READ_S)
            except ToolError as error:
                log.info("media.not_read", type=mime, cause=str(error))
                return ""
