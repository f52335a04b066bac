"""A provider around a model and its fallbacks: which model is asked next, after which wait, and
when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong, TryAgain
from bot.providers import (
    Completed,
    MediaSupport,
    Provider,
    Request,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from bot.providers.retry_policy import (
    ATTEMPTS,
    ATTEMPTS_PER_MODEL,
    BACKOFF_BASE_S,
    BREAKER_FAILURES,
    BREAKER_OPEN_S,
    FIRST_TOKEN_SHARE,
    LONGEST_WAIT_S,
    MALFORMED_REPEATS,
)
from bot.providers.shared.request import (
    estimate_tokens,
    patience_for,
    trim_oldest,
    without_files,
)
from bot.providers.shared.streaming import cap_answer
from bot.telemetry import Metrics
from bot.telemetry.observed import OBSERVER, AttemptBegun, AttemptFailed
from bot.transcript import Message

log = structlog.stdlib.get_logger(__name__)


MAY_BE_FILES = ("request_refused", "too_long")
# Which error is raised after different failures of several models: the kind that stands last here.
PREFERRED = (ModelUnusable, RequestRefused, TryAgain)


class Candidate:
    """A model that requests may go to, with its circuit breaker. Each kind of failure is logged
    once until the model answers again.

    Args:
        clock: monotonic seconds.

    Attributes:
        window: tokens that the model reads at most; 0 while that is unknown.
    """

    def __init__(self, provider: Provider, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.provider = provider
        self.window = provider.window
        self._metrics = metrics
        self._clock = clock
        self._logged: set[str] = set()
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
        now = self._clock()
        if self._failures < BREAKER_FAILURES:
            return True
        if now < self._open_until:
            return False
        self._open_until = now + BREAKER_OPEN_S
        return True

    def record_answer(self) -> None:
        """Close the breaker after an answer."""
        if self._failures >= BREAKER_FAILURES:
            self._logged.clear()
            log.info("model.recovered", model=self.provider.model)
        self._failures = 0

    def record_failure(self, error: ModelError) -> None:
        """Count and log a failure. A refused request leaves the breaker closed: the model works;
        where another attempt soon would fail too, it opens at once."""
        self._metrics.model_failures.labels(self.provider.model, error.apology).inc()
        is_unusable = isinstance(error, ModelUnusable)
        if error.apology not in self._logged:
            self._logged.add(error.apology)
            fields = {"model": self.provider.model, "failure": error.apology, "cause": error.cause}
            if is_unusable:
                log.error("model.failed", **fields)
            else:
                log.warning("model.failed", **fields)
        if isinstance(error, RequestRefused):
            return
        was_open = self.is_open
        self._failures += 1
        if is_unusable or exceeds_longest_wait(error):
            self._failures = max(self._failures, BREAKER_FAILURES)
        if self.is_open and not was_open:
            # Failures of requests under way do not prolong it.
            self._open_until = self._clock() + BREAKER_OPEN_S

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The newest turns that fill half the window; the rest is for the system prompt, the tools
        and an answer."""
        return trim_oldest(messages, self.window // 2) if self.window else messages

    def trim_more(self, messages: Sequence[Message], error: TooLong) -> Sequence[Message]:
        """Fewer messages after a request that was too long; the same messages where none can be
        left out."""
        self.window = error.window or self.window
        return trim_oldest(self.trim(messages), estimate_tokens(messages) // 2)


class RetryPolicy:
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
        candidates: Sequence[Candidate],
        clock: Callable[[], float],
        jitter: Callable[[], float],
        first_token_timeout_s: float,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._deadline = clock() + first_token_timeout_s
        self._ahead = list(candidates)
        self._attempts = 1
        self._attempts_here = 1
        self._errors: dict[Candidate, ModelError] = {}
        self.candidate = self._next()

    @property
    def first_token_timeout_s(self) -> float:
        """Seconds to the first event of this attempt."""
        left = self._deadline - self._clock()
        return left * FIRST_TOKEN_SHARE if self._ahead else left

    @property
    def is_scarce(self) -> bool:
        """Whether every remaining attempt is needed for a model that has not been asked."""
        return ATTEMPTS - self._attempts <= len(self._ahead)

    def repeat(self) -> bool:
        """Begin another attempt at the same model; False where attempts or time are used up."""
        if self._attempts >= ATTEMPTS or self._clock() >= self._deadline:
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
        is_last = wait is None and (not self._ahead or error.apology == "blocked")
        if is_last or not self.repeat():
            raise max(self._errors.values(), key=_preference)
        if wait is None:
            self._attempts_here = 1
            self.candidate = self._next()
        return wait or 0.0

    def _next(self) -> Candidate:
        admitted = (place for place, one in enumerate(self._ahead) if one.admit())
        return self._ahead.pop(next(admitted, 0))

    def _wait(self, error: ModelError) -> float | None:
        """Seconds until the next attempt at the same model, None where there is none."""
        if (
            not isinstance(error, TryAgain)
            or exceeds_longest_wait(error)
            or (self._ahead and self._should_move_on(error))
        ):
            return None
        wait = error.after
        if wait is None:
            backoff_s = BACKOFF_BASE_S * 2 ** (self._attempts_here - 1)
            wait = self._jitter() * min(LONGEST_WAIT_S, backoff_s)
        return wait if self._clock() + wait < self._deadline else None

    def _should_move_on(self, error: ModelError) -> bool:
        """Whether the remaining attempts and time should go to the next model."""
        used_up = self.is_scarce or self._attempts_here == ATTEMPTS_PER_MODEL
        return used_up or error.apology == "timed_out" or self.candidate.is_open


def exceeds_longest_wait(error: ModelError) -> bool:
    """Whether the vendor asks for a wait beyond ``LONGEST_WAIT_S``."""
    return isinstance(error, TryAgain) and (error.after or 0) > LONGEST_WAIT_S


def _preference(error: ModelError) -> int:
    kinds = enumerate(PREFERRED)
    return next((place for place, kind in kinds if isinstance(error, kind)), 0)


class FallbackProvider:
    """Asks a model, and its fallbacks while it fails.

    - A passing failure leads to another attempt, a lasting failure or a refused request to the next
      model. A request that was blocked for its content goes to no other model.
    - A request that is too long is sent without its oldest turns; an answer that is too long is
      cut.
    - A refused request is sent once more without its files: a file may be damaged, or of too many
      pages.
    - A malformed answer is requested once more; a second malformed answer is passed on.
    - ``Restarted`` voids the text of a failed attempt when the next attempt starts.

    Args:
        providers: the model, then its fallbacks.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._first = providers[0]
        self.name = self._first.name
        self.model = self._first.model
        self._candidates = tuple(Candidate(provider, metrics, clock) for provider in providers)
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    @property
    def window(self) -> int:
        """The window of the first model, as far as it is known."""
        return self._candidates[0].window

    @property
    def media(self) -> MediaSupport:
        """What the first model reads; a fallback gets a line of text in place of what it cannot
        read."""
        return self._first.media

    @property
    def searches(self) -> bool:
        """Whether any of the models may be asked with its vendor's own search."""
        return any(candidate.provider.searches for candidate in self._candidates)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask until there is an answer; the request's limit to the first event is over all attempts
        and models, and recordings and PDFs add to it.

        Raises:
            ModelError: no attempt brought an answer.
        """
        messages = request.messages
        limit_s = request.first_token_timeout_s + patience_for(messages)
        policy = RetryPolicy(self._candidates, self._clock, self._jitter, limit_s)
        malformed_repeats = 0
        while True:
            candidate, shown = policy.candidate, False
            name, sent = candidate.provider.model, candidate.trim(messages)
            if observe := OBSERVER.get():
                observe(AttemptBegun(candidate.provider.name, name, request.system, sent))
            asked = candidate.provider.stream(
                replace(request, messages=sent, first_token_timeout_s=policy.first_token_timeout_s)
            )
            try:
                async with aclosing(cap_answer(asked, name, sent)) as events:
                    async for event in events:
                        if isinstance(event, Completed):
                            candidate.record_answer()
                            is_malformed = event.response.stop_reason == "malformed"
                            may_repeat = is_malformed and malformed_repeats < MALFORMED_REPEATS
                            if may_repeat and policy.repeat():
                                malformed_repeats += 1
                                _observe(name, "malformed", event.response.detail, name)
                                break
                        shown = shown or isinstance(event, TextDelta | ToolCallDelta)
                        yield event
                    else:
                        return
            except ModelError as error:
                shorter = await self._recover(policy, error, sent)
                if shorter or policy.candidate is not candidate:
                    messages = shorter or request.messages
            if shown:
                yield Restarted()

    async def _recover(
        self, policy: RetryPolicy, error: ModelError, sent: Sequence[Message]
    ) -> Sequence[Message]:
        """Wait for the next attempt; the result is fewer messages to send, or nothing where they
        stay the same.

        Raises:
            ModelError: no attempt is left.
        """
        name = policy.candidate.provider.model
        policy.candidate.record_failure(error)
        if fewer := _fewer(policy, error, sent):
            _observe(name, error.apology, error.cause, name)
            return fewer
        try:
            wait_s = policy.advance(error)
        except ModelError:
            _observe(name, error.apology, error.cause, "")
            raise
        _observe(name, error.apology, error.cause, policy.candidate.provider.model, wait_s)
        await self._sleep(wait_s)
        return ()

    async def check(self) -> str:
        """Check the first model."""
        return await self._first.check()

    async def aclose(self) -> None:
        """Close every model's connections."""
        for candidate in self._candidates:
            await candidate.provider.aclose()


def _fewer(policy: RetryPolicy, error: ModelError, sent: Sequence[Message]) -> Sequence[Message]:
    """The messages of another attempt at the same model, if fewer may help and it is made."""
    fewer: Sequence[Message] = ()
    if isinstance(error, TooLong):
        shorter = policy.candidate.trim_more(sent, error)
        fewer = shorter if len(shorter) < len(sent) else ()
    if not fewer and isinstance(error, RequestRefused) and error.apology in MAY_BE_FILES:
        fewer = without_files(sent)
    return fewer if fewer and not policy.is_scarce and policy.repeat() else ()


def _observe(model: str, failure: str, cause: str, next_model: str, wait_s: float = 0.0) -> None:
    if observe := OBSERVER.get():
        observe(AttemptFailed(model, failure, cause, next_model, wait_s))
