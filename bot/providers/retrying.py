"""Asks again where that may help: a provider around one or several others."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from bot.errors import ModelUnusable, TryAgain
from bot.providers import AUTO, Completed, Provider, Restarted, StreamEvent, TextDelta, ToolCallDelta, ToolChoice
from bot.transcript import Message
from toolset.tool import ToolDefinition

ATTEMPTS = 4
BUDGET_S = 20.0  # until the first event of the last attempt, waits and fallbacks included
BASE_S = 0.5
CAP_S = 10.0  # also the longest wait a vendor may ask for


class Retrying:
    """Up to four attempts within twenty seconds, with full jitter between them.

    A passing failure is answered by another attempt, on the next model where there are several; an unusable model is
    passed over at once; a malformed answer is given one more chance and then handed on as it is. Words of an attempt
    that failed are voided by ``Restarted`` when the next one starts.

    Args:
        providers: the model, then its fallbacks.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = providers[0].name
        self.model = providers[0].model
        self._providers = tuple(providers)
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask until there is an answer.

        Raises:
            ModelError: that of the last attempt.
        """
        candidates = deque(self._providers)
        deadline = self._clock() + BUDGET_S
        forgiving = True
        for attempt in range(1, ATTEMPTS + 1):
            shown = False
            try:
                asked = candidates[0].stream(system, messages, tools, tool_choice)
                async with aclosing(self._punctual(asked, deadline)) as events:
                    async for event in events:
                        if forgiving and attempt < ATTEMPTS and _is_malformed(event) and self._clock() < deadline:
                            forgiving = False
                            break
                        shown = shown or isinstance(event, TextDelta | ToolCallDelta)
                        yield event
                    else:
                        return
            except (TryAgain, ModelUnusable) as error:
                if attempt == ATTEMPTS:
                    raise
                await self._sleep(self._delay(error, attempt, candidates, deadline))
            if shown:
                yield Restarted()

    async def check(self) -> str:
        """Check the model that is asked first."""
        return await self._providers[0].check()

    async def aclose(self) -> None:
        """Close every model's connections."""
        for provider in self._providers:
            await provider.aclose()

    async def _punctual(self, asked: AsyncGenerator[StreamEvent], deadline: float) -> AsyncGenerator[StreamEvent]:
        """The events, the first of them by the deadline."""
        async with aclosing(asked) as events:
            try:
                async with asyncio.timeout(deadline - self._clock()):
                    first = await anext(events)
            except TimeoutError as error:
                raise TryAgain("timed_out", f"no model answered within {BUDGET_S:.0f} s") from error
            yield first
            async for event in events:
                yield event

    def _delay(
        self, error: TryAgain | ModelUnusable, attempt: int, candidates: deque[Provider], deadline: float
    ) -> float:
        """Put the next model first and say how long to wait for it, or raise the error where nothing may help."""
        after = error.after if isinstance(error, TryAgain) else None
        if isinstance(error, ModelUnusable) or (after or 0) > CAP_S:
            candidates.popleft()
            delay = 0.0
        else:
            candidates.rotate(-1)
            delay = self._jitter() * min(CAP_S, BASE_S * 2 ** (attempt - 1)) if after is None else after
        if not candidates or self._clock() + delay >= deadline:
            raise error
        return delay


def _is_malformed(event: StreamEvent) -> bool:
    return isinstance(event, Completed) and event.response.stop_reason == "malformed"
