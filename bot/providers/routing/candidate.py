"""A model with its circuit breaker, the log of its failures and the window it has turned out to have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.retry_policy import Breaker, exceeds_longest_wait
from bot.providers.shared.size_limits import estimate_tokens, trim_oldest
from bot.transcript import Message

log = structlog.stdlib.get_logger(__name__)


class Candidate:
    """A model that requests may go to. Each kind of failure is logged once until the model answers again.

    Attributes:
        window: tokens that the model reads at most; 0 while that is unknown.
    """

    def __init__(self, provider: Provider, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.provider = provider
        self.breaker = Breaker(clock)
        self.window = provider.window
        self._metrics = metrics
        self._logged: set[str] = set()

    def record_answer(self) -> None:
        """Close the breaker after an answer."""
        if self.breaker.is_open:
            self._logged.clear()
            log.info("model.recovered", model=self.provider.model)
        self.breaker.close()

    def record_failure(self, error: ModelError) -> None:
        """Count and log a failure. A refused request leaves the breaker closed: the model works."""
        self._metrics.model_failures.labels(self.provider.model, error.apology).inc()
        if error.apology not in self._logged:
            self._logged.add(error.apology)
            fields = {"model": self.provider.model, "failure": error.apology, "cause": error.cause}
            if isinstance(error, ModelUnusable):
                log.error("model.failed", **fields)
            else:
                log.warning("model.failed", **fields)
        if not isinstance(error, RequestRefused):
            self.breaker.fail(at_once=exceeds_longest_wait(error) or isinstance(error, ModelUnusable))

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The newest turns that fill half the window; the rest is for the system prompt, the tools and an answer."""
        return trim_oldest(messages, self.window // 2) if self.window else messages

    def trim_more(self, messages: Sequence[Message], error: TooLong) -> Sequence[Message]:
        """Fewer messages after a request that was too long; the same messages where none can be left out."""
        self.window = error.window or self.window
        return trim_oldest(self.trim(messages), estimate_tokens(messages) // 2)
