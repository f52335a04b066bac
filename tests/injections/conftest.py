"""What the tests with injections share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.wttr import WttrFake, wttr_fake
from tests.injections.injected_group import SECRETS


@pytest.fixture
async def wttr() -> AsyncIterator[WttrFake]:
    """The weather service."""
    async with wttr_fake() as fake:
        yield fake


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has all secrets in its environment, as in production."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
