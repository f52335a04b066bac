"""Two vendors over real HTTP: when the first fails, the second answers within the same request."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from bot.providers import Completed, Request, Restarted, TextDelta
from bot.providers.fallback import FallbackProvider
from bot.providers.gemini.client import Gemini
from bot.providers.openai.client import OpenAI
from bot.telemetry import Metrics
from tests.bot.providers.asking import ask, user
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.openai import KEY as OPENAI_KEY
from tests.fakes.openai import OpenAIFake, openai_fake

TOKYO = ("get_weather", {"location": "東京"})


@pytest.fixture
def second() -> Iterator[OpenAIFake]:
    """The vendor that stands in."""
    with openai_fake() as fake:
        yield fake


@pytest.fixture
async def models(fake: GeminiFake, second: OpenAIFake) -> AsyncIterator[FallbackProvider]:
    """Gemini, with OpenAI as its fallback."""
    gemini = Gemini(KEY, "gemini-3.5-flash", fake.base_url)
    retrying = FallbackProvider(
        [gemini, OpenAI(OPENAI_KEY, "gpt-5-mini", second.base_url)], Metrics(), jitter=lambda: 0.01
    )
    yield retrying
    await retrying.aclose()


async def test_a_model_that_is_down_is_replaced(
    models: FallbackProvider, fake: GeminiFake, second: OpenAIFake
) -> None:
    """The answer names the model it is from."""
    fake.fail(503)
    fake.fail(503)
    second.say("Hello", " from over here")
    asked = await ask(models, [user("hi")])
    assert (asked.text, asked.response.model) == ("Hello from over here", "gpt-5-mini-2025")
    assert (len(fake.requests), len(second.requests)) == (2, 1)


async def test_a_long_wait_is_spent_elsewhere(
    models: FallbackProvider, fake: GeminiFake, second: OpenAIFake
) -> None:
    """Who is told to come back in 48 seconds asks the other one at once, and does not come back
    before that."""
    fake.fail(429, "quota", retry_delay="48s")
    second.say("One")
    second.say("Two")
    started = time.monotonic()
    assert [(await ask(models, [user("hi")])).text for _ in range(2)] == ["One", "Two"]
    assert time.monotonic() - started < 5
    assert len(fake.requests) == 1


async def test_an_answer_that_is_cut_is_begun_anew(
    models: FallbackProvider, fake: GeminiFake, second: OpenAIFake
) -> None:
    """Its words are voided, by the same model's next try or by the next model's."""
    fake.say("It is", end="cut")
    fake.say("It will be", end="cut")
    second.say("Sunny")
    events = [
        event
        async for event in models.stream(Request("", [user("?")]))
        if not isinstance(event, Completed)
    ]
    assert events == [
        TextDelta("It is"),
        Restarted(),
        TextDelta("It will be"),
        Restarted(),
        TextDelta("Sunny"),
    ]
