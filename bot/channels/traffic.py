"""What ``kaiwa doctor`` wants to know of the traffic, noted off the webhook's path."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog
from msgspec import Struct

from bot.channels.kv import KeyValue
from bot.checks import Traffic
from bot.errors import StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

LAST_WEBHOOK, LAST_DELIVERY = "last_webhook", "last_delivery"
BAD_SIGNATURES, LAST_BAD_SIGNATURE = "bad_signatures", "last_bad_signature"
LAST_REFUSED, LAST_REDELIVERY = "last_refused", "last_redelivery"
KEEP_S = 7 * 86_400
PAUSE_S = 1.0  # between two writes, whatever comes in


class Redelivery(Struct, frozen=True):
    """When we last told a platform to come again, and when it last did: milliseconds since the epoch, 0 for never."""

    last_refused: int
    last_redelivery: int


async def traffic(notes: KeyValue, platform: str) -> Traffic:
    """The last week.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    names = (LAST_WEBHOOK, LAST_DELIVERY, BAD_SIGNATURES, LAST_BAD_SIGNATURE)
    return Traffic(*[int(await notes.get(f"{platform}:{name}") or 0) for name in names])


async def redelivery(notes: KeyValue, platform: str) -> Redelivery:
    """The last week.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    return Redelivery(*[int(await notes.get(f"{platform}:{name}") or 0) for name in (LAST_REFUSED, LAST_REDELIVERY)])


class Records:
    """Gathers what happened and writes it down soon after, about once a second at most: an unsigned POST costs none.

    Args:
        platform: ``line`` or ``slack``.
        secret: the variable that signatures are checked with.
    """

    def __init__(self, notes: KeyValue, platform: str, secret: str) -> None:
        self._notes = notes
        self._platform = platform
        self._secret = secret
        self._times: dict[str, int] = {}
        self._bad_signatures = 0
        self._writing: asyncio.Task[None] | None = None

    @property
    def is_writing(self) -> bool:
        """Whether something is being written, or was a moment ago."""
        return self._writing is not None and not self._writing.done()

    def webhook(self, at: int) -> None:
        """A signed webhook came in."""
        self._note(LAST_WEBHOOK, at)

    def delivery(self, at: int) -> None:
        """A reply went out."""
        self._note(LAST_DELIVERY, at)

    def bad_signature(self, at: int) -> None:
        """Somebody posted without the platform's signature, or our secret is not the platform's."""
        self._bad_signatures += 1
        self._note(LAST_BAD_SIGNATURE, at)

    def refused(self, at: int) -> None:
        """The platform was told to come again: the store did not take a webhook."""
        self._note(LAST_REFUSED, at)

    def redelivery(self, at: int) -> None:
        """The platform came again."""
        self._note(LAST_REDELIVERY, at)

    async def aclose(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            with suppress(asyncio.CancelledError):
                await self._writing
        await self._write()

    def _note(self, name: str, at: int) -> None:
        self._times[f"{self._platform}:{name}"] = at
        if not self.is_writing:
            self._writing = asyncio.create_task(self._keep_writing())

    async def _keep_writing(self) -> None:
        while self._times or self._bad_signatures:
            await self._write()
            await asyncio.sleep(PAUSE_S)

    async def _write(self) -> None:
        times, self._times = self._times, {}
        bad, self._bad_signatures = self._bad_signatures, 0
        if bad:
            fix = f"is {self._secret} the right one?"
            log.warning("webhook.refused", platform=self._platform, count=bad, fix=fix)
        try:
            for name, at in times.items():
                await self._notes.set(name, str(at).encode(), KEEP_S)
            if bad:
                name = f"{self._platform}:{BAD_SIGNATURES}"
                known = int(await self._notes.get(name) or 0)
                await self._notes.set(name, str(known + bad).encode(), KEEP_S)
        except StoreUnavailable:
            self._times = times | self._times  # a refusal happens while the store is away, and is told when it is back
