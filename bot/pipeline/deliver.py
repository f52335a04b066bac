"""The outbox relay sends deliveries in order: pending → attempting → delivered or dead letter."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import structlog
from msgspec.structs import replace

from bot.channels import ButtonCard, Delivery
from bot.errors import (
    DeliverInParts,
    DeliverLater,
    DeliverOnPress,
    DeliveryRefused,
    LeaseLost,
    StoreUnavailable,
    TokenRefused,
)
from bot.pipeline.feature import Feature, rejected
from bot.pipeline.journal import DECIDED, decode_delivery, read_held, read_open_card
from bot.pipeline.services import MAX_FAILURES, REST_MS, Services
from bot.store import RELEASED, Lease
from bot.store.keys import Entry
from bot.store.leases import Renewals
from bot.telemetry import Span
from bot.telemetry.observed import OBSERVER, DeliveryBegun
from bot.transcript import SCHEDULED_ID, UNREADABLE, channel_of, encode

log = structlog.stdlib.get_logger(__name__)

MAX_ATTEMPTS = 10
GAVE_UP = f"gave up after {MAX_ATTEMPTS} attempts"
UNREAD = "cannot be read"
CANNOT_ASK = "rejected: nobody could be asked"
TOO_MANY_HELD = "its asker has not fetched it, and newer ones took its place"
TOKEN_WAIT_MS = 3_600_000  # for the operator to replace a refused token


class OutboxState(NamedTuple):
    """How far a conversation's outbox was delivered.

    Attributes:
        retry_at: when to try again (ms of the store's clock), or None when the outbox is empty.
        released: no work is left in the conversation, and its lease is released.
    """

    retry_at: int | None = None
    released: bool = False


class OutboxRelay:
    """Delivers a conversation's outbox under its lease."""

    def __init__(self, services: Services, renewals: Renewals) -> None:
        self._services = services
        self._store = services.store
        self._features = services.features
        self._metrics = services.metrics
        self._alerts = services.alerts
        self._renewals = renewals

    async def deliver(self, lease: Lease, head: bytes | Delivery | None = None) -> OutboxState:
        """Send the outbox, as far as possible now.

        Args:
            head: the first delivery, if it is known; decoded if it was stored as attempted.

        Raises:
            LeaseLost: another process delivers.
        """
        following: int | bytes | Delivery | None = head
        following = following or await self._store.outbox.head(lease.conversation)
        while following is not None and following != RELEASED:
            if isinstance(following, int):
                return OutboxState(retry_at=following)
            if isinstance(following, Delivery):
                following = await self._try(lease, following)
            else:
                following = await self._send(lease, following)
        return OutboxState(released=following == RELEASED)

    async def _send(self, lease: Lease, raw: bytes) -> int | bytes | None:
        """Try to send one delivery.

        Returns:
            When to try again (ms of the store's clock), the next delivery, or ``RELEASED``.
        """
        try:
            delivery = decode_delivery(raw)
        except UNREADABLE as error:
            log.error("delivery.unreadable", cause=type(error).__name__)
            await self._alerts.notice("dead_letters", UNREAD)
            return await self._store.outbox.move_head_to_dead_letters(lease, UNREAD.encode())
        prepared = await self._prepare(lease, delivery)
        if prepared is None:
            return await self._remove_head(lease)
        if isinstance(prepared, int):
            return prepared
        delivery = prepared
        if delivery.attempts > delivery.refusals and not delivery.not_before:
            self._metrics.deliveries.labels(channel_of(lease.conversation), "uncertain").inc()
        delivery = replace(delivery, attempts=delivery.attempts + 1, not_before=0)
        # Recorded first: after a crash the next process knows that the delivery may have been sent.
        if not await self._store.outbox.replace_head(lease, encode(delivery), delivery.answers):
            log.info("delivery.held", delivery=delivery.id)
            return await self._store.now_ms(
                lease.conversation
            )  # the turn that reads the change comes first
        return await self._try(lease, delivery)

    async def _prepare(self, lease: Lease, delivery: Delivery) -> Delivery | int | None:
        """The delivery as it is to be sent now; None if it is no longer needed; a time (ms of the
        store's clock) before which it is not to be sent."""
        question_id = delivery.reply.awaited
        if question_id and not await self._find_open(lease, question_id):
            log.info("delivery.void", delivery=delivery.id)
            return None
        if delivery.not_before and delivery.not_before > await self._store.now_ms(
            lease.conversation
        ):
            return delivery.not_before
        if self._services.channel(lease.conversation) is None:
            return delivery
        if delivery.reply.replaces:
            for prepare in self._features.hooks(Feature.before_delivery):
                prepared = await prepare(lease.conversation, delivery)
                if not isinstance(prepared, Delivery):
                    return prepared
                delivery = prepared
        return delivery

    async def _try(self, lease: Lease, delivery: Delivery) -> int | bytes | None:
        name, shown = channel_of(lease.conversation), delivery
        if delivery.brings or delivery.more_kept:
            for add_held in self._features.hooks(Feature.with_held):
                found = await add_held(lease.conversation, shown)
                if found is None:
                    return await self._remove_head(lease)
                shown = found
        self._features.start_observing(lease.conversation, delivery.turn_id)
        if observe := OBSERVER.get():
            observe(DeliveryBegun(delivery.id, shown.reply.text))
        measured = Span("delivery", self._metrics)
        try:
            shown_at = await self._show(lease, shown)
        except DeliverLater as later:
            if _is_last(delivery, later):  # what is behind it in the outbox waits no longer
                return await self._refused(
                    lease, delivery, measured, DeliveryRefused(f"{GAVE_UP}: {later}")
                )
            return await self._postpone(lease, delivery, measured, later)
        except DeliveryRefused as refused:
            return await self._refused(lease, delivery, measured, refused)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as error:  # the next attempt may succeed; the first traceback is enough
            if not delivery.failures:
                log.exception("delivery.crashed", delivery=delivery.id)
            failures = delivery.failures + 1
            cause = f"failed {failures} times: {type(error).__name__}"
            if failures >= MAX_FAILURES:
                return await self._refused(lease, delivery, measured, DeliveryRefused(cause))
            pause = DeliverLater(cause, REST_MS / 1000 * 2 ** (failures - 1))
            counted = replace(delivery, failures=failures)
            return await self._postpone(lease, counted, measured, pause)
        measured.end("delivery.sent", "delivered", name)
        question_id = shown.reply.awaited
        if shown.brings:
            await self._remove_held(shown, question_id=question_id)
        return await self._remove_head(lease, question_id, shown_at)

    async def _refused(
        self, lease: Lease, delivery: Delivery, measured: Span, refused: DeliveryRefused
    ) -> int | bytes | None:
        """Send what is too long in parts, hold what a feature can bring later, and give the rest
        up."""
        name, cause = channel_of(lease.conversation), str(refused)
        if isinstance(refused, DeliverInParts) and not delivery.brings:
            measured.end("delivery.split", "split", name, cause=cause, delivery=delivery.id)
            return await self._store.outbox.split_head(
                lease, map(encode, delivery.in_parts(refused.texts))
            )
        if isinstance(refused, DeliverOnPress) and (
            delivery.brings or self._is_held(lease.conversation, delivery)
        ):
            if delivery.brings:  # they stay where they are
                following = await self._remove_head(lease)
            else:
                following = await self._store.outbox.keep_head(lease, TOO_MANY_HELD.encode())
            measured.end("delivery.kept", "kept", name, cause=cause, delivery=delivery.id)
            return following
        measured.end("delivery.failed", "refused", name, cause=cause, delivery=delivery.id)
        return await self._give_up(lease, delivery, cause)

    def _is_held(self, conversation: str, delivery: Delivery) -> bool:
        hooks = self._features.hooks(Feature.holds)
        return any(holds(conversation, delivery) for holds in hooks)

    async def _show(self, lease: Lease, delivery: Delivery) -> int | None:
        """Have the channel send it; features are told whether the platform has taken it."""
        conversation = lease.conversation
        if delivery.attempts - delivery.refusals > MAX_ATTEMPTS:
            raise DeliveryRefused(GAVE_UP)
        if (channel := self._services.channel(conversation)) is None:
            raise DeliveryRefused(f"the channel {channel_of(conversation)} is switched off")
        try:
            shown_at = await channel.deliver(
                conversation, delivery, partial(self._renewals.assert_held, lease)
            )
        except (DeliverInParts, DeliverOnPress):
            raise
        except DeliveryRefused as refused:
            await self._note_arrival(conversation, delivery, str(refused))
            raise
        await self._note_arrival(conversation, delivery, "")
        return shown_at

    async def _note_arrival(self, conversation: str, delivery: Delivery, refusal: str) -> None:
        """See ``Feature.after_delivery``."""
        if any(message_id.startswith(SCHEDULED_ID) for message_id in delivery.answers):
            features = self._features
            await features.each(Feature.after_delivery, conversation, delivery, refusal)

    async def _remove_held(
        self, delivery: Delivery, *, question_id: str = "", given_up: str = ""
    ) -> None:
        """Remove what a delivery has brought from where it was held."""
        for conversation, delivery_id in delivery.brings:
            for raw, held in await read_held(self._store, conversation, delivery.asker):
                if held.id == delivery_id:
                    await self._store.outbox.remove_kept(
                        conversation, raw, given_up=given_up, question_id=question_id
                    )

    async def _remove_head(
        self, lease: Lease, question_id: str = "", shown_at: int | None = None
    ) -> bytes | None:
        with self._renewals.pause(lease):  # the last delivery releases the lease
            return await self._store.outbox.remove_head(lease, question_id, shown_at)

    async def _postpone(
        self, lease: Lease, delivery: Delivery, measured: Span, later: DeliverLater
    ) -> int | bytes | None:
        measured.end(
            "delivery.postponed",
            "later",
            channel_of(lease.conversation),
            cause=str(later),
            attempts=delivery.attempts,
            after_s=later.after,
        )
        now = await self._store.now_ms(lease.conversation)
        if isinstance(later, TokenRefused):
            platform = channel_of(lease.conversation)
            await self._alerts.notice("token_refused", str(later), platform=platform)
            since = delivery.refused_since or now
            if now - since > TOKEN_WAIT_MS:
                log.error("delivery.failed", cause=str(later), delivery=delivery.id)
                return await self._give_up(lease, delivery, str(later))
            delivery = replace(delivery, refusals=delivery.refusals + 1, refused_since=since)
        retry_at = now + round(later.after * 1000)
        await self._store.outbox.replace_head(lease, encode(replace(delivery, not_before=retry_at)))
        return retry_at

    async def _give_up(self, lease: Lease, delivery: Delivery, reason: str) -> int | bytes | None:
        """Give a delivery up. An undeliverable question is rejected, so that its turn goes on at
        once."""
        if delivery.brings:
            await self._remove_held(delivery, given_up=reason)
            await self._alerts.notice("dead_letters", reason)
        if delivery.reply.keep != "always":
            return await self._remove_head(lease)
        rejection = None
        if asked := await self._find_open(lease, delivery.reply.awaited):
            rejection = Entry(DECIDED, encode(rejected(asked.call_id, CANNOT_ASK)))
        following = await self._store.outbox.move_head_to_dead_letters(
            lease, reason.encode(), rejection
        )
        await self._alerts.notice("dead_letters", reason)
        return await self._store.now_ms(lease.conversation) if rejection else following

    async def _find_open(self, lease: Lease, question_id: str) -> ButtonCard | None:
        """The card that the turn waits for, if it has this key."""
        if not question_id:
            return None
        try:
            asked = await read_open_card(self._store, lease.conversation)
        except UNREADABLE:
            return None  # the turn is given up
        return asked if asked is not None and asked.key == question_id else None


def _is_last(delivery: Delivery, later: DeliverLater) -> bool:
    """Whether no attempt follows this one, which has failed; one with a refused token is none."""
    return (
        not isinstance(later, TokenRefused)
        and delivery.attempts - delivery.refusals >= MAX_ATTEMPTS
    )
