"""What the transcripts have in common: what the tools ask, and whether the document is written."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.docs.pipeline import Fakes
from tests.fakes.gemini import gemini_fake
from tests.fakes.wttr import WttrFake
from tests.toolset.images.pictures import picture


@pytest.fixture
def write(pytestconfig: pytest.Config) -> bool:
    """Whether the document is written and not compared."""
    return bool(pytestconfig.getoption("--write-tables"))


@pytest.fixture
async def fakes() -> AsyncIterator[Fakes]:
    """The weather in Tokyo and Osaka, and a model that paints a picture."""
    with WttrFake().served() as wttr:
        for place in ("Tokyo", "東京", "Osaka", "大阪"):
            wttr.place(
                place,
                high=24,
                low=16,
                condition="Partly cloudy",
                condition_ja="所により曇り",
                rain=20,
            )
        with gemini_fake() as gemini:
            gemini.paint(picture())
            yield Fakes(wttr, gemini)
