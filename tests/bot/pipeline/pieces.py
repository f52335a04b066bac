"""A channel that sends each word of an answer as a message of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from bot.channels import Abilities, AssertLease, Delivery, Reply
from bot.errors import DeliverLater
from tests.bot.harness import Mailbox


class Pieces(Mailbox):
    """Sends each word as a message; something may happen while one is sent.

    Args:
        busy: how often a delivery has to wait.
    """

    def __init__(self, *, takes_back: bool = False, busy: int = 0) -> None:
        super().__init__()
        self.abilities = Abilities(deletes=takes_back)
        self.failures = [DeliverLater("busy", after=60) for _ in range(busy)]
        self.meanwhile: dict[str, Callable[[], Awaitable[None]]] = {}
        self.shown: dict[str, str] = {}

    def split(self, reply: Reply) -> list[Reply]:
        return [replace(reply, text=word) for word in reply.text.split()]

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        if doing := self.meanwhile.pop(delivery.reply.text, None):
            await doing()
        shown_at = await super().deliver(conversation, delivery, assert_lease)
        if delivery.deletes is None:
            self.shown[delivery.id] = delivery.reply.text
        for delivery_id in delivery.deletes or ():
            self.shown.pop(delivery_id, None)
        return shown_at

    @property
    def words(self) -> list[str]:
        """What people see."""
        return list(self.shown.values())
