"""Cached contents: Google keeps the prompt and tools that many requests share, and reads them at a
tenth of the price.

Contents are created and renewed in the background, once a prefix is used for the second time:
creating one costs the full price, and keeping it costs a little every hour. Unused contents expire.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import structlog

from bot.providers.gemini.failures import FAILURES, GeminiFailures, ServiceError

if TYPE_CHECKING:
    from bot.providers.gemini.sdk import Sdk

log = structlog.stdlib.get_logger(__name__)

LIFETIME_S = 600.0
TTL = f"{LIFETIME_S:.0f}s"
# A content about to expire may be gone when the request arrives.
MARGIN_S = 30.0
# Creating or renewing a content takes so long at most.
RENEWAL_S = 30.0
PAUSE_S = 3600.0
# So many prefixes are cached; each channel has one.
MOST = 8
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
        name: Google's name of the content, empty while there is none.
        is_busy: the content is being created or renewed.
    """

    prefix: bytes
    used_at: float = -math.inf
    name: str = ""
    expires_at: float = 0.0
    is_busy: bool = False


class CachedContents:
    """The cached contents of one model, the last used one at the end.

    After a refusal nothing is cached for an hour.

    Args:
        sdk: opens it, once.
        clock: monotonic seconds.

    Attributes:
        least_bytes: shorter prefixes are not cached.
    """

    def __init__(
        self,
        sdk: Callable[[], Awaitable[Sdk]],
        failures: GeminiFailures,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sdk = sdk
        self._failures = failures
        self._clock = clock
        self.least_bytes = least_tokens(failures.model) * BYTES_PER_TOKEN
        self._cached: dict[bytes, _Cached] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused_until = -math.inf
        self._has_warned = False

    def use(self, prefix: bytes) -> str:
        """The name of the cached prefix (JSON), empty without one. A request with the name leaves
        the prefix out.

        It becomes the last used one; beyond ``MOST`` the least recently used is dropped.
        """
        if len(prefix) < self.least_bytes:
            return ""
        now = self._clock()
        cached = self._cached.pop(prefix, None) or _Cached(prefix)
        self._cached[prefix] = cached
        if len(self._cached) > MOST:
            del self._cached[next(iter(self._cached))]
        has_come_back = now - cached.used_at < LIFETIME_S
        cached.used_at = now
        left = cached.expires_at - now
        if left < MARGIN_S:
            cached.name = ""
        if cached.name:
            is_wanted = left < LIFETIME_S / 2
        else:
            is_wanted = has_come_back and now >= self._paused_until
        if is_wanted and not cached.is_busy:
            cached.is_busy = True
            # The task runs without the log fields of the current turn.
            task = asyncio.create_task(self._renew(cached), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return cached.name

    def forget(self, name: str) -> None:
        """Drop a name that Google refused in a request which it took without the name."""
        for cached in self._cached.values():
            if cached.name == name:
                cached.name = ""
                self._pause("a cached content was refused")

    async def aclose(self) -> None:
        """Leave what is being created; all contents expire by themselves."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _renew(self, cached: _Cached) -> None:
        """Create the content of a prefix, or extend its lifetime."""
        expires_at = self._clock() + LIFETIME_S
        try:
            async with asyncio.timeout(RENEWAL_S):
                sdk = await self._sdk()
                if cached.name:
                    cached.name = await sdk.extend_cached(cached.name, TTL)
                else:
                    prefix = msgspec.json.decode(cached.prefix)
                    cached.name = await sdk.create_cached(self._failures.model, prefix, TTL)
        except FAILURES as error:
            self._give_up(cached, error)
        else:
            cached.expires_at = expires_at
            self._has_warned = False
        finally:
            cached.is_busy = False

    def _give_up(self, cached: _Cached, error: Exception) -> None:
        """Drop a content after a failure; after "too small", prefixes of that size are no longer
        tried."""
        cached.name = ""
        if isinstance(error, ServiceError) and TOO_SMALL in error.message:
            self.least_bytes = max(self.least_bytes, len(cached.prefix) + 1)
        else:
            self._pause(self._failures.cause_of(error))

    def _pause(self, why: str) -> None:
        self._paused_until = self._clock() + PAUSE_S
        if not self._has_warned:
            self._has_warned = True
            log.warning("model.not_cached", model=self._failures.model, cause=why)
