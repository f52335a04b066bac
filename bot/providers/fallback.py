"""A provider around a model and its fallbacks; it makes the attempts that the retry policy
allows."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import structlog

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong
from bot.providers import (
    AUTO,
    Completed,
    MediaSupport,
    Provider,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from bot.providers.retry_policy import (
    FIRST_TOKEN_TIMEOUT_S,
    MALFORMED_REPEATS,
    Breaker,
    RetryPolicy,
    exceeds_longest_wait,
)
from bot.providers.shared.request import without_files
from bot.providers.shared.streaming import cap_answer, estimate_tokens, patience_for, trim_oldest
from bot.telemetry import Metrics
from bot.telemetry.observed import OBSERVER, AttemptFailed
from bot.transcript import Message
from toolset.tool import ToolDefinition

log = structlog.stdlib.get_logger(__name__)


MAY_BE_FILES = ("request_refused", "too_long")


class Candidate:
    """A model that requests may go to. Each kind of failure is logged once until the model answers
    again.

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
            self.breaker.fail(
                at_once=exceeds_longest_wait(error) or isinstance(error, ModelUnusable)
            )

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The newest turns that fill half the window; the rest is for the system prompt, the tools
        and an answer."""
        if not self.window:
            return messages
        return trim_oldest(messages, self.window // 2)

    def trim_more(self, messages: Sequence[Message], error: TooLong) -> Sequence[Message]:
        """Fewer messages after a request that was too long; the same messages where none can be
        left out."""
        self.window = error.window or self.window
        return trim_oldest(self.trim(messages), estimate_tokens(messages) // 2)


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
        self.name = providers[0].name
        self.model = providers[0].model
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
        return self._candidates[0].provider.media

    @property
    def searches(self) -> bool:
        """Whether any of the models may be asked with its vendor's own search."""
        return any(candidate.provider.searches for candidate in self._candidates)

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask until there is an answer.

        Args:
            first_token_timeout_s: over all attempts and models; recordings and PDFs add to it.

        Raises:
            ModelError: no attempt brought an answer.
        """
        limit_s = first_token_timeout_s + patience_for(messages)
        policy, malformed_repeats, whole = self._policy(limit_s), 0, messages
        while True:
            candidate, shown = policy.candidate, False
            sent = candidate.trim(messages)
            asked = candidate.provider.stream(
                system, sent, tools, tool_choice, policy.first_token_timeout_s
            )
            try:
                async with aclosing(cap_answer(asked, candidate.provider.model, sent)) as events:
                    async for event in events:
                        if isinstance(event, Completed):
                            candidate.record_answer()
                            is_malformed = event.response.stop_reason == "malformed"
                            if (
                                is_malformed
                                and malformed_repeats < MALFORMED_REPEATS
                                and policy.repeat()
                            ):
                                malformed_repeats += 1
                                name = candidate.provider.model
                                _observe(name, "malformed", event.response.detail, name)
                                break
                        shown = shown or isinstance(event, TextDelta | ToolCallDelta)
                        yield event
                    else:
                        return
            except ModelError as error:
                shorter = await self._recover(policy, error, sent)
                messages = shorter or (messages if policy.candidate is candidate else whole)
            if shown:
                yield Restarted()

    def _policy(self, first_token_timeout_s: float) -> RetryPolicy[Candidate]:
        return RetryPolicy(self._candidates, self._clock, self._jitter, first_token_timeout_s)

    async def _recover(
        self, policy: RetryPolicy[Candidate], error: ModelError, sent: Sequence[Message]
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
        return await self._candidates[0].provider.check()

    async def aclose(self) -> None:
        """Close every model's connections."""
        for candidate in self._candidates:
            await candidate.provider.aclose()


def _fewer(
    policy: RetryPolicy[Candidate], error: ModelError, sent: Sequence[Message]
) -> Sequence[Message]:
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
