"""The outbox: deliveries in the order in which they must be sent; the head is being sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from bot.store.clients import Client, translate_errors
from bot.store.frames import Entry, pack
from bot.store.keys import Keys
from bot.store.leases import Lease
from bot.store.scripts import Scripts

RELEASED = b"released"  # no delivery: those are JSON


class Bound(NamedTuple):
    """How many deliveries may wait where another one is appended.

    Attributes:
        most: 0: any number.
        most_alike: of those that hold the bytes ``mark``, likewise.
    """

    most: int = 0
    mark: bytes = b""
    most_alike: int = 0


UNBOUNDED = Bound()


class Outbox:
    """Deliveries of conversations.

    All changes except ``post`` are fenced: they raise ``LeaseLost`` where the lease is no longer
    held.
    """

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def head(self, conversation: str) -> bytes | None:
        """The next delivery."""
        async with translate_errors():
            return cast(bytes | None, await self._client.lindex(Keys(conversation).outbox, 0))

    async def read(self, conversation: str) -> list[bytes]:
        """All deliveries, oldest first."""
        async with translate_errors():
            return cast(list[bytes], await self._client.lrange(Keys(conversation).outbox, 0, -1))

    async def post(
        self, conversation: str, delivery_id: str, delivery: bytes, bound: Bound = UNBOUNDED
    ) -> bool:
        """Append a delivery that belongs to no turn; False where ``delivery_id`` was posted in the
        last three days, or too many wait already."""
        return bool(
            await self._scripts.run("post", conversation, delivery, *bound, message_id=delivery_id)
        )

    async def replace_head(
        self, lease: Lease, delivery: bytes, answers: Sequence[str] = ()
    ) -> bool:
        """Store the progress of the delivery.

        Args:
            answers: ids of messages.

        Returns:
            False where nothing was stored: inbox or journal hold a change of one of ``answers``,
            and no step of a turn that has seen it.
        """
        return bool(
            await self._scripts.run(
                "replace_head", lease.conversation, lease.token, delivery, *answers
            )
        )

    async def amend(self, lease: Lease, delivery: bytes, new: bytes) -> None:
        """Replace a delivery, here or among the late answers; one that is gone stays so."""
        await self._scripts.run("amend", lease.conversation, lease.token, delivery, new)

    async def split_head(self, lease: Lease, deliveries: Iterable[bytes]) -> bytes:
        """Put deliveries in the place of one that was not sent; returns the first of them."""
        return cast(
            bytes,
            await self._scripts.run("split_head", lease.conversation, lease.token, *deliveries),
        )

    async def remove_head(
        self, lease: Lease, question_id: str = "", shown_at: int | None = None
    ) -> bytes | None:
        """Remove the delivery, which has arrived; returns the next one, or ``RELEASED``: no work
        was left.

        Args:
            question_id: of the question in the delivery; the parked turn stores when it was shown.
            shown_at: milliseconds since the epoch by the platform's clock; None: now, by the
            store's clock.
        """
        at = "" if shown_at is None else shown_at
        following = await self._scripts.run(
            "remove_head", lease.conversation, lease.token, question_id, at
        )
        return cast(bytes | None, following)

    async def move_head_to_dead_letters(
        self, lease: Lease, reason: bytes, step: Entry | None = None
    ) -> bytes | None:
        """Turn the undeliverable head into a dead letter; returns the next delivery.

        Args:
            step: of the turn under way, if that waits for the decision that this delivery should
            have asked for.
        """
        how = reason, pack(step.kind, "", step.body) if step else b""
        following = await self._scripts.run(
            "move_head_to_dead_letters", lease.conversation, lease.token, *how
        )
        return cast(bytes | None, following)
