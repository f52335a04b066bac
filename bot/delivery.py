"""Replies leave the outbox one after another, oldest first: pending → attempting → delivered or dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import structlog
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Channel, Delivery
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused
from bot.metrics import Metrics
from bot.store import Lease, Store
from bot.transcript import UNREADABLE, encode

log = structlog.stdlib.get_logger(__name__)

MAX_ATTEMPTS = 10
TOKEN_WAIT_MS = 3_600_000  # for a new token in the place of a refused one

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
            except UNREADABLE as error:
                log.error("a delivery cannot be read", error=str(error))
                await outbox.bury_head(lease, b"cannot be read")
                continue
            if delivery.not_before and delivery.not_before > await self._store.now_ms(lease.conversation):
                return delivery.not_before
            if delivery.attempts > delivery.refusals and not delivery.not_before:
                self._metrics.deliveries.labels(lease.conversation.partition(":")[0], "uncertain").inc()
            delivery = replace(delivery, attempts=delivery.attempts + 1, not_before=0)
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
            if delivery.attempts - delivery.refusals > MAX_ATTEMPTS:
                raise DeliveryRefused(f"gave up after {MAX_ATTEMPTS} attempts")
            if (channel := self._channels.get(name)) is None:
                raise DeliveryRefused(f"the channel {name} is switched off")
            await channel.deliver(conversation, delivery, partial(self._store.leases.renew, lease))
        except DeliverLater as later:
            outcomes.labels(name, "later").inc()
            return await self._postpone(lease, delivery, later)
        except DeliveryRefused as refused:
            outcomes.labels(name, "refused").inc()
            await self._bury(lease, delivery, str(refused))
        else:
            outcomes.labels(name, "delivered").inc()
            await self._store.outbox.remove_head(lease)
        return None

    async def _postpone(self, lease: Lease, delivery: Delivery, later: DeliverLater) -> int | None:
        now = await self._store.now_ms(lease.conversation)
        if isinstance(later, TokenRefused):
            since = delivery.refused_since or now
            if now - since > TOKEN_WAIT_MS:
                await self._bury(lease, delivery, str(later))
                return None
            delivery = replace(delivery, refusals=delivery.refusals + 1, refused_since=since)
        log.warning("delivery postponed", reason=str(later), after_s=later.after, attempts=delivery.attempts)
        retry_at = now + round(later.after * 1000)
        await self._store.outbox.replace_head(lease, encode(replace(delivery, not_before=retry_at)))
        return retry_at

    async def _bury(self, lease: Lease, delivery: Delivery, reason: str) -> None:
        log.error("delivery failed, see: kaiwa outbox list", reason=reason, delivery=delivery.id)
        await self._store.outbox.bury_head(lease, reason.encode())


def fresh(raw: bytes) -> bytes:
    """A dead letter's delivery as it goes out again: with all its attempts before it, and known to be a repetition.

    Raises:
        DecodeError: it cannot be read.
    """
    delivery = decode_delivery(raw)
    return encode(replace(delivery, refusals=delivery.attempts, refused_since=0, not_before=0))
