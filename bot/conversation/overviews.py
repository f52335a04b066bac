"""What a person has used and what is kept for them, in all their conversations, for a page of their
own."""

from __future__ import annotations

import asyncio

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, KeptItem, Overview
from bot.conversation.admission import Admission
from bot.conversation.edits import person_of
from bot.conversation.memory import PersonMemory
from bot.conversation.reminders import PersonalReminders, line_of
from bot.conversation.services import Services

MOST_PLACES = 50  # whose facts are read, the person's own conversations first


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
        known = [
            (place, one)
            for place, reminders in zip(places, found, strict=True)
            for one in reminders
        ]
        texts, language = self._services.texts, self._services.language(event)
        return [
            KeptItem(_key(place, one.id), line_of(one, texts, language), place)
            for place, one in sorted(known, key=lambda pair: pair[1].at)
        ]

    async def _facts(self, conversation: str, event: InboundEvent) -> list[KeptItem]:
        places = await self._places(conversation, event)
        found = await asyncio.gather(*(self._memory(place, event).read() for place in places))
        return [
            KeptItem(_key(place, str(fact.number)), fact.text, place)
            for place, facts in zip(places, found, strict=True)
            for fact in facts
        ]

    async def _places(self, conversation: str, event: InboundEvent) -> list[str]:
        """Where the person has talked to the bot, this conversation and others of their own
        first."""
        person = person_of(conversation, event)
        entries = await self._services.store.kv.members(f"person:{person}") if person else []
        places = [
            self._place(entry.partition(" ")[2]) for entry in entries
        ]  # sorted: "own …" before "shared …"
        return list(dict.fromkeys([self._place(conversation), *places]))[:MOST_PLACES]

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
