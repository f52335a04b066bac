"""The time a model has: for its first event, and for the whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from bot.providers.shared.options import USUAL, Options

T = TypeVar("T")


async def with_timeouts(
    events: AsyncGenerator[T], first_token_timeout_s: float, options: Options = USUAL
) -> AsyncGenerator[T]:
    """The events of one answer, from the moment they are asked for; the connection is opened inside.

    Args:
        first_token_timeout_s: what is left for the first event, where that is less than the option.

    Raises:
        TimeoutError: the first event or the end did not come in time.
    """
    now = asyncio.get_running_loop().time
    started = now()
    deadline = started + min(first_token_timeout_s, options.first_token_timeout_s)
    async with aclosing(events):
        while True:
            async with asyncio.timeout_at(deadline):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event
            deadline = started + options.request_timeout_s
