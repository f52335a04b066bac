"""Runs the extraction of a page or a file in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolset.confined.own_program import run_own
from toolset.tool import ToolError
from toolset.web.decoding import decode_json
from toolset.webpage.fetch import Document

PROGRAM = Path(__file__).with_name("extract.py")
UNREADABLE = "the page's text cannot be read: it is damaged, encrypted or too complicated"


async def extract(document: Document, seconds: float) -> dict[str, str]:
    """Title, date and text; empty where unknown.

    Raises:
        ToolError: the document cannot be read in this time.
    """
    return await _run(document.kind, document.charset, document.body, seconds)


async def read_file(kind: str, body: bytes, seconds: float) -> str:
    """The text of a file somebody has sent.

    Args:
        kind: as ``extract.py`` names it.

    Raises:
        ToolError: the file cannot be read in this time.
    """
    return (await _run(kind, "", body, seconds))["text"]


async def _run(kind: str, charset: str, body: bytes, seconds: float) -> dict[str, str]:
    output = await run_own(PROGRAM, (kind, charset, str(seconds)), body, seconds)
    try:
        found: Any = decode_json(output)
        return {name: str(found[name]) for name in ("title", "date", "text")}
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError(UNREADABLE) from error
