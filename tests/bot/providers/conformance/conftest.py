"""Every vendor's provider, and what the conformance suite has shown of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator

import pytest

from tests.bot.providers.conformance.shown import results_of
from tests.bot.providers.subjects.all import SUBJECTS, Opening, Subject


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a test of the conformance suite has shown, for the test that compares it with the
    document."""
    report = yield
    if isinstance(item, pytest.Function):
        results_of(item.config, item.path.name).take(item, report)
    return report


@pytest.fixture(params=list(SUBJECTS))
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens a vendor."""
    return SUBJECTS[request.param]


@pytest.fixture
async def subject(opening: Opening) -> AsyncIterator[Subject]:
    """A vendor."""
    async with opening() as subject:
        yield subject
