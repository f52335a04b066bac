"""Lists that the people of a place share, such as what to buy."""

from __future__ import annotations

from bot.features.lists.store import KIND, StoredLists
from bot.features.lists.tool_lists import ToolLists
from bot.pipeline.feature import Feature, TurnRequest
from bot.pipeline.services import Services


class Lists(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lists = StoredLists(services.store)
        self.kept = {KIND: self._lists.withdraw}
        self.tool_stores = {ToolLists: self._lists_of}

    def _lists_of(self, request: TurnRequest) -> ToolLists:
        """The lists of the place, also for somebody unknown."""
        place = self._services.place(request.conversation)
        return ToolLists(self._lists, place, request.author.id)


FEATURE = Lists
