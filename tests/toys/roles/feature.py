"""The feature: persona, model, tools and limits of a place."""

from __future__ import annotations

from bot.agent.loop import Configuration
from bot.channels import InboundEvent
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from toolset.offer.rules import Rule

SHIP = "mailbox:ship"
OFFER = Rule(tools=("launch", "echo"), risk={"echo": "high"})


class Roles(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        pirate = Configuration(
            "Speak like a pirate.",
            provider=services.models(("demo",), "ROLES"),
            offers=(lambda _person: OFFER,),
            max_tool_turns=1,
        )
        self._by_place = {SHIP: pirate}

    async def configure(self, conversation: str, event: InboundEvent) -> Configuration | None:
        """A pirate on the ship."""
        return self._by_place.get(conversation)


FEATURE = Roles
