"""The outbox: deliveries in the order they must leave; the first is the one under way."""

from __future__ import annotations

from typing import cast

from bot.store.clients import Client
from bot.store.connection import translate_errors
from bot.store.keys import Keys
from bot.store.leases import Lease
from bot.store.scripts import Scripts


class Outbox:
    """Replies on their way out.

    Changes but ``post`` are fenced: they raise ``LeaseLost`` where the lease is no longer held.
    """

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def head(self, conversation: str) -> bytes | None:
        """The delivery that is next."""
        async with translate_errors():
            return cast(bytes | None, await self._client.lindex(Keys(conversation).outbox, 0))

    async def read(self, conversation: str) -> list[bytes]:
        """All deliveries, oldest first."""
        async with translate_errors():
            return cast(list[bytes], await self._client.lrange(Keys(conversation).outbox, 0, -1))

    async def post(self, conversation: str, delivery_id: str, delivery: bytes) -> bool:
        """Put a delivery that answers nobody behind the others, once in three days; whether that was now."""
        return bool(await self._scripts.run("post", conversation, delivery, message_id=delivery_id))

    async def replace_head(self, lease: Lease, delivery: bytes) -> None:
        """Put down how far the delivery has come."""
        await self._scripts.run("replace_head", lease.conversation, lease.token, delivery)

    async def remove_head(self, lease: Lease, question_id: str = "", shown_at: int | None = None) -> bytes | None:
        """The delivery has arrived; the one that is next.

        Args:
            question_id: of the question that the delivery asked; the turn that waits keeps when it was shown.
            shown_at: by the platform's clock, milliseconds since the epoch; None: now, by the store's clock.
        """
        at = "" if shown_at is None else shown_at
        following = await self._scripts.run("remove_head", lease.conversation, lease.token, question_id, at)
        return cast(bytes | None, following)

    async def move_head_to_dead_letters(self, lease: Lease, reason: bytes) -> bytes | None:
        """The delivery will never arrive: put it, with the reason, to the dead letters; the one that is next."""
        return cast(
            bytes | None, await self._scripts.run("move_head_to_dead_letters", lease.conversation, lease.token, reason)
        )
