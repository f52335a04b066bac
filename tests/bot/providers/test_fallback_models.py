"""Models that stand in for one that fails: who is asked when, and what is told about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from bot.errors import ModelError
from bot.providers.fallback import Candidate, FallbackProvider, RetryPolicy
from bot.providers.retry_policy import BREAKER_FAILURES, BREAKER_OPEN_S
from bot.providers.scripted import Scripted, ScriptedAnswer, Step
from bot.telemetry import Metrics
from tests.bot.providers.asking import ask, user
from tests.bot.providers.failing import (
    BLOCKED,
    DOWN,
    MALFORMED,
    OK,
    REFUSED,
    SLOW,
    UNUSABLE,
    Time,
    fails,
    waits,
)


@pytest.fixture
def time() -> Time:
    """A new clock."""
    return Time()


async def answered(retrying: FallbackProvider) -> str:
    """Which model answers."""
    return (await ask(retrying, [user("hi")])).response.model


async def error_of(retrying: FallbackProvider) -> ModelError:
    """How a request fails."""
    with pytest.raises(ModelError) as raised:
        await ask(retrying, [user("hi")])
    return raised.value


@pytest.mark.parametrize(
    ("models", "slept", "requests"),
    [
        pytest.param([[fails(UNUSABLE)], [OK]], [0], [1, 1], id="a refused key"),
        pytest.param([[fails(REFUSED)], [OK]], [0], [1, 1], id="a refused request"),
        pytest.param([[fails(SLOW)], [OK]], [0], [1, 1], id="no answer in time"),
        pytest.param([[waits(48)], [OK]], [0], [1, 1], id="a long wait asked for"),
        pytest.param([[waits(7), OK], []], [7], [2, 0], id="a short wait asked for"),
        pytest.param([[waits(9), waits(9)], [OK]], [9, 0], [2, 1], id="two short waits"),
        pytest.param([[fails(DOWN), OK], []], [0.5], [2, 0], id="back at once"),
        pytest.param([[fails(DOWN)] * 2, [OK]], [0.5, 0], [2, 1], id="down"),
        pytest.param(
            [[fails(DOWN)] * 2, [fails(DOWN), OK]], [0.5, 0, 0.5], [2, 2], id="down, and a hiccup"
        ),
        pytest.param(
            [[fails(UNUSABLE)], [fails(DOWN)] * 2 + [OK]],
            [0, 0.5, 1],
            [1, 3],
            id="the last one has all",
        ),
        pytest.param(
            [[fails(DOWN)] * 2, [fails(DOWN)], [OK]], [0.5, 0, 0], [2, 1, 1], id="two down"
        ),
        pytest.param(
            [[fails(DOWN)], [fails(DOWN)], [fails(DOWN)], [OK]],
            [0, 0, 0],
            [1, 1, 1, 1],
            id="three down",
        ),
        pytest.param([[MALFORMED, OK], []], [], [2, 0], id="malformed once"),
    ],
)
async def test_a_fallback_steps_in(
    time: Time, models: Sequence[list[Step]], slept: list[float], requests: list[int]
) -> None:
    """A passing failure is retried once, then the next model is asked, a lasting one at once; four
    attempts in all."""
    assert (await ask(time.around(*models), [user("hi")])).text == "Hello"
    assert (time.slept, time.requests) == (slept, requests)


@pytest.mark.parametrize(
    ("models", "error", "requests"),
    [
        pytest.param([[fails(DOWN)] * 2, [fails(UNUSABLE)]], DOWN, [2, 1], id="down may pass"),
        pytest.param(
            [[fails(UNUSABLE)], [fails(DOWN)] * 3],
            DOWN,
            [1, 3],
            id="a fallback that is down may come back",
        ),
        pytest.param(
            [[fails(REFUSED)], [fails(UNUSABLE)]], REFUSED, [1, 1], id="the user can do something"
        ),
        pytest.param(
            [[fails(UNUSABLE)], [fails(UNUSABLE)]], UNUSABLE, [1, 1], id="only the operator can"
        ),
        pytest.param(
            [[fails(BLOCKED)], [OK]], BLOCKED, [1, 0], id="blocked words are not taken elsewhere"
        ),
    ],
)
async def test_the_failure_that_leaves_most_hope_is_told(
    time: Time, models: Sequence[list[Step]], error: ModelError, requests: list[int]
) -> None:
    """The user's sentence is about what may change, not about what happened last."""
    assert await error_of(time.around(*models)) is error
    assert time.requests == requests


