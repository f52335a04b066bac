"""A LINE turn whose model takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from bot.providers.scripted import Step
from tests.bot.channels.line.pipeline import LinePipeline
from tests.bot.channels.line.rig import IN_PRIVATE
from tests.fakes.line import LineFake
from tests.fakes.line_events import JSON

WAIT_S = 10.0

# On a busy machine its import takes a good part of a reply token's minute.
import_module("linebot.v3.messaging")


def held_step(text: str = "Hi!") -> Step:
    """An answer that the model gives when its gate is opened."""
    return Step(text, gate=asyncio.Event())


def question(fake: LineFake, text: str = "Hello, who are you?") -> JSON:
    return fake.text(text)


def ways(fake: LineFake) -> list[tuple[str, str]]:
    """How people got what they see, and its first words."""
    return [(sent.call, sent.texts[0].split("\n")[0]) for sent in fake.sent]


@asynccontextmanager
async def running(
    here: LinePipeline, step: Step, conversation: str = IN_PRIVATE
) -> AsyncIterator[None]:
    """A turn that waits for its model."""
    turn = asyncio.create_task(here.runner.process(conversation))
    async with asyncio.timeout(WAIT_S):
        await step.at_gate.wait()
    assert step.gate is not None
    try:
        yield
    finally:  # a test that fails must not wait for the model
        step.gate.set()
        await turn


async def ignore(_request: str) -> None:
    """Nothing happens when a request to the store is carried out."""
