"""Asking again: when, how often, how long after, and what the listener hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from bot.errors import ModelError, TryAgain
from bot.providers import Completed, Request, Restarted, StreamEvent, TextDelta, ToolCallDelta
from bot.providers.fallback import FallbackProvider
from bot.providers.scripted import Step
from bot.telemetry.observed import OBSERVER, AttemptFailed, ObservedStep
from bot.transcript import Message, ToolCall
from tests.bot.providers.asking import ask, user
from tests.bot.providers.failing import (
    DOWN,
    MALFORMED,
    OK,
    REFUSED,
    SILENT,
    UNUSABLE,
    Time,
    fails,
    waits,
)


@pytest.fixture
def time() -> Time:
    """A new clock."""
    return Time()


@pytest.mark.parametrize(
    ("steps", "slept", "text"),
    [
        ([OK], [], "Hello"),
        ([fails(DOWN), OK], [0.5], "Hello"),
        ([fails(DOWN), fails(DOWN), fails(DOWN), OK], [0.5, 1.0, 2.0], "Hello"),
        ([waits(7), OK], [7], "Hello"),
        ([waits(0), OK], [0], "Hello"),
        ([waits(10), waits(9), OK], [10, 9], "Hello"),
        ([MALFORMED, OK], [], "Hello"),
        ([MALFORMED, fails(DOWN), OK], [1.0], "Hello"),
        ([fails(DOWN), MALFORMED, OK], [0.5], "Hello"),
        ([MALFORMED, MALFORMED], [], "Hm"),
        ([MALFORMED, fails(DOWN), MALFORMED], [1.0], "Hm"),
        ([fails(DOWN), fails(DOWN), fails(DOWN), MALFORMED], [0.5, 1.0, 2.0], "Hm"),
    ],
)
async def test_an_answer_comes_in_the_end(
    time: Time, steps: list[Step], slept: list[float], text: str
) -> None:
    """Waits double from half a second, what the vendor asks for is honoured, malformed gets one
    more chance."""
    assert (await ask(time.around(steps), [user("hi")])).text == text
    assert (time.slept, time.requests) == (slept, [len(steps)])


@pytest.mark.parametrize(
    ("steps", "slept", "error"),
    [
        ([fails(DOWN)] * 4, [0.5, 1.0, 2.0], DOWN),
        ([fails(REFUSED)], [], REFUSED),
        ([fails(UNUSABLE)], [], UNUSABLE),
        ([fails(DOWN), fails(REFUSED)], [0.5], REFUSED),
        ([MALFORMED, fails(DOWN), fails(DOWN), fails(UNUSABLE)], [1.0, 2.0], UNUSABLE),
    ],
)
async def test_the_last_error_is_raised(
    time: Time, steps: list[Step], slept: list[float], error: ModelError
) -> None:
    """After four attempts in all, or at once where another cannot help."""
    with pytest.raises(type(error)) as raised:
        await ask(time.around(steps), [user("hi")])
    assert raised.value is error
    assert (time.slept, time.requests) == (slept, [len(steps)])


async def test_an_observer_sees_each_failure_and_who_is_asked_next(time: Time) -> None:
    """After the last one, nobody."""
    seen: list[ObservedStep] = []
    token = OBSERVER.set(seen.append)
    with pytest.raises(TryAgain):
        await ask(time.around([MALFORMED, fails(DOWN), waits(11)]), [user("hi")])
    OBSERVER.reset(token)
    failed = [step for step in seen if isinstance(step, AttemptFailed)]
    assert [(step.failure, step.next_model, step.wait_s) for step in failed] == [
        ("malformed", "m0", 0.0),
        (DOWN.apology, "m0", 1.0),
        (waits(11).error.apology, "", 0.0),  # type: ignore[union-attr]
    ]


async def test_a_longer_wait_is_not_waited_for(time: Time) -> None:
    """Who is asked for more than ten seconds is told so at once."""
    with pytest.raises(TryAgain, match="429"):
        await ask(time.around([waits(10.1)]), [user("hi")])
    assert time.slept == []


async def test_twenty_seconds_are_the_limit(time: Time) -> None:
    """An attempt that could only start after that is not made."""
    with pytest.raises(TryAgain, match="429"):
        await ask(time.around([waits(10), waits(10)]), [user("hi")])
    assert time.slept == [10]


async def test_a_malformed_answer_after_the_limit_is_handed_on(time: Time) -> None:
    """There is no time for another one."""

    def late(messages: Sequence[Message]) -> Step:
        time.now += 20
        return MALFORMED

    assert (
        await ask(time.around([late]), [user("hi")])
    ).response.detail == "MALFORMED_FUNCTION_CALL"


async def test_jitter_is_full(time: Time) -> None:
    """A wait is anything between nothing and the whole."""
    await ask(time.around([fails(DOWN), fails(DOWN), OK], jitter=0.1), [user("hi")])
    assert time.slept == pytest.approx([0.05, 0.1])


async def test_words_of_a_failed_attempt_are_voided(time: Time) -> None:
    """Whoever has shown them must know that they no longer hold."""
    events = await heard(time.around([fails(DOWN, "It is"), MALFORMED, OK]))
    assert events == [
        TextDelta("It "),
        TextDelta("is"),
        Restarted(),
        TextDelta("Hm"),
        Restarted(),
        TextDelta("Hello"),
    ]


async def test_a_call_that_was_shown_is_voided_too(time: Time) -> None:
    """Calls are streamed as well."""
    call = ToolCall("c", "f", {})
    events = await heard(time.around([Step(calls=(call,), error=DOWN), OK]))
    assert events == [ToolCallDelta(0, "c", "f", "{}"), Restarted(), TextDelta("Hello")]


async def test_nothing_is_voided_where_nothing_was_shown(time: Time) -> None:
    """A silent failure passes unnoticed."""
    assert await heard(time.around([fails(DOWN), SILENT, OK])) == [TextDelta("Hello")]


async def test_a_model_that_says_nothing_uses_up_the_time(time: Time) -> None:
    """The first event must come before the twenty seconds are over, whichever attempt it belongs
    to."""
    silent = Step("Hello", gate=asyncio.Event())
    retrying = time.around([waits(9.995), waits(9.995), silent])
    with pytest.raises(TryAgain) as raised:
        await asyncio.wait_for(ask(retrying, [user("hi")]), 10)
    assert (raised.value.apology, time.requests) == ("timed_out", [3])


async def test_an_answer_that_has_begun_may_take_its_time(time: Time) -> None:
    """The limit is for the first event; how long an answer lasts is the model's own affair."""
    gate = asyncio.Event()
    models = time.around([Step("Hello there", gate=gate, gate_after=1)])
    events = models.stream(Request("", [user("hi")]))
    assert await anext(events) == TextDelta("Hello ")
    time.now += 25
    gate.set()
    assert await anext(events) == TextDelta("there")


