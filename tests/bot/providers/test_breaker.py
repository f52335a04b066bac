"""The breaker of one model: when it opens, whom it lets through, and that it never stays open for
long."""

from __future__ import annotations

import pytest

from bot.providers.fallback import Candidate
from bot.providers.retry_policy import BREAKER_FAILURES, BREAKER_OPEN_S
from bot.providers.scripted import Scripted
from bot.telemetry import Metrics
from tests.bot.providers.failing import DOWN, UNUSABLE, Time


@pytest.fixture
def time() -> Time:
    """A new clock."""
    return Time()


@pytest.fixture
def breaker(time: Time) -> Candidate:
    """A closed one."""
    return Candidate(Scripted([]), Metrics(), lambda: time.now)


def fail(breaker: Candidate, times: int) -> None:
    """Passing failures in a row."""
    for _ in range(times):
        breaker.record_failure(DOWN)


def test_it_opens_after_a_few_failures_in_a_row(breaker: Candidate) -> None:
    """One more than is usual, and none is forgotten."""
    fail(breaker, BREAKER_FAILURES - 1)
    assert (breaker.is_open, breaker.admit()) == (False, True)
    fail(breaker, 1)
    assert (breaker.is_open, breaker.admit()) == (True, False)


def test_an_answer_in_between_starts_the_count_anew(breaker: Candidate) -> None:
    """A model that fails now and then is no broken one."""
    fail(breaker, BREAKER_FAILURES - 1)
    breaker.record_answer()
    fail(breaker, BREAKER_FAILURES - 1)
    assert breaker.admit()


def test_it_opens_at_once_where_that_is_asked_for(breaker: Candidate) -> None:
    """A refused key is refused again."""
    breaker.record_failure(UNUSABLE)
    assert not breaker.admit()


def test_one_request_tries_the_model_when_the_time_is_over(breaker: Candidate, time: Time) -> None:
    """The others go on as before, until it has answered; a probe that is never heard of again holds
    up nobody."""
    fail(breaker, BREAKER_FAILURES)
    time.now += BREAKER_OPEN_S
    assert [breaker.admit() for _ in range(3)] == [True, False, False]
    time.now += BREAKER_OPEN_S
    assert [breaker.admit() for _ in range(3)] == [True, False, False]
    breaker.record_answer()
    assert [breaker.admit() for _ in range(3)] == [True, True, True]


def test_no_failure_holds_it_open_any_longer(breaker: Candidate, time: Time) -> None:
    """Whenever an outage ends, a request tries the model within twenty seconds, however many fail
    until then."""
    waited, since = 0.0, time.now
    for _ in range(200):
        time.now += 0.5
        if breaker.admit():
            waited, since = max(waited, time.now - since), time.now
        breaker.record_failure(UNUSABLE)
    assert waited == BREAKER_OPEN_S
    assert BREAKER_OPEN_S <= 20
