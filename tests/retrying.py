"""An agent that asks its model again, as Kaiwa does."""

from __future__ import annotations

from bot.agent.loop import Agent
from bot.providers import Provider
from bot.providers.fallback import FallbackProvider
from bot.telemetry import Metrics


class Retrying(Agent):
    """Asks its model again, as Kaiwa does."""

    def __init__(self, provider: Provider, *rest: object, **options: object) -> None:
        retrying = FallbackProvider([provider], Metrics(), jitter=lambda: 0.0)
        super().__init__(retrying, *rest, **options)  # type: ignore[arg-type]
