"""What a message costs that no feature is about: it enters the folders of those alone that have
something to do with each message."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bot.features.registry import FEATURES
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.harness import HERE, Harness
from tests.project import ROOT

# Limits count; memory reads what it is to remember; feedback asks about each answer where the
# channel rates.
EACH_MESSAGE = {"limits", "memory", "feedback"}


@contextmanager
def entered() -> Iterator[set[str]]:
    """The folders of features of which a function runs meanwhile."""
    folders, features = set[str](), ROOT / "bot/features"

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(features):
            folders.add(path.relative_to(features).parts[0])

    sys.setprofile(note)
    try:
        yield folders
    finally:
        sys.setprofile(None)


async def test_hello_enters_what_concerns_each_message(store: Store) -> None:
    """The second message of a person alone with the bot, to its delivery."""
    harness = Harness(store, [Step("Hello!"), Step("Hello again!")])
    await harness.receive("Hello", "m1")
    await harness.runner.process(HERE, "u1")
    with entered() as folders:
        await harness.receive("Hello again", "m2")
        await harness.runner.process(HERE, "u1")
    assert harness.box.texts == ["Hello!", "Hello again!"]
    assert folders == EACH_MESSAGE & set(FEATURES)
