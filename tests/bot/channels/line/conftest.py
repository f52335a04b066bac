"""The channel under test and its surroundings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bot.channels.line.rig import Rig, open_rig
from tests.fakes.line import LineFake, line_fake


@pytest.fixture
def fake() -> Iterator[LineFake]:
    """LINE itself."""
    with line_fake() as fake:
        yield fake


@pytest.fixture
async def rig(fake: LineFake) -> AsyncIterator[Rig]:
    """The channel with its settings as they come."""
    async with open_rig(fake) as rig:
        yield rig
