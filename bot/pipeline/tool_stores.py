"""What the stores of tools share: texts of one line, and a store that does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.errors import StoreUnavailable
from bot.safe_text.glyphs import invisible
from toolset.tool import ToolError

LINE_CHARACTERS = 200
AWAY = "the store cannot take this now: say that it was not done"


@asynccontextmanager
async def store_errors_for_model() -> AsyncIterator[None]:
    """Turn a store that does not answer into an error for the model."""
    try:
        yield
    except StoreUnavailable as error:
        raise ToolError(AWAY) from error


def one_line(text: str) -> str:
    """The text with single spaces and without invisible characters."""
    spaced = " ".join(text.split())[:LINE_CHARACTERS]
    hidden = invisible(spaced)
    return "".join(
        letter for index, letter in enumerate(spaced) if index not in hidden or letter == " "
    ).strip()
