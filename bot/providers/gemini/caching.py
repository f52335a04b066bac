"""Cached contents: the prompt and tools that many requests begin with, kept at Google and read at a tenth of the price.

Nobody waits for one: they are made and renewed in the background, and only once a prefix has come back, because Google
takes the full price for making one and a little for every hour it is kept. What is no longer used runs out by itself.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from google import genai
from google.genai import errors

from bot.providers.gemini.failures import FAILURES, cause_of
from bot.providers.gemini.request import JSON
from bot.providers.shared.failures import Failures

log = structlog.stdlib.get_logger(__name__)

LIFETIME_S = 600.0
MARGIN_S = 30.0  # what is nearly over may be gone when the request arrives
RENEWAL_S = 30.0  # the longest that making or renewing one may take
CLOSE_S = 2.0
PAUSE_S = 3600.0
MOST = 8  # each channel has one style, and so one prefix
BYTES_PER_TOKEN = 4
TOO_SMALL = "too small"


def least_tokens(model: str) -> int:
    """The smallest content Google caches: https://ai.google.dev/gemini-api/docs/caching."""
    return 2048 if "gemini-2.5" in model else 4096


@dataclass(eq=False, slots=True)
class _Cached:
    """One prefix.

    Attributes:
        prefix: as JSON.
        name: Google's, empty while nothing is cached.
        is_busy: it is being made or renewed.
    """

    prefix: bytes
    used_at: float = -math.inf
    name: str = ""
    expires_at: float = 0.0
    is_busy: bool = False


class CachedContents:
    """What is cached for one model, the prefix used last at the end.

    Where Google refuses to cache, it is not asked again for an hour.

    Args:
        clock: seconds that only grow.
    """

    def __init__(
        self, client: genai.Client, failures: Failures, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._failures = failures
        self._clock = clock
        self._least_bytes = least_tokens(failures.model) * BYTES_PER_TOKEN
        self._cached: dict[bytes, _Cached] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused_until = -math.inf
        self._has_told = False

    def use(self, prefix: JSON) -> str:
        """The name of the cached prefix, empty where it is not cached. Whoever sends the name leaves the prefix out."""
        key = msgspec.json.encode(prefix)
        if len(key) < self._least_bytes:
            return ""
        now = self._clock()
        cached = self._recall(key)
        has_come_back = now - cached.used_at < LIFETIME_S
        cached.used_at = now
        left = cached.expires_at - now
        if left < MARGIN_S:
            cached.name = ""
        is_wanted = left < LIFETIME_S / 2 if cached.name else has_come_back and now >= self._paused_until
        if is_wanted and not cached.is_busy:
            cached.is_busy = True
            self._begin(self._renew(cached))
        return cached.name

    def forget(self, name: str) -> None:
        """A request was refused with this name and taken without it."""
        for cached in self._cached.values():
            if cached.name == name:
                cached.name = ""
                self._pause("a cached content was refused")

    async def aclose(self) -> None:
        """Delete what is cached as far as that goes quickly; the rest runs out."""
        for task in self._tasks:
            task.cancel()
        deleting = [self._delete(cached.name) for cached in self._cached.values() if cached.name]
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*self._tasks, *deleting, return_exceptions=True)

    def _recall(self, key: bytes) -> _Cached:
        """What is known of a prefix, which becomes the one used last; the one unused for longest gives way."""
        cached = self._cached.pop(key) if key in self._cached else _Cached(key)
        self._cached[key] = cached
        if len(self._cached) > MOST:
            unused = self._cached.pop(next(iter(self._cached)))
            if unused.name and not unused.is_busy:
                self._begin(self._delete(unused.name))
        return cached

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, context=Context())  # what it logs is not about the turn that is running
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _renew(self, cached: _Cached) -> None:
        """Cache a prefix, or keep what is cached of it for longer."""
        expires_at = self._clock() + LIFETIME_S
        try:
            async with asyncio.timeout(RENEWAL_S):
                cached.name = await (self._extend(cached.name) if cached.name else self._create(cached.prefix))
        except FAILURES as error:
            self._give_up(cached, error)
        else:
            cached.expires_at = expires_at
            self._has_told = False
        finally:
            cached.is_busy = False
        if cached.name and self._cached.get(cached.prefix) is not cached:
            await self._delete(cached.name)

    async def _create(self, prefix: bytes) -> str:
        content = await self._client.aio.caches.create(
            model=self._failures.model,
            config={"ttl": f"{LIFETIME_S:.0f}s", "http_options": {"extra_body": msgspec.json.decode(prefix)}},
        )
        if not content.name:
            raise ValueError("no name")
        return content.name

    async def _extend(self, name: str) -> str:
        await self._client.aio.caches.update(name=name, config={"ttl": f"{LIFETIME_S:.0f}s"})
        return name

    async def _delete(self, name: str) -> None:
        with suppress(*FAILURES):
            await self._client.aio.caches.delete(name=name)

    def _give_up(self, cached: _Cached, error: Exception) -> None:
        """Forget what could not be made or renewed; a prefix that was too small raises the bar for the next ones."""
        cached.name = ""
        if isinstance(error, errors.APIError) and TOO_SMALL in str(error.message):
            self._least_bytes = max(self._least_bytes, len(cached.prefix) + 1)
        else:
            self._pause(cause_of(error, self._failures))

    def _pause(self, why: str) -> None:
        self._paused_until = self._clock() + PAUSE_S
        if not self._has_told:
            self._has_told = True
            log.warning("model.not_cached", model=self._failures.model, cause=why)
