"""Late answers: deliveries that only a press of their asker's button can bring, kept until then."""

from __future__ import annotations

from typing import NamedTuple

from bot.store.clients import Client, ask
from bot.store.keys import Keys
from bot.store.scripts import Scripts


class StoredLateAnswer(NamedTuple):
    """A late answer.

    Attributes:
        frame: the stored bytes, which identify it: asker, space, the delivery's id, line feed, the
            delivery.
    """

    asker: str
    delivery_id: str
    delivery: bytes
    frame: bytes


class LateAnswers:
    """Late answers by conversation, the newest ``LATE_ANSWERS`` of each, for ``WORK_S`` after the
    newest one."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def read(self, conversation: str) -> list[StoredLateAnswer]:
        """All late answers, oldest first."""
        frames = await ask(self._client, "LRANGE", Keys(conversation).of("late"), 0, -1)
        return [_unpack(frame) for frame in frames]

    async def remove(
        self,
        conversation: str,
        asker: str,
        delivery_id: str,
        *,
        given_up: str = "",
        question_id: str = "",
        shown_at: int | None = None,
    ) -> None:
        """Remove a late answer that has arrived; one that is gone already changes nothing.

        Args:
            given_up: why it becomes a dead letter instead.
            question_id, shown_at: see ``Outbox.remove_head``.
        """
        at = "" if shown_at is None else shown_at
        arguments = [conversation, f"{asker} {delivery_id}", given_up, question_id, at]
        await self._scripts.run("remove_late", conversation, arguments)


def _unpack(frame: bytes) -> StoredLateAnswer:
    name, _, delivery = frame.partition(b"\n")
    asker, _, delivery_id = name.decode().partition(" ")
    return StoredLateAnswer(asker, delivery_id, delivery, frame)
