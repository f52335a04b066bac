"""The outbox relay sends deliveries in order: pending → attempting → delivered or dead letter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import structlog
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.agent.turn import ApprovalDecision
from bot.channels import Delivery, Question
from bot.conversation.journal import DECIDED, read_open_question
from bot.conversation.polls import fill_in
from bot.conversation.services import Services
from bot.errors import DeliverLater, DeliveryRefused, LeaseLost, StoreUnavailable, TokenRefused
from bot.store import RELEASED, Lease
from bot.telemetry import Span, span
from bot.transcript import UNREADABLE, channel_of, encode

log = structlog.stdlib.get_logger(__name__)

MAX_ATTEMPTS = 10
MAX_FAILURES = 3  # of these with an unforeseen exception
REST_S = 1.0  # after the first of them; doubled after each further one
UNREAD = "cannot be read"
CANNOT_ASK = "rejected: nobody could be asked for approval"
TOKEN_WAIT_MS = 3_600_000  # for the operator to replace a refused token

decode_delivery = Decoder(Delivery).decode


class Progress(NamedTuple):
    """How far a conversation's outbox was delivered.

    Attributes:
        retry_at: when to try again (ms of the store's clock), or None when the outbox is empty.
        released: no work is left in the conversation, and its lease is released.
    """

    retry_at: int | None = None
    released: bool = False


class OutboxRelay:
    """Delivers a conversation's outbox under its lease.

    Args:
        assert_held: raises ``LeaseLost`` if another process holds the conversation.
    """

    def __init__(self, services: Services, assert_held: Callable[[Lease], Awaitable[None]]) -> None:
        self._services = services
        self._store = services.store
        self._metrics = services.metrics
        self._alerts = services.alerts
        self._assert_held = assert_held

    async def deliver(self, lease: Lease, head: bytes | None = None) -> Progress:
        """Send the outbox, as far as possible now.

        Args:
            head: the first delivery, if it is known.

        Raises:
            LeaseLost: another process delivers.
        """
        head = head or await self._store.outbox.head(lease.conversation)
        return Progress() if head is None else await self._go_on(lease, await self._send(lease, head))

    async def deliver_first(self, lease: Lease, delivery: Delivery | None) -> Progress:
        """Send the outbox, beginning with a delivery that was stored as attempted; None: it is not the head.

        Raises:
            LeaseLost: another process delivers.
        """
        if delivery is None:
            return await self.deliver(lease)
        return await self._go_on(lease, await self._attempt(lease, delivery))

    async def _go_on(self, lease: Lease, outcome: int | bytes | None) -> Progress:
        while outcome is not None and outcome != RELEASED:
            if isinstance(outcome, int):
                return Progress(retry_at=outcome)
            outcome = await self._send(lease, outcome)
        return Progress(released=outcome == RELEASED)

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
        if delivery.not_before and delivery.not_before > await self._store.now_ms(lease.conversation):
            return delivery.not_before
        if (channel := self._services.channel(lease.conversation)) is not None:
            again = delivery.attempts > 0
            reply = await fill_in(self._store, channel, lease.conversation, delivery.reply, again=again)
            if isinstance(reply, int):
                return reply
            if reply is None:
                return await self._store.outbox.remove_head(lease)
            delivery = replace(delivery, reply=reply)
        if delivery.attempts > delivery.refusals and not delivery.not_before:
            self._metrics.deliveries.labels(channel_of(lease.conversation), "uncertain").inc()
        delivery = replace(delivery, attempts=delivery.attempts + 1, not_before=0)
        # Recorded first: after a crash the next process knows that the delivery may have been sent.
        await self._store.outbox.replace_head(lease, encode(delivery))
        return await self._attempt(lease, delivery)

    async def _attempt(self, lease: Lease, delivery: Delivery) -> int | bytes | None:
        conversation = lease.conversation
        name = channel_of(conversation)
        with span("delivery", self._metrics) as attempt:
            try:
                if delivery.attempts - delivery.refusals > MAX_ATTEMPTS:
                    raise DeliveryRefused(f"gave up after {MAX_ATTEMPTS} attempts")
                if (channel := self._services.channel(conversation)) is None:
                    raise DeliveryRefused(f"the channel {name} is switched off")
                if delivery.reply.question and not await self._is_open(lease, delivery.reply.question):
                    raise DeliveryRefused("the question is decided already")
                shown_at = await channel.deliver(conversation, delivery, partial(self._assert_held, lease))
            except DeliverLater as later:
                attempts, after_s = delivery.attempts, later.after
                attempt.end("delivery.postponed", "later", name, cause=str(later), attempts=attempts, after_s=after_s)
                return await self._postpone(lease, delivery, later)
            except DeliveryRefused as refused:
                attempt.end("delivery.failed", "refused", name, cause=str(refused), delivery=delivery.id)
                return await self._give_up(lease, delivery, str(refused))
            except (LeaseLost, StoreUnavailable):
                raise
            except Exception as error:  # the next attempt may succeed; the first traceback is enough
                if not delivery.failures:
                    log.exception("delivery.crashed", delivery=delivery.id)
                return await self._try_again(lease, delivery, attempt, type(error).__name__)
            attempt.end("delivery.sent", "delivered", name)
            question = delivery.reply.question
            return await self._store.outbox.remove_head(lease, question.id if question else "", shown_at)

    async def _postpone(self, lease: Lease, delivery: Delivery, later: DeliverLater) -> int | bytes | None:
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

    async def _try_again(self, lease: Lease, delivery: Delivery, attempt: Span, reason: str) -> int | bytes | None:
        name, failures = channel_of(lease.conversation), delivery.failures + 1
        cause = f"failed {failures} times: {reason}"
        if failures >= MAX_FAILURES:
            attempt.end("delivery.failed", "refused", name, cause=cause, delivery=delivery.id)
            return await self._give_up(lease, delivery, cause)
        rest_s = REST_S * 2 ** (failures - 1)
        attempt.end("delivery.postponed", "later", name, cause=cause, attempts=delivery.attempts, after_s=rest_s)
        return await self._postpone(lease, replace(delivery, failures=failures), DeliverLater(cause, rest_s))

    async def _give_up(self, lease: Lease, delivery: Delivery, reason: str) -> int | bytes | None:
        """Give a delivery up. An undeliverable question is rejected, so that its turn goes on at once."""
        if delivery.reply.fleeting:
            return await self._store.outbox.remove_head(lease)
        is_rejected = delivery.reply.question is not None and await self._reject(lease, delivery.reply.question)
        following = await self._store.outbox.move_head_to_dead_letters(lease, reason.encode())
        await self._alerts.notice("dead_letters", reason)
        return await self._store.now_ms(lease.conversation) if is_rejected else following

    async def _reject(self, lease: Lease, question: Question) -> bool:
        """Reject the call of a question; false if no turn waits for it."""
        if not await self._is_open(lease, question):
            return False
        decided = ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=CANNOT_ASK)
        await self._store.journal.record(lease, DECIDED, encode(decided))
        return True

    async def _is_open(self, lease: Lease, question: Question) -> bool:
        asked = await read_open_question(self._store, lease.conversation)
        return asked is not None and asked.id == question.id


def reset_attempts(raw: bytes) -> bytes:
    """A dead letter's delivery for a new round of attempts; its attempt count still marks it as a repetition.

    Raises:
        DecodeError: it cannot be read.
    """
    delivery = decode_delivery(raw)
    return encode(replace(delivery, refusals=delivery.attempts, refused_since=0, not_before=0, failures=0))
