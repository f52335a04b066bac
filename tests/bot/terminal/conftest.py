"""A conversation in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.terminal.background import BackgroundLoop, background_loop
from tests.bot.terminal.harness import ChatHarness, Impatient


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    """The event loop beside the terminal's thread."""
    with background_loop() as loop:
        yield loop


@pytest.fixture
def harness(loop: BackgroundLoop) -> ChatHarness:
    """A reader who waits for answers."""
    return ChatHarness(loop)


@pytest.fixture
def hasty(loop: BackgroundLoop) -> ChatHarness:
    """A reader who does not wait."""
    return ChatHarness(loop, Impatient)
