"""Stop: its words, and what is said where there is nothing to stop."""

from __future__ import annotations

from bot.channels import Reply
from bot.pipeline.feature import CommandContext, Feature
from bot.pipeline.services import Services


class Stop(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.commands = {"stop": self._answer}

    async def _answer(self, context: CommandContext) -> Reply:
        """Answer a stop that has met no turn under way; it may end messages before it."""
        key = "apology.stopped" if context.ends_turn else "stop.nothing"
        return Reply(self._services.sentence(key, context.event))


FEATURE = Stop
