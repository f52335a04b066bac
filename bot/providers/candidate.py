"""One of the models that may be asked: how it has fared, and what the operator has been told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong, TryAgain
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.breaker import Breaker
from bot.providers.shortening import shortened, tokens_of
from bot.transcript import Message

log = structlog.stdlib.get_logger(__name__)

CAP_S = 10.0  # the longest wait, also one that a vendor may ask for


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

    def answered(self) -> None:
        """Note an answer."""
        if self.breaker.is_open:
            self._told.clear()
            log.info("model.recovered", model=self.provider.model)
        self.breaker.close()

    def failed(self, error: ModelError) -> None:
        """Note a failure. Who refuses a request is there, and its breaker stays closed."""
        self._metrics.model_failures.labels(self.provider.model, error.apology).inc()
        if error.apology not in self._told:
            self._told.add(error.apology)
            fields = {"model": self.provider.model, "failure": error.apology, "cause": error.cause}
            if isinstance(error, ModelUnusable):
                log.error("model.failed", **fields)
            else:
                log.warning("model.failed", **fields)
        if not isinstance(error, RequestRefused):
            self.breaker.fail(at_once=asks_for_too_long(error) or isinstance(error, ModelUnusable))

    def fitting(self, messages: Sequence[Message]) -> Sequence[Message]:
        """As many of the newest turns as have room beside the system prompt, the tools and an answer."""
        return shortened(messages, self.window // 2) if self.window else messages

    def shorter(self, messages: Sequence[Message], error: TooLong) -> Sequence[Message]:
        """What may be sent where all this was too long; the same where nothing can be left out."""
        self.window = error.window or self.window
        return shortened(self.fitting(messages), tokens_of(messages) // 2)


def asks_for_too_long(error: ModelError) -> bool:
    """Whether the vendor wants to be left alone for longer than anybody waits."""
    return isinstance(error, TryAgain) and (error.after or 0) > CAP_S
