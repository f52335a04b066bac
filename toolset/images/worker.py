"""Makes a picture small in a process of its own: decoding what came from elsewhere takes memory and
the processor."""

from __future__ import annotations

import asyncio
from pathlib import Path

from toolset.confined.own_program import run_for_picture
from toolset.tool import ToolError

PROGRAM = Path(__file__).with_name("shrink.py")
SECONDS = 10.0
NOT_READ = "the image model's picture cannot be read"
JPEG = b"\xff\xd8\xff"


class Shrinker:
    """Makes pictures small, so many at once.

    Args:
        most: processes.
    """

    def __init__(self, most: int = 2) -> None:
        self._slots = asyncio.Semaphore(most)

    async def shrink(self, data: bytes) -> bytes:
        """The picture as a JPEG of at most 700 KB.

        Raises:
            ToolError: it is no picture, or this took too long.
        """
        try:
            async with self._slots:
                return await run_for_picture(PROGRAM, data, SECONDS, JPEG)
        except ValueError as error:
            raise ToolError(NOT_READ) from error
