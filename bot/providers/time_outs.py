"""The time a model has: for its first event, and for the whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from bot.providers import PATIENCE_S

FIRST_TOKEN_S = PATIENCE_S
REQUEST_S = 60.0

T = TypeVar("T")


async def in_time(
    events: AsyncGenerator[T], first_token_s: float = FIRST_TOKEN_S, request_s: float = REQUEST_S
) -> AsyncGenerator[T]:
    """The events of one answer, from the moment they are asked for; the connection is opened inside.

    Raises:
        TimeoutError: the first event or the end did not come in time.
    """
    now = asyncio.get_running_loop().time
    started = now()
    deadline = started + first_token_s
    async with aclosing(events):
        while True:
            async with asyncio.timeout_at(deadline):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event
            deadline = started + request_s
