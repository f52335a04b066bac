"""What the tests with injections share."""

from __future__ import annotations

import pytest

from tests.injections.injected_group import SECRETS


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has all secrets in its environment, as in production."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
