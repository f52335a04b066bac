"""Models that fail as they are told to, and a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.providers.fallback import FallbackProvider
from bot.providers.scripted import Scripted, ScriptedAnswer, Step
from bot.telemetry import Metrics

OK = Step("Hello")
MALFORMED = Step("Hm", stop_reason="malformed", detail="MALFORMED_FUNCTION_CALL")
SILENT = Step(stop_reason="malformed")
DOWN = TryAgain("model_down", "503")
SLOW = TryAgain("timed_out", "no answer in time")
UNUSABLE = ModelUnusable("key_refused", "GEMINI_API_KEY was refused")
REFUSED = RequestRefused("request_refused", "too long")
BLOCKED = RequestRefused("blocked", "content_filter")


def fails(error: ModelError, text: str = "") -> Step:
    """An answer that ends in an error."""
    return Step(text, error=error)


def waits(seconds: float) -> Step:
    """A failure that asks for patience."""
    return fails(TryAgain("rate_limited", "429", after=seconds))


@dataclass
class Time:
    """The clock, and models that go by it."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Be over at once."""
        self.slept.append(seconds)
        self.now += seconds

    def around(self, *models: Sequence[ScriptedAnswer], jitter: float = 1.0) -> FallbackProvider:
        """Models that play these steps, asked again with the whole jitter or a part of it."""
        self.models = [
            Scripted(steps, f"p{place}", f"m{place}") for place, steps in enumerate(models)
        ]
        self.metrics = Metrics()
        return FallbackProvider(
            self.models,
            self.metrics,
            clock=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda: jitter,
        )

    @property
    def requests(self) -> list[int]:
        """How often each model was asked."""
        return [len(model.requests) for model in self.models]
