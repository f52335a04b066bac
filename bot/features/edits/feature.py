"""Edits: a waiting answer is given anew or withdrawn, and one just given to what is taken back is
deleted where the platform can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.channels import InboundEvent
from bot.features.edits.reopening import reopen
from bot.features.edits.withdrawal import withdraw_answers
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.store import Lease
from bot.transcript import Message


class Edits(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def begin_with_changes(self, lease: Lease, events: Sequence[InboundEvent]) -> bool:
        """Go on with the turn whose answer waits, if there is one."""
        return await reopen(self._services, lease, events)

    async def change(
        self, lease: Lease, edits: Mapping[str, Message | None], events: Sequence[InboundEvent]
    ) -> None:
        """Withdraw the answers to what is taken back, and its dead letters."""
        unsent = {message_id for message_id, new in edits.items() if new is None}
        if not unsent:
            return
        await withdraw_answers(self._services, lease, unsent, events)
        dead_letters = self._services.store.dead_letters
        for dead_letter in await dead_letters.of(lease.conversation):
            if dead_letter.names(*unsent):
                await dead_letters.discard(dead_letter)


FEATURE = Edits
