"""The channel under test and its surroundings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bot.channels.line.desk import Desk, open_desk
from tests.fakes.line import LineFake, line_fake


@pytest.fixture
def fake() -> Iterator[LineFake]:
    """LINE itself."""
    with line_fake() as fake:
        yield fake


@pytest.fixture
async def desk(fake: LineFake) -> AsyncIterator[Desk]:
    """The channel with its settings as they come."""
    async with open_desk(fake) as desk:
        yield desk
