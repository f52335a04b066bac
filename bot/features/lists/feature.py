"""Lists that the people of a place share, such as what to buy; where cards have buttons, a press
ticks an item without a turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from bot.channels import ButtonCard, Delivery, InboundEvent, Reply
from bot.features.lists.cards import PREFIX, TICK, key_of, shown_in, ticking_card
from bot.features.lists.store import KIND, PlaceLists, StoredItem, erase
from bot.pipeline.feature import Feature, TurnRequest
from bot.pipeline.services import Services
from bot.transcript import Message, encode

VALUE = re.compile(rf"({PREFIX}[0-9a-f]{{16}}):(\d{{1,9}}):([01])")  # list, item, whether done


class Lists(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.actions = {TICK: self._tick}
        self.kept = {KIND: partial(erase, services.store)}
        self.tool_stores = {PlaceLists: self._lists_of}

    def _lists_of(self, request: TurnRequest) -> PlaceLists:
        """The lists of the place, also for somebody unknown."""
        return self._lists_in(request.conversation, request.author.id)

    def _lists_in(self, conversation: str, author: str = "") -> PlaceLists:
        services = self._services
        return PlaceLists(services.store, services.place(conversation), author)

    async def cards(self, conversation: str, messages: Sequence[Message]) -> Sequence[ButtonCard]:
        """The lists that these messages have shown, as they stand."""
        titles = shown_in(messages)
        return await self._read(conversation, titles) if titles else ()

    async def _read(self, conversation: str, titles: dict[str, str]) -> list[ButtonCard]:
        """Those of these lists, by key, that have items; without a title they have their name."""
        lists: dict[str, list[StoredItem]] = {}
        for item in await self._lists_in(conversation).read():
            lists.setdefault(item.list_name, []).append(item)
        language = self._services.default_language()
        cards: list[ButtonCard] = []
        for name, items in lists.items():
            key = key_of(name)
            if key in titles:
                cards.append(ticking_card(titles[key] or name, items, language))
        return cards

    async def _tick(self, conversation: str, event: InboundEvent) -> bool:
        """Tick an item, or open it again, and show the list to everybody there; a press of before
        says the same again.

        Raises:
            StoreUnavailable: nothing was changed, or it was not shown; the platform must send it
                again.
        """
        pressed = VALUE.fullmatch(event.target)
        if not pressed:
            return False
        key, number, done = pressed.groups()
        _ = await self._lists_in(conversation).tick([int(number)], done=done == "1")
        shows = Reply("", replaces=key, keep="if_free")
        press = event.message.id
        delivery = Delivery(f"{key}_{press}", press, shows, event.address)
        await self._services.store.outbox.post(conversation, delivery.id, encode(delivery))
        self._services.start(conversation, "")
        return True

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """The delivery that shows a list anew, with the list as it stands now."""
        reply = delivery.reply
        if not reply.replaces.startswith(PREFIX):
            return delivery
        for card in await self._read(conversation, {reply.replaces: ""}):
            return replace(delivery, reply=replace(reply, text=card.title, card=card))
        return None


FEATURE = Lists
