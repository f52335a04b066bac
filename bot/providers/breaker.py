"""A circuit breaker: a model that keeps failing is left alone for a moment, then tried by one request."""

from __future__ import annotations

from collections.abc import Callable

OPEN_AFTER = 3  # failures in a row
OPEN_S = 10.0  # half of what a user may wait for the first answer after an outage


class Breaker:
    """The breaker of one model in this process.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """Open, or half open: the model has not answered since it failed too often."""
        return self._failures >= OPEN_AFTER

    def admit(self) -> bool:
        """Whether a request may go to the model. Once the time is over, one may; the next one as long after that."""
        if not self.is_open:
            return True
        now = self._clock()
        if now < self._open_until:
            return False
        self._open_until = now + OPEN_S
        return True

    def close(self) -> None:
        """The model has answered."""
        self._failures = 0

    def fail(self, *, at_once: bool) -> None:
        """The model has failed; ``at_once`` where another attempt so soon would fail too."""
        was_open = self.is_open
        self._failures = max(self._failures + 1, OPEN_AFTER if at_once else 0)
        if self.is_open and not was_open:  # requests that were on their way do not hold it open any longer
            self._open_until = self._clock() + OPEN_S