async def test_a_model_that_says_nothing_leaves_time_for_the_next(time: Time) -> None:
    """The wait for its first word ends before the twenty seconds do."""

    def late(_: object) -> Step:
        time.now += 19.98
        return fails(UNUSABLE)

    silent = Step("Never", gate=asyncio.Event())
    assert await asyncio.wait_for(answered(time.around([late], [silent], [OK])), 10) == "m2"
    assert time.requests == [1, 1, 1]


def test_a_model_with_others_behind_it_has_a_share_of_the_time(time: Time) -> None:
    """The last one has all that is left."""
    candidates = [
        Candidate(model, Metrics(), lambda: time.now) for model in (Scripted([]), Scripted([]))
    ]
    course = RetryPolicy(candidates, lambda: time.now, lambda: 1.0, 20)
    assert course.first_token_timeout_s == pytest.approx(14)
    time.now += 14
    course.advance(SLOW)
    assert course.first_token_timeout_s == pytest.approx(6)


async def test_a_model_that_keeps_failing_is_left_alone(time: Time) -> None:
    """Once its breaker is open the next model is asked at once; one request in ten seconds tries
    it."""
    retrying = time.around([*[fails(DOWN)] * (BREAKER_FAILURES + 1), OK, OK], [OK] * 9)
    asked = []
    for pause in (0, 0, 0, BREAKER_OPEN_S, 0, BREAKER_OPEN_S, 0):
        time.now += pause
        asked.append((await answered(retrying), time.requests[0]))
    assert asked == [("m1", 2), ("m1", 3), ("m1", 3), ("m1", 4), ("m1", 4), ("m0", 5), ("m0", 6)]


async def test_with_every_breaker_open_the_first_is_asked_anyway(time: Time) -> None:
    """After an outage of everything the next message gets its answer without waiting."""
    retrying = time.around([fails(UNUSABLE), OK, OK], [fails(UNUSABLE)])
    assert await error_of(retrying) is UNUSABLE
    assert await answered(retrying) == "m0"
    assert time.requests == [2, 1]


async def test_an_open_model_is_the_last_hope(time: Time) -> None:
    """When those with closed breakers have failed it is asked all the same."""
    retrying = time.around([fails(UNUSABLE), OK], [OK, fails(UNUSABLE)])
    assert [await answered(retrying) for _ in range(2)] == ["m1", "m0"]


async def test_who_refuses_a_request_is_not_left_alone(time: Time) -> None:
    """It answers; only this request is not to its taste."""
    retrying = time.around([fails(REFUSED)] * BREAKER_FAILURES + [OK], [OK] * BREAKER_FAILURES)
    assert [await answered(retrying) for _ in range(BREAKER_FAILURES + 1)] == [
        "m1"
    ] * BREAKER_FAILURES + ["m0"]


@pytest.mark.parametrize(
    ("step", "level", "cause"),
    [(fails(UNUSABLE), "error", "key_refused"), (waits(48), "warning", "rate_limited")],
)
async def test_the_operator_is_told_once(
    time: Time, step: ScriptedAnswer, level: str, cause: str
) -> None:
    """However often it happens; every time is counted, and the end of it is told too."""
    retrying = time.around([step] * 4 + [OK, step], [OK] * 5)
    reported = []
    for _ in range(6):
        with capture_logs() as lines:
            await answered(retrying)
        reported.append([(line["log_level"], line["event"], line["model"]) for line in lines])
        time.now += BREAKER_OPEN_S
    trouble, end = (level, "model.failed", "m0"), ("info", "model.recovered", "m0")
    assert reported == [[trouble], [], [], [], [end], [trouble]]
    assert (
        time.metrics.registry.get_sample_value(
            "kaiwa_model_failures_total", {"model": "m0", "cause": cause}
        )
        == 5
    )
