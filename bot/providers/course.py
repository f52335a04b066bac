"""The course of one request through the models: whom to ask next, after how long, and when to give up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.providers import PATIENCE_S
from bot.providers.candidate import CAP_S, Candidate, asks_for_too_long

ATTEMPTS = 4  # over all models
TRIES = 2  # of one model that others stand in for
SHARE = 0.7  # of the time left, for the first event of a model that others stand in for
BASE_S = 0.5

# What the user is told when several models have failed in different ways: what leaves most hope.
HOPE = (ModelUnusable, RequestRefused, TryAgain)


class RetryPolicy:
    """Up to four attempts within twenty seconds, along the models in their order.

    Models whose breaker is open come last.

    Args:
        jitter: a number between 0 and 1, for each wait.
        budget_s: seconds until the first event of the last attempt, waits and fallbacks included.

    Attributes:
        candidate: who is asked now.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        clock: Callable[[], float],
        jitter: Callable[[], float],
        budget_s: float = PATIENCE_S,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._deadline = clock() + budget_s
        self._ahead = list(candidates)
        self._attempts = 1
        self._tries = 1
        self._errors: dict[Candidate, ModelError] = {}
        self.candidate = self._next()

    @property
    def patience_s(self) -> float:
        """Seconds until the first event has to be there."""
        left = self._deadline - self._clock()
        return left * SHARE if self._ahead else left

    @property
    def is_scarce(self) -> bool:
        """Whether the attempts that are left are no more than the models ahead want."""
        return ATTEMPTS - self._attempts <= len(self._ahead)

    def repeat(self) -> bool:
        """Ask the same model once more at once; False where attempts or time are used up."""
        if not self._is_open:
            return False
        self._attempts += 1
        self._tries += 1
        return True

    def go_on(self, error: ModelError) -> float:
        """Choose who is asked after a failure.

        Returns:
            Seconds to wait before that.

        Raises:
            ModelError: nobody is left to ask, or no time; of all models' failures the one that leaves most hope.
        """
        self._errors[self.candidate] = error
        wait = self._wait(error)
        others = bool(self._ahead) and error.apology != "blocked"
        if not self._is_open or (wait is None and not others):
            raise max(self._errors.values(), key=_hope)
        self._attempts += 1
        self._tries += 1
        if wait is None:
            self._tries = 1
            self.candidate = self._next()
        return wait or 0.0

    @property
    def _is_open(self) -> bool:
        return self._attempts < ATTEMPTS and self._clock() < self._deadline

    def _next(self) -> Candidate:
        admitted = (place for place, one in enumerate(self._ahead) if one.breaker.admit())
        return self._ahead.pop(next(admitted, 0))

    def _wait(self, error: ModelError) -> float | None:
        """Seconds until the same model may be asked again, None where it is not."""
        if not isinstance(error, TryAgain) or asks_for_too_long(error):
            return None
        if self._ahead and self._should_yield(error):
            return None
        wait = self._jitter() * min(CAP_S, BASE_S * 2 ** (self._tries - 1)) if error.after is None else error.after
        return wait if self._clock() + wait < self._deadline else None

    def _should_yield(self, error: ModelError) -> bool:
        """Whether the attempts and the time that are left are better spent on the models ahead."""
        return self.is_scarce or self._tries == TRIES or error.apology == "timed_out" or self.candidate.breaker.is_open


def _hope(error: ModelError) -> int:
    return next((place for place, kind in enumerate(HOPE) if isinstance(error, kind)), 0)
