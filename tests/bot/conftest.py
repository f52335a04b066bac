"""What tests of ``bot`` share."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from bot.settings import Settings, load
from tests.bot.command_line import Call, calling
from tests.fakes.wttr import WttrFake
from tests.plain_log import use_plain_log


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Logging is one for the whole process: leave it as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    use_plain_log()


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Call:
    """The command line, with a folder of its own."""
    monkeypatch.setenv("KAIWA_DATA_DIR", str(tmp_path / "data"))
    return calling(monkeypatch, capsys)


@pytest.fixture
def wttr(wttr: WttrFake, monkeypatch: pytest.MonkeyPatch) -> WttrFake:
    """The weather service, and a process that asks it."""
    monkeypatch.setenv("WTTR_BASE_URL", wttr.base_url)
    return wttr


@pytest.fixture
def settings(
    valkey_url: str, redis: Redis, wttr: WttrFake, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """A demo on a Valkey of ours, which is empty, with a weather service and any port."""
    monkeypatch.setenv("REDIS_URL", valkey_url)
    monkeypatch.setenv("PORT", "0")
    return load()
