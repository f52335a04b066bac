"""What a person has used and what is kept for them, in all their conversations, for a page of their
own."""

from __future__ import annotations

import asyncio

from bot.channels import InboundEvent, Overview
from bot.pipeline.admission import Admission
from bot.pipeline.services import Services


class PersonalOverviews:
    """Reads and deletes for people (``bot.channels.Overviews``)."""

    def __init__(self, services: Services) -> None:
        self._features = services.features
        self._admission = Admission(services)

    async def read(self, conversation: str, event: InboundEvent) -> Overview:
        """Usage of the day, and what features keep."""
        usage, sections = await asyncio.gather(
            self._admission.usage(conversation, event), self._features.overview(conversation, event)
        )
        return Overview(usage.text, sections)

    async def delete(self, conversation: str, event: InboundEvent, action: str, key: str) -> bool:
        """Delete an item, if it is the person's."""
        return await self._features.delete_kept(conversation, event, action, key)
