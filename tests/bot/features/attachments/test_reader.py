"""Reading files for many people: whose turn it is."""

from __future__ import annotations

import asyncio

import pytest

from bot.features.attachments.reader import FileReader
from bot.file_types import PDF, TEXT
from tests.toolset.webpage.documents import pdf_bomb

pytestmark = [pytest.mark.process, pytest.mark.long]


async def test_a_persons_files_wait_for_each_other_only() -> None:
    """Whoever sends many that take long keeps nobody else's from being read."""
    reader, bomb = FileReader(), pdf_bomb()
    first, second = [asyncio.create_task(reader.read("U1", PDF, bomb)) for _ in range(2)]
    await asyncio.sleep(0)
    assert await reader.read("U2", TEXT, b"hello") == "hello"
    assert not second.done()
    first.cancel()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
