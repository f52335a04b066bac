"""Memory: what people have had remembered in a place is read before their messages, seen and
deleted by commands, and on the page about themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, KeptItem, KeptSection, Reply
from bot.commands import number_in
from bot.features.memory.facts_message import facts_message
from bot.features.memory.store import KIND, PersonFacts, erase
from bot.features.memory.tool_facts import ToolFacts
from bot.pipeline.feature import CommandContext, Feature, TurnRequest
from bot.pipeline.services import Services
from bot.store import OWN, SHARED
from bot.store.keys import person_of
from bot.transcript import Message

DELETE = "delete"  # the action of the buttons
MOST_PLACES = 50  # whose facts are read for a page, the person's own conversations first


class Memory(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.kept = {KIND: partial(erase, services.store)}
        self.tool_stores = {ToolFacts: self._for_tools}
        self.commands = {"memory": self._list, "memory_delete": self._delete}
        self.unrecorded = tuple(self.commands)

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Read the facts of the person who waits for an answer."""
        self._facts(self._services.place(conversation), author).prefetch()

    async def before_model(self, request: TurnRequest, asked: Sequence[Message]) -> Message | None:
        """The facts of the person whom the turn answers; none where not all is from one person."""
        facts = self._facts_of(request.conversation, request.event)
        authors = {(message.author or NOBODY).id for message in asked}
        if facts is None or len(authors) > 1:
            return None
        return facts_message(await facts.read(), asked)

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection:
        """A person's facts by place."""
        places = await self._places(conversation, event)
        found = await asyncio.gather(
            *(self._facts(place, event.author_id).read() for place in places)
        )
        items = []
        for place, facts in zip(places, found, strict=True):
            for fact in facts:
                items.append(KeptItem(f"{place} {fact.number}", fact.text, place))
        title, empty, label = (
            self._services.sentence(f"memory.{key}", event) for key in ("title", "none", "delete")
        )
        return KeptSection(title, empty, DELETE, label, items)

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """Delete one of the person's facts."""
        place, _, number = key.rpartition(" ")
        if action != DELETE or not number.isdecimal():
            return False
        if place not in await self._places(conversation, event):
            return False
        return await self._facts(place, event.author_id).forget(int(number))

    async def _places(self, conversation: str, event: InboundEvent) -> list[str]:
        """Where the person has talked to the bot, this conversation and others of their own
        first."""
        places = [self._services.place(conversation)]
        if event.author_id:
            # The entries are sorted, "own …" before "shared …".
            for entry in await self._services.store.belongings.read(
                person_of(conversation, event.author_id)
            ):
                kind, _, conversation = entry.partition(" ")
                if kind in (OWN, SHARED):
                    places.append(self._services.place(conversation))
        return list(dict.fromkeys(places))[:MOST_PLACES]

    async def _list(self, context: CommandContext) -> Reply:
        """List the facts with their numbers."""
        reply = partial(self._services.private_reply, event=context.event)
        facts = self._facts_of(context.lease.conversation, context.event)
        if facts is None:
            return reply("memory.unknown")
        if not (known := await facts.read()):
            return reply("memory.empty")
        lines = "\n".join(f"{fact.number}: {fact.text}" for fact in known)
        return reply("memory.list", lines=lines, number=known[-1].number)

    async def _delete(self, context: CommandContext) -> Reply:
        """Delete the fact with the command's number; without a number, list them."""
        facts = self._facts_of(context.lease.conversation, context.event)
        number = number_in(context.event.message.text)
        if facts is None or not number:
            return await self._list(context)
        key = "memory.deleted" if await facts.forget(number) else "memory.no_number"
        return self._services.private_reply(key, context.event, number=number)

    def _for_tools(self, request: TurnRequest) -> ToolFacts | None:
        facts = self._facts_of(request.conversation, request.event)
        return ToolFacts(facts) if facts else None

    def _facts_of(self, conversation: str, event: InboundEvent) -> PersonFacts | None:
        """The facts of an event's author; None for somebody unknown in a group."""
        if event.group and not event.author_id:
            return None
        return self._facts(self._services.place(conversation), event.author_id)

    def _facts(self, place: str, person: str) -> PersonFacts:
        return PersonFacts(self._services.store, place, person)


FEATURE = Memory
