"""Gemini's stand-in and a Gemini that talks to it; every vendor's; and what the conformance suite has shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

import pytest

from bot.providers.gemini.client import Gemini
from tests.bot.providers.shown import results_of
from tests.bot.providers.subjects.all import SUBJECTS, Opening, Subject
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake_in_thread


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a test of the conformance suite has shown, for the test that compares it with the document."""
    report = yield
    if isinstance(item, pytest.Function):
        results_of(item.config, item.path.name).take(item, report)
    return report


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake_in_thread() as fake:
        yield fake


@pytest.fixture
async def gemini(fake: GeminiFake) -> AsyncIterator[Gemini]:
    """A Gemini 3 that asks the stand-in."""
    provider = Gemini(KEY, "gemini-3.5-flash", fake.base_url)
    yield provider
    await provider.aclose()


@pytest.fixture(params=list(SUBJECTS))
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens a vendor."""
    return SUBJECTS[request.param]


@pytest.fixture
async def subject(opening: Opening) -> AsyncIterator[Subject]:
    """A vendor."""
    async with opening() as subject:
        yield subject
