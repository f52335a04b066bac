"""A channel's traffic: recorded beside webhooks and deliveries, read by ``kaiwa doctor``."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Literal

import structlog

from bot.channels import KeyValue
from bot.checks import CheckResult, ago
from bot.errors import StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

What = Literal["webhook", "delivery", "bad_signature", "refused", "redelivery"]
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

    def record(self, what: What, at: int) -> None:
        """Record that something happened.

        Args:
            what: a signed ``webhook`` came in, a ``delivery`` went out; ``bad_signature``: somebody
                posted without the platform's signature, or our secret is not the platform's;
                ``refused``: the platform was asked to send a webhook again, as the store did not
                take it; ``redelivery``: it has sent one again.
        """
        self._times[f"{self._channel}:last_{what}"] = at
        self._bad_signatures += what == "bad_signature"
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._keep_writing())

    async def aclose(self) -> None:
        """Store what is not stored yet."""
        if self._writing is not None:
            self._writing.cancel()
            with suppress(asyncio.CancelledError):
                await self._writing
        await self._write()

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
                name = f"{self._channel}:bad_signatures"
                known = int(await self._kv.get(name) or 0)
                await self._kv.set(name, str(known + bad).encode(), KEEP_S)
        except StoreUnavailable:
            self._times = (
                times | self._times
            )  # a refusal happens while the store is away, and is stored when it is back
