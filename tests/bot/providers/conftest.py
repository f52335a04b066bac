"""Gemini's stand-in, and a Gemini that talks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from bot.providers.gemini.client import Gemini
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake() as fake:
        yield fake


@pytest.fixture
async def gemini(fake: GeminiFake) -> AsyncIterator[Gemini]:
    """A Gemini 3 that asks the stand-in."""
    provider = Gemini(KEY, "gemini-3.5-flash", fake.base_url)
    yield provider
    await provider.aclose()
