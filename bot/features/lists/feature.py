"""Lists that the people of a place share, such as what to buy."""

from __future__ import annotations

from functools import partial

from bot.features.lists.store import KIND, PlaceLists, erase
from bot.pipeline.feature import Feature, TurnRequest
from bot.pipeline.services import Services


class Lists(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.kept = {KIND: partial(erase, services.store)}
        self.tool_stores = {PlaceLists: self._lists_of}

    def _lists_of(self, request: TurnRequest) -> PlaceLists:
        """The lists of the place, also for somebody unknown."""
        services = self._services
        return PlaceLists(services.store, services.place(request.conversation), request.author.id)


FEATURE = Lists
