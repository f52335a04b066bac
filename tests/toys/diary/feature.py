"""The feature: it observes turns, shows them by a route, and forgets them every hour."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.telemetry.observed import Observe, ObservedStep

HOUR_S = 3_600


class Diary(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, _services: Services) -> None:
        self.steps: dict[str, list[ObservedStep]] = {}
        self.routes = [Route("/diary", self._show)]
        self.every = {HOUR_S: self.forget}

    def observer(self, conversation: str, turn_id: str) -> Observe:
        """Keeps the steps of a turn."""
        return self.steps.setdefault(turn_id, []).append

    async def forget(self) -> None:
        """Keep nothing."""
        self.steps.clear()

    async def _show(self, _request: Request) -> JSONResponse:
        return JSONResponse([[type(step).__name__ for step in one] for one in self.steps.values()])


FEATURE = Diary
