"""A turn that is held while the model thinks, so that something may happen meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, ClassVar

from redis.asyncio import Redis

from bot.interrupts import TOPIC
from bot.providers.scripted import Step
from bot.store.keys import Keys
from bot.transcript import Message, ToolCall
from tests.bot.harness import Harness
from tests.fakes.tools import Echo
from tests.waiting import until_true
from toolset.tool import ToolContext

WAIT_S = 10.0


class Held(Echo):
    """Takes for ever."""

    name: ClassVar[str] = "held"

    def __init__(self) -> None:
        super().__init__()
        self.called = asyncio.Event()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self.called.set()
        await asyncio.Event().wait()
        return {}


def calling(call_id: str = "c1", tool: str = "echo", *, held: bool = False) -> Step:
    """A request for one tool; ``held`` until its gate is opened."""
    return Step(calls=(ToolCall(call_id, tool, {}),), gate=asyncio.Event() if held else None)


def hanging() -> Step:
    """A request that nobody ends but a change."""
    return Step("Never sent.", gate=asyncio.Event())


@asynccontextmanager
async def held(harness: Harness, step: Step) -> AsyncIterator[None]:
    """Attend until the model is at this step; go on with what is left afterwards, to the end."""
    attending = asyncio.create_task(harness.process())
    async with asyncio.timeout(WAIT_S):
        await step.at_gate.wait()
    yield
    assert step.gate is not None
    step.gate.set()
    await attending


async def cut_off(harness: Harness, reached: asyncio.Event) -> None:
    """Attend until this is reached, and stop there as a shutdown does."""
    attending = asyncio.create_task(harness.process())
    async with asyncio.timeout(WAIT_S):
        await reached.wait()
    attending.cancel()
    await asyncio.wait([attending])


def asked(harness: Harness, request: int = -1) -> list[tuple[str, Any]]:
    """What the model was sent: the role of each message, with its words where there are any."""
    return [(message.role, message.text) for message in messages(harness, request)]


def messages(harness: Harness, request: int = -1) -> tuple[Message, ...]:
    """The messages of one request."""
    return tuple(harness.model.requests[request].messages)


@asynccontextmanager
async def under_way(
    harness: Harness, redis: Redis, reached: asyncio.Event
) -> AsyncIterator[asyncio.Task[None]]:
    """A turn that has reached this, in a process to which changes are published."""
    async with harness.runner.interrupts.listen():
        await until_true(partial(_is_listening, redis))
        processing = asyncio.create_task(harness.process())
        async with asyncio.timeout(WAIT_S):
            await reached.wait()
            yield processing
            await processing


async def _is_listening(redis: Redis) -> bool:
    subscribed = await redis.pubsub_numsub(Keys(TOPIC).live)
    return all(listeners for _, listeners in subscribed)
