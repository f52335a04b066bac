"""One of the models that may be asked: how it has fared, and what the operator has been told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.retry_policy import Breaker, wants_too_long_a_wait
from bot.providers.shared.size_limits import estimate_tokens, trim_oldest
from bot.transcript import Message

log = structlog.stdlib.get_logger(__name__)


class Candidate:
    """A model with its breaker. Each kind of failure is logged once, until the model has come back from it.

    Attributes:
        window: tokens it reads at most, 0 where nobody has told yet.
    """

    def __init__(self, provider: Provider, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.provider = provider
        self.breaker = Breaker(clock)
        self.window = provider.window
        self._metrics = metrics
        self._told: set[str] = set()

    def record_answer(self) -> None:
        """The model has answered: close its breaker."""
        if self.breaker.is_open:
            self._told.clear()
            log.info("model.recovered", model=self.provider.model)
        self.breaker.close()

    def record_failure(self, error: ModelError) -> None:
        """Count and log a failure. Who refuses a request is there, and its breaker stays closed."""
        self._metrics.model_failures.labels(self.provider.model, error.apology).inc()
        if error.apology not in self._told:
            self._told.add(error.apology)
            fields = {"model": self.provider.model, "failure": error.apology, "cause": error.cause}
            if isinstance(error, ModelUnusable):
                log.error("model.failed", **fields)
            else:
                log.warning("model.failed", **fields)
        if not isinstance(error, RequestRefused):
            self.breaker.fail(at_once=wants_too_long_a_wait(error) or isinstance(error, ModelUnusable))

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """As many of the newest turns as have room beside the system prompt, the tools and an answer."""
        return trim_oldest(messages, self.window // 2) if self.window else messages

    def trim_more(self, messages: Sequence[Message], error: TooLong) -> Sequence[Message]:
        """What may be sent where all this was too long; the same where nothing can be left out."""
        self.window = error.window or self.window
        return trim_oldest(self.trim(messages), estimate_tokens(messages) // 2)
