"""A conversation in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.terminal.background import Background, background
from tests.bot.terminal.harness import ChatHarness, Impatient


@pytest.fixture
def loop() -> Iterator[Background]:
    """The event loop beside the terminal's thread."""
    with background() as loop:
        yield loop


@pytest.fixture
def harness(loop: Background) -> ChatHarness:
    """A reader who waits for answers."""
    return ChatHarness(loop)


@pytest.fixture
def hasty(loop: Background) -> ChatHarness:
    """A reader who does not wait."""
    return ChatHarness(loop, Impatient)
