"""The settings of a process in most of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from redis import Redis

from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fixtures_fakes import everything_on
from tests.process.kaiwa_process import Installation


@pytest.fixture
def variables(gemini: GeminiFake, line: LineFake, slack: SlackFake) -> dict[str, str]:
    """Everything on."""
    return everything_on(line, slack, gemini)


@pytest.fixture
def here(tmp_path: Path, variables: dict[str, str]) -> Installation:
    """An installation with these settings."""
    return Installation(tmp_path, variables)


@pytest.fixture
def redis_url(redis_url: str) -> str:
    """The Redis for all tests, empty: what tests of the store have left would be worked on too."""
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    return redis_url
