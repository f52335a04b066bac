"""A channel's traffic: recorded beside webhooks and deliveries, read by ``kaiwa doctor``."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, fields

import structlog

from bot.channels import KeyValue
from bot.checks import CheckResult, ago
from bot.errors import StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

LAST_WEBHOOK, LAST_DELIVERY = "last_webhook", "last_delivery"
BAD_SIGNATURES, LAST_BAD_SIGNATURE = "bad_signatures", "last_bad_signature"
LAST_REFUSED, LAST_REDELIVERY = "last_refused", "last_redelivery"
KEEP_S = 7 * 86_400
PAUSE_S = 1.0  # between two writes


@dataclass(frozen=True, slots=True)
class Traffic:
    """A channel's traffic of the last week: times in milliseconds since the epoch, 0 for never.

    Attributes:
        last_refused: when the platform was last asked to send a webhook again.
        last_redelivery: when it last sent one again.
    """

    last_webhook: int = 0
    last_delivery: int = 0
    bad_signatures: int = 0
    last_bad_signature: int = 0
    last_refused: int = 0
    last_redelivery: int = 0

    def check(self, name: str, secret: str, now: int) -> CheckResult:
        """A wrong secret refuses every webhook: it is suspected if none was accepted since the last
        bad signature.

        Args:
            secret: the variable that signatures are checked with.
        """
        came = (
            f"last webhook {ago(self.last_webhook, now)}, last delivery "
            f"{ago(self.last_delivery, now)}"
        )
        detail = f"{came}, bad signatures: {self.bad_signatures or 'none'}"
        if self.bad_signatures and self.last_bad_signature >= self.last_webhook:
            return CheckResult("warning", name, detail, f"{secret} is probably wrong")
        return CheckResult("ok", name, detail)


async def read_traffic(kv: KeyValue, channel: str) -> Traffic:
    """The last week.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    return Traffic(
        *[int(await kv.get(f"{channel}:{field.name}") or 0) for field in fields(Traffic)]
    )


class TrafficRecorder:
    """Records webhooks and deliveries, and stores the record at most once a second, however many
    requests come in.

    Args:
        channel: the channel's name.
        secret: the variable that signatures are checked with.
    """

    def __init__(self, kv: KeyValue, channel: str, secret: str) -> None:
        self._kv = kv
        self._channel = channel
        self._secret = secret
        self._times: dict[str, int] = {}
        self._bad_signatures = 0
        self._writing: asyncio.Task[None] | None = None

    @property
    def is_writing(self) -> bool:
        """Whether something is being stored, or was within the last second."""
        return self._writing is not None and not self._writing.done()

    def record_webhook(self, at: int) -> None:
        """A signed webhook came in."""
        self._record(LAST_WEBHOOK, at)

    def record_delivery(self, at: int) -> None:
        """A reply went out."""
        self._record(LAST_DELIVERY, at)

    def record_bad_signature(self, at: int) -> None:
        """Somebody posted without the platform's signature, or our secret is not the platform's."""
        self._bad_signatures += 1
        self._record(LAST_BAD_SIGNATURE, at)

    def record_refusal(self, at: int) -> None:
        """The platform was asked to send a webhook again: the store did not take it."""
        self._record(LAST_REFUSED, at)

    def record_redelivery(self, at: int) -> None:
        """The platform sent a webhook again."""
        self._record(LAST_REDELIVERY, at)

    async def aclose(self) -> None:
        """Store what is not stored yet."""
        if self._writing is not None:
            self._writing.cancel()
            with suppress(asyncio.CancelledError):
                await self._writing
        await self._write()

    def _record(self, name: str, at: int) -> None:
        self._times[f"{self._channel}:{name}"] = at
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
            log.warning("webhook.refused", platform=self._channel, count=bad, fix=fix)
        try:
            for name, at in times.items():
                await self._kv.set(name, str(at).encode(), KEEP_S)
            if bad:
                name = f"{self._channel}:{BAD_SIGNATURES}"
                known = int(await self._kv.get(name) or 0)
                await self._kv.set(name, str(known + bad).encode(), KEEP_S)
        except StoreUnavailable:
            self._times = (
                times | self._times
            )  # a refusal happens while the store is away, and is stored when it is back
