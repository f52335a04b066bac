"""What the transcripts have in common: the weather, and whether the document is written."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.wttr import WttrFake, wttr_fake


@pytest.fixture
def write(pytestconfig: pytest.Config) -> bool:
    """Whether the document is written and not compared."""
    return bool(pytestconfig.getoption("--write-tables"))


@pytest.fixture
async def wttr() -> AsyncIterator[WttrFake]:
    """The weather in Tokyo and Osaka."""
    async with wttr_fake() as fake:
        for place in ("Tokyo", "東京", "Osaka", "大阪"):
            fake.place(place, high=24, low=16, condition="Partly cloudy", condition_ja="所により曇り", rain=20)
        yield fake
