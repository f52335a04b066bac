"""One of the models that may be asked: how it has fared, and what the operator has been told about it."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.breaker import Breaker

log = structlog.stdlib.get_logger(__name__)

CAP_S = 10.0  # the longest wait, also one that a vendor may ask for


class Candidate:
    """A model with its breaker. Each kind of failure is logged once, until the model has come back from it."""

    def __init__(self, provider: Provider, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.provider = provider
        self.breaker = Breaker(clock)
        self._metrics = metrics
        self._told: set[str] = set()

    def answered(self) -> None:
        """Note an answer."""
        if self.breaker.is_open:
            self._told.clear()
            log.info("the model answers again", model=self.provider.model)
        self.breaker.close()

    def failed(self, error: ModelError) -> None:
        """Note a failure. Who refuses a request is there, and its breaker stays closed."""
        self._metrics.model_failures.labels(self.provider.model, error.apology).inc()
        if error.apology not in self._told:
            self._told.add(error.apology)
            tell = log.error if isinstance(error, ModelUnusable) else log.warning
            tell("the model cannot be asked", model=self.provider.model, why=error.apology, cause=error.cause)
        if not isinstance(error, RequestRefused):
            self.breaker.fail(at_once=asks_for_too_long(error) or isinstance(error, ModelUnusable))


def asks_for_too_long(error: ModelError) -> bool:
    """Whether the vendor wants to be left alone for longer than anybody waits."""
    return isinstance(error, TryAgain) and (error.after or 0) > CAP_S
