"""Replies leave the outbox one after another, oldest first: pending → attempting → delivered or dead letter."""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from msgspec import DecodeError
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Channel, Delivery
from bot.errors import DeliverLater, DeliveryRefused
from bot.metrics import Metrics
from bot.store import Lease, Store
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

MAX_ATTEMPTS = 10

decode_delivery = Decoder(Delivery).decode


class Postman:
    """Delivers a conversation's outbox under its lease."""

    def __init__(self, store: Store, channels: Mapping[str, Channel], metrics: Metrics) -> None:
        self._store = store
        self._channels = channels
        self._metrics = metrics

    async def deliver(self, lease: Lease) -> int | None:
        """Send what may be sent now.

        Returns:
            When to try again (ms of the store's clock), or None when the outbox is empty.

        Raises:
            LeaseLost: another process delivers.
        """
        outbox = self._store.outbox
        while (raw := await outbox.head(lease.conversation)) is not None:
            try:
                delivery = decode_delivery(raw)
            except DecodeError as error:
                log.error("a delivery cannot be read", error=str(error))
                await outbox.bury_head(lease, b"cannot be read")
                continue
            if delivery.not_before > await self._store.now_ms():
                return delivery.not_before
            delivery = replace(delivery, attempts=delivery.attempts + 1)
            # The attempt is on record before anything is sent: after a crash it is known that it may have gone out.
            await outbox.replace_head(lease, encode(delivery))
            if (retry_at := await self._attempt(lease, delivery)) is not None:
                return retry_at
        return None

    async def _attempt(self, lease: Lease, delivery: Delivery) -> int | None:
        conversation = lease.conversation
        name = conversation.partition(":")[0]
        outcomes = self._metrics.deliveries
        try:
            if delivery.attempts > MAX_ATTEMPTS:
                raise DeliveryRefused(f"gave up after {MAX_ATTEMPTS} attempts")
            if (channel := self._channels.get(name)) is None:
                raise DeliveryRefused(f"the channel {name} is switched off")
            await channel.deliver(conversation, delivery)
        except DeliverLater as later:
            outcomes.labels(name, "later").inc()
            log.warning("delivery postponed", reason=str(later), after_s=later.after, attempts=delivery.attempts)
            retry_at = await self._store.now_ms() + round(later.after * 1000)
            await self._store.outbox.replace_head(lease, encode(replace(delivery, not_before=retry_at)))
            return retry_at
        except DeliveryRefused as refused:
            outcomes.labels(name, "refused").inc()
            log.error("delivery failed", reason=str(refused), delivery=delivery.id)
            await self._store.outbox.bury_head(lease, str(refused).encode())
        else:
            outcomes.labels(name, "delivered").inc()
            await self._store.outbox.remove_head(lease)
        return None