async def test_a_listener_that_leaves_ends_the_attempt(time: Time) -> None:
    """Closing the stream closes the model's, down to its connection."""
    step = Step("Hello there", gate=asyncio.Event(), gate_after=1)
    retrying = time.around([step])
    async with aclosing(retrying.stream(Request("", [user("hi")]))) as events:
        await anext(events)
        waiting = asyncio.ensure_future(anext(events))
        await step.at_gate.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert (waiting.cancelled(), time.requests) == (True, [1])


async def test_every_attempt_is_the_same_request(time: Time) -> None:
    """System prompt, messages, tools and choice are passed on as they are."""
    retrying = time.around([fails(DOWN), OK])
    await ask(retrying, [user("hi")])
    first, second = time.models[0].requests
    assert first == second


async def test_it_is_named_after_the_model_that_is_asked_first(time: Time) -> None:
    """And checked as that one."""
    retrying = time.around([OK], [OK])
    assert (retrying.name, retrying.model) == ("p0", "m0")
    assert await retrying.check() == "scripted: plays the steps it was given"
    await retrying.aclose()


async def heard(retrying: FallbackProvider) -> list[StreamEvent]:
    """All events but the completed answer."""
    return [
        one
        async for one in retrying.stream(Request("", [user("hi")]))
        if not isinstance(one, Completed)
    ]
