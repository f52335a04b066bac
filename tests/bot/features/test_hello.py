"""What a message costs that no feature is about: it enters the folders of those alone that have
something to do with each message."""

from __future__ import annotations

from bot.features.registry import FEATURES
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.features.entering import entered
from tests.bot.harness import HERE, Harness

# Limits count; memory reads what it is to remember; traces note each step.
EACH_MESSAGE = {"limits", "memory", "traces"}


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
