"""Retrying and waiting for models: every number, and the rules that use them.

``fallback.py`` follows the rules; ``shared/streaming.py`` applies the time limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain

# Attempts, for one request of the agent.
# So many attempts are made over all models, the first one included.
ATTEMPTS = 4
# A model with fallbacks left gets so many attempts: one failure may pass, a second one is an
# outage.
ATTEMPTS_PER_MODEL = 2
# An unreadable answer is asked for again so often: models sample, so the next answer may be well
# formed.
MALFORMED_REPEATS = 1

# Seconds until an answer.
# The first event comes within this time, with all attempts, waits and fallbacks: as long as people
# wait.
FIRST_TOKEN_TIMEOUT_S = 20.0
# Each MiB of recordings and PDFs adds so much: to be sent, and to be looked at.
FIRST_TOKEN_PER_MIB_S = 1.0
# A model with fallbacks left gets this share of the remaining seconds.
FIRST_TOKEN_SHARE = 0.7
# The last event of one answer comes within this time: LINE's reply token lives about as long.
REQUEST_TIMEOUT_S = 60.0
# Bytes after the last event are awaited so long: only a connection read to its end is used again.
LAST_BYTES_TIMEOUT_S = 0.1
# Loading a model may take so long, as in Ollama itself (OLLAMA_LOAD_TIMEOUT).
MODEL_LOAD_TIMEOUT_S = 300.0

# Seconds between two attempts at the same model: base, doubled with each, and a random part of that
# ("full jitter", https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
BACKOFF_BASE_S = 0.5
# This bounds also a wait that a vendor asks for, by Retry-After or by Google's RetryInfo.
LONGEST_WAIT_S = 10.0

# A model that keeps failing gets no requests for a while.
# So many failures in a row open the breaker.
BREAKER_FAILURES = 3
# This is half of the longest wait for the first answer after an outage.
BREAKER_OPEN_S = 10.0

# Connections.
# TCP and TLS may take so long, within the seconds to the first event.
CONNECT_TIMEOUT_S = 10.0

# Which error is raised after different failures of several models: the kind that stands last here.
PREFERRED = (ModelUnusable, RequestRefused, TryAgain)


class Breaker:
    """The circuit breaker of one model in this process.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the model has failed too often since its last answer; a half-open breaker counts
        as open."""
        return self._failures >= BREAKER_FAILURES

    def admit(self) -> bool:
        """Whether a request may go to the model; while the breaker is open, one request in each
        ``BREAKER_OPEN_S``."""
        if not self.is_open:
            return True
        now = self._clock()
        if now < self._open_until:
            return False
        self._open_until = now + BREAKER_OPEN_S
        return True

    def close(self) -> None:
        """Record an answer."""
        self._failures = 0

    def fail(self, *, at_once: bool) -> None:
        """Record a failure; ``at_once`` opens the breaker, as another attempt soon would fail
        too."""
        was_open = self.is_open
        self._failures += 1
        if at_once:
            self._failures = max(self._failures, BREAKER_FAILURES)
        if self.is_open and not was_open:
            # Failures of requests under way do not prolong it.
            self._open_until = self._clock() + BREAKER_OPEN_S


class HasBreaker(Protocol):
    """A model as far as the policy knows it."""

    @property
    def breaker(self) -> Breaker: ...


CandidateT = TypeVar("CandidateT", bound=HasBreaker)


class RetryPolicy(Generic[CandidateT]):
    """The attempts of one request: which model is next, after which wait, and when to give up.

    Models are asked in their order; a model whose breaker is open comes last.

    Args:
        jitter: a number between 0 and 1, for each wait.
        first_token_timeout_s: seconds to the first event, with all attempts, waits and fallbacks.

    Attributes:
        candidate: the model of this attempt.
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
        """Seconds to the first event of this attempt."""
        left = self._deadline - self._clock()
        if self._ahead:
            left *= FIRST_TOKEN_SHARE
        return left

    @property
    def is_scarce(self) -> bool:
        """Whether every remaining attempt is needed for a model that has not been asked."""
        return ATTEMPTS - self._attempts <= len(self._ahead)

    def repeat(self) -> bool:
        """Begin another attempt at the same model; False where attempts or time are used up."""
        if not self._has_attempts:
            return False
        self._attempts += 1
        self._attempts_here += 1
        return True

    def advance(self, error: ModelError) -> float:
        """Choose the model of the next attempt after a failure.

        Returns:
            Seconds to wait before the attempt.

        Raises:
            ModelError: no model or no time is left; ``PREFERRED`` says which of the failures it is.
        """
        self._errors[self.candidate] = error
        wait = self._wait(error)
        others = bool(self._ahead) and error.apology != "blocked"
        if not self._has_attempts or (wait is None and not others):
            raise max(self._errors.values(), key=_preference)
        self._attempts += 1
        self._attempts_here += 1
        if wait is None:
            self._attempts_here = 1
            self.candidate = self._next()
        return wait or 0.0

    @property
    def _has_attempts(self) -> bool:
        return self._attempts < ATTEMPTS and self._clock() < self._deadline

    def _next(self) -> CandidateT:
        for place, one in enumerate(self._ahead):
            if one.breaker.admit():
                return self._ahead.pop(place)
        return self._ahead.pop(0)

    def _wait(self, error: ModelError) -> float | None:
        """Seconds until the next attempt at the same model, None where there is none."""
        if (
            not isinstance(error, TryAgain)
            or exceeds_longest_wait(error)
            or (self._ahead and self._should_move_on(error))
        ):
            return None
        wait = self._backoff() if error.after is None else error.after
        return wait if self._clock() + wait < self._deadline else None

    def _backoff(self) -> float:
        longest: float = min(LONGEST_WAIT_S, BACKOFF_BASE_S * 2 ** (self._attempts_here - 1))
        return self._jitter() * longest

    def _should_move_on(self, error: ModelError) -> bool:
        """Whether the remaining attempts and time should go to the next model."""
        used_up = self.is_scarce or self._attempts_here == ATTEMPTS_PER_MODEL
        return used_up or error.apology == "timed_out" or self.candidate.breaker.is_open


def exceeds_longest_wait(error: ModelError) -> bool:
    """Whether the vendor asks for a wait beyond ``LONGEST_WAIT_S``."""
    return isinstance(error, TryAgain) and (error.after or 0) > LONGEST_WAIT_S


def _preference(error: ModelError) -> int:
    for place, kind in enumerate(PREFERRED):
        if isinstance(error, kind):
            return place
    return 0
