"""What a person has used and what is kept for them, in all their conversations, for a page of their
own."""

from __future__ import annotations

import asyncio
from operator import itemgetter

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, KeptItem, KeptSection, Overview
from bot.conversation.admission import Admission
from bot.conversation.edits import person_of
from bot.conversation.reminders import PersonalReminders, line_of
from bot.conversation.services import Services

CANCEL = "cancel"  # the action of the buttons of reminders


class PersonalOverviews:
    """Reads and deletes for people (``bot.channels.Overviews``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._admission = Admission(services)

    async def read(self, conversation: str, event: InboundEvent) -> Overview:
        """Usage of the day, reminders, and what features keep."""
        usage, reminders, sections = await asyncio.gather(
            self._admission.usage(conversation, event),
            self._reminders(conversation, event),
            self._services.features.overview(conversation, event),
        )
        title, empty, label = (
            self._services.sentence(f"slack_home.{key}", event)
            for key in ("reminders", "no_reminders", "cancel")
        )
        return Overview(
            usage.text, [KeptSection(title, empty, CANCEL, label, reminders), *sections]
        )

    async def delete(self, conversation: str, event: InboundEvent, action: str, key: str) -> bool:
        """Delete an item, if it is the person's."""
        if action != CANCEL:
            return await self._services.features.delete_kept(conversation, event, action, key)
        for place, reminder_id in await self._find_reminders(conversation, event):
            if _key(place, reminder_id) == key:
                return await self._reminders_in(place, event).drop(reminder_id)
        return False

    async def _reminders(self, conversation: str, event: InboundEvent) -> list[KeptItem]:
        places = sorted({place for place, _ in await self._find_reminders(conversation, event)})
        found = await asyncio.gather(*(self._reminders_in(place, event).all() for place in places))
        texts, language = self._services.texts, self._services.language(event)
        known = []
        for place, reminders in zip(places, found, strict=True):
            for one in reminders:
                item = KeptItem(_key(place, one.id), line_of(one, texts, language), place)
                known.append((one.at, item))
        known.sort(key=itemgetter(0))
        return [item for _, item in known]

    async def _find_reminders(
        self, conversation: str, event: InboundEvent
    ) -> list[tuple[str, str]]:
        return await self._services.store.reminders.counted(
            person_of(conversation, event) or conversation
        )

    def _reminders_in(self, conversation: str, event: InboundEvent) -> PersonalReminders:
        return PersonalReminders(
            self._services, conversation, event, event.message.author or NOBODY
        )


def _key(place: str, name: str) -> str:
    return f"{place} {name}"
