"""One conversation's care: turns in strict order and deliveries, under one lease."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from bot.answering import Answering
from bot.channels import Channel
from bot.delivery import Postman
from bot.errors import LeaseLost, StoreUnavailable
from bot.housekeeping import KEEP_TURNS
from bot.journal import read_record
from bot.metrics import Metrics
from bot.store import Lease, Store
from bot.transcript import Message, new_id

log = structlog.stdlib.get_logger(__name__)

RENEW_S = (1.0, 2.0)  # a lease lives three times as long; hundreds of renewals at one moment would stall the door


class Conversations:
    """Takes care of conversations, each under its lease, as many at once as are asked for."""

    def __init__(self, store: Store, answering: Answering, channels: Mapping[str, Channel], metrics: Metrics) -> None:
        self._store = store
        self._answering = answering
        self._postman = Postman(store, channels, metrics)
        self.closing = False  # begins no new turn; what waits is left for others

    async def attend(self, conversation: str) -> None:
        """Deliver what is left and answer what waits; where another process does so already, leave at once.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        while await self._attend_once(conversation) and not self.closing:
            log.debug("a message came in while the lease was given back", conversation=conversation)

    async def past(self, conversation: str) -> list[Message]:
        """The committed messages, oldest first."""
        entries = await self._store.history.read(conversation, KEEP_TURNS)
        return [message for entry in entries for message in read_record(entry)]

    async def _attend_once(self, conversation: str) -> bool:
        """Whether a message waits that came in too late for this lease and gave nobody a hint."""
        lease = await self._store.leases.acquire(conversation)
        if lease is None:
            return False
        retry_at: int | None = None
        waiting = False
        with structlog.contextvars.bound_contextvars(conversation=conversation):
            try:
                async with self._held(lease):
                    retry_at = await self._care(lease)
            except LeaseLost:
                log.warning("lease lost, another process goes on")
            finally:
                # Also after a shutdown's cancellation: the next worker shall not wait for the lease to expire.
                waiting = await asyncio.shield(self._release(lease, retry_at))
        return waiting

    @asynccontextmanager
    async def _held(self, lease: Lease) -> AsyncIterator[None]:
        """Renew the lease while the work inside runs; losing it ends the work with ``LeaseLost``."""
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(lease))
                yield
                renewing.cancel()
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    async def _renew(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(random.uniform(*RENEW_S))  # noqa: S311 -- no secret
            await self._store.leases.renew(lease)

    async def _release(self, lease: Lease, retry_at: int | None) -> bool:
        with suppress(LeaseLost, StoreUnavailable):
            return await self._store.leases.release(lease, retry_at)
        return False

    async def _care(self, lease: Lease) -> int | None:
        retry_at = await self._postman.deliver(lease)
        while not self.closing and (journalled := await self._store.journal.begin(lease, new_id("turn"))) is not None:
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                # An answer that is shown while it is written must not overtake one that still waits.
                quietly = retry_at is not None
                if (retry_at := await self._answering.take(lease, journalled, quietly=quietly)) is not None:
                    return retry_at
                retry_at = await self._postman.deliver(lease)
        return None if self.closing else retry_at  # a turn may have been left, and a delivery's wait is not its own
