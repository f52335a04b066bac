"""What a person has used and what is kept for them, in all their conversations, for a page of their
own."""

from __future__ import annotations

import asyncio
from operator import itemgetter

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, KeptItem, Overview
from bot.conversation.admission import Admission
from bot.conversation.edits import OWN, SHARED, person_of
from bot.conversation.memory import PersonMemory
from bot.conversation.reminders import PersonalReminders, line_of
from bot.conversation.services import Services

# So many places' facts are read, the person's own conversations first.
MOST_PLACES = 50


class PersonalOverviews:
    """Reads and deletes for people (``bot.channels.Overviews``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._admission = Admission(services)

    async def read(self, conversation: str, event: InboundEvent) -> Overview:
        """Usage of the day, the next reminders first, and facts by place."""
        usage, reminders, facts = await asyncio.gather(
            self._admission.usage(conversation, event),
            self._reminders(conversation, event),
            self._facts(conversation, event),
        )
        return Overview(usage.text, reminders, facts)

    async def cancel_reminder(self, conversation: str, event: InboundEvent, key: str) -> bool:
        """Cancel one of the person's reminders."""
        for place, reminder_id in await self._find_reminders(conversation, event):
            if _key(place, reminder_id) == key:
                return await self._reminders_in(place, event).drop(reminder_id)
        return False

    async def forget_fact(self, conversation: str, event: InboundEvent, key: str) -> bool:
        """Delete one of the person's facts."""
        place, _, number = key.rpartition(" ")
        if not number.isdecimal() or place not in await self._places(conversation, event):
            return False
        return await self._memory(place, event).forget(int(number))

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

    async def _facts(self, conversation: str, event: InboundEvent) -> list[KeptItem]:
        places = await self._places(conversation, event)
        found = await asyncio.gather(*(self._memory(place, event).read() for place in places))
        items = []
        for place, facts in zip(places, found, strict=True):
            for fact in facts:
                items.append(KeptItem(_key(place, str(fact.number)), fact.text, place))
        return items

    async def _places(self, conversation: str, event: InboundEvent) -> list[str]:
        """Where the person has talked to the bot, this conversation and others of their own
        first."""
        places = [self._place(conversation)]
        if person := person_of(conversation, event):
            # The entries are sorted, "own …" before "shared …".
            for entry in await self._services.store.belongings.read(person):
                kind, _, conversation = entry.partition(" ")
                if kind in (OWN, SHARED):
                    places.append(self._place(conversation))
        return list(dict.fromkeys(places))[:MOST_PLACES]

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

    def _memory(self, place: str, event: InboundEvent) -> PersonMemory:
        return PersonMemory(self._services.store, place, event.author_id)

    def _place(self, conversation: str) -> str:
        channel = self._services.channel(conversation)
        return channel.place(conversation) if channel else conversation


def _key(place: str, name: str) -> str:
    return f"{place} {name}"
