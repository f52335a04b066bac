"""Live tests: the settings of whoever runs them, and the internet. A service that cannot be reached
skips its tests."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import cache
from urllib.parse import urlsplit

import pytest

from bot import settings
from bot.settings import Settings
from tests.project import ROOT

REACHED_IN_S = 5
PORTS = {"http": 80, "https": 443}


@pytest.fixture(autouse=True)
def no_internet() -> None:
    """In place of the guard of all other tests: these are about the internet."""


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the one that hides them: keys come from the environment or the project's
    ``.env``."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session", autouse=True)
def one_authority() -> None:
    """In place of the one that trusts nobody: certificates are checked as in operation."""


@pytest.fixture
def config() -> Settings:
    """The settings as the commands read them."""
    return settings.load()


@pytest.fixture
def require_reachable() -> Callable[[str], None]:
    """Skip the test if nobody answers at a URL's host."""

    def require(url: str) -> None:
        if why := _why_unreachable(url):
            pytest.skip(why)

    return require


@cache
def _why_unreachable(url: str) -> str:
    parts = urlsplit(url)
    try:
        socket.create_connection(
            (parts.hostname, parts.port or PORTS[parts.scheme]), REACHED_IN_S
        ).close()
    except OSError as error:
        return f"{parts.hostname} cannot be reached: {error}"
    return ""
