"""The outbox: deliveries in the order in which they must be sent; the head is being sent.

Beside it the newest ``KEPT`` deliveries are kept that nothing but another delivery could bring, for
``WORK_S`` after the newest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from bot.store.clients import Client, ask
from bot.store.frames import Entry, pack
from bot.store.keys import WORK_S, Keys
from bot.store.leases import Lease
from bot.store.queues import Command
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

    All changes except ``post`` and ``remove_kept`` are fenced: they raise ``LeaseLost`` where the
    lease is no longer held.
    """

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def head(self, conversation: str) -> bytes | None:
        """The next delivery."""
        head: bytes | None = await ask(self._client, "LINDEX", Keys(conversation).outbox, 0)
        return head

    async def read(self, conversation: str) -> list[bytes]:
        """All deliveries, oldest first."""
        all_: list[bytes] = await ask(self._client, "LRANGE", Keys(conversation).outbox, 0, -1)
        return all_

    async def post(
        self, conversation: str, delivery_id: str, delivery: bytes, bound: Bound = UNBOUNDED
    ) -> bool:
        """Append a delivery that belongs to no turn; False where ``delivery_id`` was posted in the
        last three days, or too many wait already."""
        keys = Keys(conversation)
        arguments = [conversation, delivery, bound.most, bound.mark, bound.most_alike]
        seen = {"seen": keys.seen(delivery_id)}
        return bool(await self._scripts.run("post", conversation, arguments, seen))

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
        arguments = [lease.token, delivery, *answers]
        return bool(await self._scripts.run("replace_head", lease.conversation, arguments))

    async def split_head(self, lease: Lease, deliveries: Iterable[bytes]) -> bytes:
        """Put deliveries in the place of one that was not sent; returns the first of them."""
        outbox, parts = Keys(lease.conversation).outbox, list(deliveries)
        commands: list[Command] = [
            ("LPOP", outbox),
            ("LPUSH", outbox, *reversed(parts)),
            ("EXPIRE", outbox, WORK_S),
        ]
        await self._scripts.transact(commands, lease.conversation, lease.token)
        return parts[0]

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
        return await self._take_head(lease, "arrived", ["", "", question_id, at])

    async def move_head_to_dead_letters(
        self, lease: Lease, reason: bytes, step: Entry | None = None
    ) -> bytes | None:
        """Turn the undeliverable head into a dead letter; returns the next delivery.

        Args:
            step: of the turn under way, if that waits for the decision that this delivery should
                have asked for.
        """
        frame = pack(step.kind, "", step.body) if step else b""
        return await self._take_head(lease, "dead", [reason, frame, "", ""])

    async def keep_head(self, lease: Lease, reason: bytes) -> bytes | None:
        """Move the head to the kept deliveries; returns the next delivery.

        Args:
            reason: of the dead letter that the oldest of them becomes where there are too many.
        """
        return await self._take_head(lease, "kept", [reason, "", "", ""])

    async def kept(self, conversation: str) -> list[bytes]:
        """The kept deliveries, oldest first."""
        key = Keys(conversation).of("kept")
        kept: list[bytes] = await ask(self._client, "LRANGE", key, 0, -1)
        return kept

    async def remove_kept(
        self, conversation: str, delivery: bytes, *, given_up: str = "", question_id: str = ""
    ) -> None:
        """Remove a kept delivery that has arrived; one that is gone already changes nothing.

        Args:
            given_up: why it becomes a dead letter instead.
            question_id: see ``remove_head``.
        """
        arguments = [conversation, delivery, given_up, question_id]
        await self._scripts.run("remove_kept", conversation, arguments)

    async def _take_head(self, lease: Lease, outcome: str, details: Sequence[Any]) -> bytes | None:
        arguments = [lease.conversation, lease.token, outcome, *details]
        following = await self._scripts.run("take_head", lease.conversation, arguments)
        return cast("bytes | None", following)
