"""What waits in a conversation: messages for a turn, in the inbox, and deliveries to be sent, in
the outbox.

Deliveries leave in their order; the head is being sent. Beside the outbox the newest ``KEPT``
deliveries are kept that nothing but another delivery could bring, for ``WORK_S`` after the newest
of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from bot.store.clients import Scripts, translate_errors
from bot.store.keys import (
    ARRIVAL,
    WORK_S,
    Entry,
    InboxEntry,
    Keys,
    message_keys,
    pack,
    unpack_waiting,
)
from bot.store.leases import Lease
from bot.store.server import ANSWER_S


class Accepted(IntEnum):
    """The result of accepting a message; false for a duplicate.

    ``LEASED``: somebody holds the conversation's lease, and reads the inbox again before giving it
    back. ``FULL``: nothing of the message was stored.
    """

    DUPLICATE = 0
    NEW = 1
    LEASED = 2
    FULL = 3


class Inbox:
    """Accepts each message once, and reads them.

    Args:
        priority: over connections that no turn uses.
    """

    def __init__(self, scripts: Scripts, priority: Scripts) -> None:
        self._scripts = scripts
        self._priority = priority

    async def find_conversation(self, message_id: str) -> str:
        """The conversation of a message that was accepted as ``indexed``; empty if it is not
        known."""
        requests = [("GET", key) for key in message_keys(message_id)]
        found = await self._priority.ask_each(requests, ANSWER_S)
        return next((value.decode() for value in found if value), "")

    async def read(self, conversation: str) -> list[InboxEntry]:
        """The waiting entries, oldest first."""
        frames = await self._scripts.ask("LRANGE", Keys(conversation).inbox, 0, -1)
        return [unpack_waiting(frame) for frame in frames]

    async def accept(
        self,
        conversation: str,
        message_id: str,
        payload: bytes,
        kind: str = ARRIVAL,
        *,
        indexed: bool = False,
        changed_id: str = "",
        unsends: bool = False,
        always: bool = False,
        answers: bool = False,
    ) -> Accepted:
        """Accept a message unless its id was seen before; takes at most ``ANSWER_S``.

        Args:
            kind: ``ARRIVAL``, ``CHANGE``, ``CONTROL`` or ``ASIDE`` of ``bot.store.keys``.
            indexed: ``find_conversation`` finds it for as long as a history is kept.
            changed_id: of the message that this one edits or takes back. If that comes in later, it
                is a duplicate where it is taken back, and an edit comes in once more behind it.
            unsends: it takes the message back.
            always: a full inbox accepts it too.
            answers: a turn may wait for it, so the limits are doubled for it.

        Raises:
            StoreUnavailable: the platform must send it again; if it was stored after all, that is a
                duplicate.
        """
        how = "always" if always else "answers" if answers else ""
        change = "" if not changed_id else "unsent" if unsends else "edited"
        index = "indexed" if indexed else ""
        arguments = [conversation, kind, message_id, payload, how, change, index]
        own = Keys(conversation)
        keys = {
            "seen": own.seen(message_id),
            "changed": own.seen(changed_id),
            "index_entry": own.message(message_id),
        }
        # The limit counts the queue too: the webhook's sender waits for all of it.
        async with translate_errors(ANSWER_S):
            return Accepted(await self._priority.run("accept", conversation, arguments, keys))


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

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def head(self, conversation: str) -> bytes | None:
        """The next delivery."""
        head: bytes | None = await self._scripts.ask("LINDEX", Keys(conversation).outbox, 0)
        return head

    async def read(self, conversation: str) -> list[bytes]:
        """All deliveries, oldest first."""
        return await self._read(conversation, "outbox")

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
        pushes = [("LPUSH", outbox, *reversed(parts)), ("EXPIRE", outbox, WORK_S)]
        commands = [("LPOP", outbox), *pushes]
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
        return await self._take_head(lease, "arrived", question_id=question_id, shown_at=shown_at)

    async def move_head_to_dead_letters(
        self, lease: Lease, reason: bytes, step: Entry | None = None
    ) -> bytes | None:
        """Turn the undeliverable head into a dead letter; returns the next delivery.

        Args:
            step: of the turn under way, if that waits for the decision that this delivery should
                have asked for.
        """
        frame = pack(*step) if step else b""
        return await self._take_head(lease, "dead", reason, frame)

    async def keep_head(self, lease: Lease, reason: bytes) -> bytes | None:
        """Move the head to the kept deliveries; returns the next delivery.

        Args:
            reason: of the dead letter that the oldest of them becomes where there are too many.
        """
        return await self._take_head(lease, "kept", reason)

    async def kept(self, conversation: str) -> list[bytes]:
        """The kept deliveries, oldest first."""
        return await self._read(conversation, "kept")

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

    async def _read(self, conversation: str, kind: str) -> list[bytes]:
        deliveries: list[bytes] = await self._scripts.ask(
            "LRANGE", Keys(conversation).of(kind), 0, -1
        )
        return deliveries

    async def _take_head(
        self,
        lease: Lease,
        outcome: str,
        reason: bytes = b"",
        step: bytes = b"",
        question_id: str = "",
        shown_at: int | None = None,
    ) -> bytes | None:
        at = "" if shown_at is None else shown_at
        arguments = [lease.conversation, lease.token, outcome, reason, step, question_id, at]
        following: bytes | None = await self._scripts.run(
            "take_head", lease.conversation, arguments
        )
        return following
