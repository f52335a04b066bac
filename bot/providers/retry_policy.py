"""Retrying and waiting for models: every number, and the rules that use them.

Nothing here asks a model: ``routing/fallback.py`` does, along these rules; ``shared/streaming.py`` keeps the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain

# Attempts, for one request of the agent.
ATTEMPTS = 4  # over all models, the first one included
ATTEMPTS_PER_MODEL = 2  # of one that has fallbacks ahead: the first failure may be a hiccup, the second is an outage
MALFORMED_REPEATS = 1  # of an answer nobody can read: models sample, and the next one may be well formed

# Seconds until an answer.
FIRST_TOKEN_TIMEOUT_S = 20.0  # to the first event, all attempts, waits and fallbacks together: what a person waits
FIRST_TOKEN_SHARE = 0.7  # of the seconds left, for a model that has fallbacks ahead
REQUEST_TIMEOUT_S = 60.0  # to the last event of one answer: LINE's reply token lives about as long
LAST_BYTES_TIMEOUT_S = 0.1  # for what follows the last event: a connection read to its end is used again
MODEL_LOAD_TIMEOUT_S = 300.0  # what Ollama itself gives a model to be loaded (OLLAMA_LOAD_TIMEOUT)

# Seconds between two attempts at the same model: base, doubled with each, and a random part of that ("full jitter",
# https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
BACKOFF_BASE_S = 0.5
LONGEST_WAIT_S = 10.0  # also one that a vendor asks for, by Retry-After or by Google's RetryInfo

# A model that keeps failing is left alone.
BREAKER_FAILURES = 3  # in a row
BREAKER_OPEN_S = 10.0  # half of what a user may wait for the first answer after an outage

# Connections.
CONNECT_TIMEOUT_S = 10.0  # of TCP and TLS; the first token's seconds run meanwhile
KEEP_ALIVE_S = 60.0  # that an idle connection is kept for the next request

# What the user is told when several models have failed in different ways: what leaves most hope.
HOPE = (ModelUnusable, RequestRefused, TryAgain)


class Breaker:
    """The circuit breaker of one model in this process.

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
        return self._failures >= BREAKER_FAILURES

    def admit(self) -> bool:
        """Whether a request may go to the model. Once the time is over, one may; the next one as long after that."""
        if not self.is_open:
            return True
        now = self._clock()
        if now < self._open_until:
            return False
        self._open_until = now + BREAKER_OPEN_S
        return True

    def close(self) -> None:
        """The model has answered."""
        self._failures = 0

    def fail(self, *, at_once: bool) -> None:
        """The model has failed; ``at_once`` where another attempt so soon would fail too."""
        was_open = self.is_open
        self._failures = max(self._failures + 1, BREAKER_FAILURES if at_once else 0)
        if self.is_open and not was_open:  # requests that were on their way do not hold it open any longer
            self._open_until = self._clock() + BREAKER_OPEN_S


class HasBreaker(Protocol):
    """A model that may be asked, as far as the policy looks at it."""

    @property
    def breaker(self) -> Breaker: ...


CandidateT = TypeVar("CandidateT", bound=HasBreaker)


class RetryPolicy(Generic[CandidateT]):
    """One request's way through the models: whom to ask next, after how long, and when to give up.

    Models are asked in their order; those whose breaker is open come last.

    Args:
        jitter: a number between 0 and 1, for each wait.
        first_token_timeout_s: until the first event of the last attempt, waits and fallbacks included.

    Attributes:
        candidate: who is asked now.
    """

    def __init__(
        self,
        candidates: Sequence[CandidateT],
        clock: Callable[[], float],
        jitter: Callable[[], float],
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._deadline = clock() + first_token_timeout_s
        self._ahead = list(candidates)
        self._attempts = 1
        self._attempts_here = 1
        self._errors: dict[CandidateT, ModelError] = {}
        self.candidate = self._next()

    @property
    def first_token_timeout_s(self) -> float:
        """Seconds until the first event of this attempt has to be there."""
        left = self._deadline - self._clock()
        return left * FIRST_TOKEN_SHARE if self._ahead else left

    @property
    def is_scarce(self) -> bool:
        """Whether the attempts that are left are no more than the models ahead want."""
        return ATTEMPTS - self._attempts <= len(self._ahead)

    def repeat(self) -> bool:
        """Ask the same model once more at once; False where attempts or time are used up."""
        if not self._is_open:
            return False
        self._attempts += 1
        self._attempts_here += 1
        return True

    def advance(self, error: ModelError) -> float:
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
        self._attempts_here += 1
        if wait is None:
            self._attempts_here = 1
            self.candidate = self._next()
        return wait or 0.0

    @property
    def _is_open(self) -> bool:
        return self._attempts < ATTEMPTS and self._clock() < self._deadline

    def _next(self) -> CandidateT:
        admitted = (place for place, one in enumerate(self._ahead) if one.breaker.admit())
        return self._ahead.pop(next(admitted, 0))

    def _wait(self, error: ModelError) -> float | None:
        """Seconds until the same model may be asked again, None where it is not."""
        if not isinstance(error, TryAgain) or wants_too_long_a_wait(error) or (self._ahead and self._is_lost(error)):
            return None
        wait = self._backoff() if error.after is None else error.after
        return wait if self._clock() + wait < self._deadline else None

    def _backoff(self) -> float:
        longest: float = min(LONGEST_WAIT_S, BACKOFF_BASE_S * 2 ** (self._attempts_here - 1))
        return self._jitter() * longest

    def _is_lost(self, error: ModelError) -> bool:
        """Whether the attempts and the time that are left are better spent on the models ahead."""
        used_up = self.is_scarce or self._attempts_here == ATTEMPTS_PER_MODEL
        return used_up or error.apology == "timed_out" or self.candidate.breaker.is_open


def wants_too_long_a_wait(error: ModelError) -> bool:
    """Whether the vendor wants to be left alone for longer than anybody waits."""
    return isinstance(error, TryAgain) and (error.after or 0) > LONGEST_WAIT_S


def _hope(error: ModelError) -> int:
    return next((place for place, kind in enumerate(HOPE) if isinstance(error, kind)), 0)
