"""The same failures from every vendor, over real HTTP and through the real SDK, before a stand-in
as strict as it.

What each test shows is a row of the table in ``docs/providers.md``.
"""

from __future__ import annotations

import asyncio
import traceback

import pytest

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers import Request, TextDelta
from bot.providers.fallback import FallbackProvider
from bot.providers.shared.entry import Options
from bot.telemetry import Metrics
from tests.bot.providers.asking import ask, declared, model, user
from tests.bot.providers.conformance.shown import assert_shown_is_documented
from tests.bot.providers.subjects.all import Opening, Subject
from tests.waiting import until

WORDS = "my secret diary"
# A status, the wait that comes with it, and what it means.
PASSING = [
    (429, "7.5", (TryAgain, "rate_limited", 7.5)),
    (429, "", (TryAgain, "rate_limited", None)),
    (500, "", (TryAgain, "model_down", None)),
    (503, "2", (TryAgain, "model_down", 2.0)),
]


async def failure(subject: Subject) -> ModelError:
    """How an answer fails."""
    try:
        await ask(subject.provider, [user(WORDS)], declared())
    except ModelError as error:
        return error
    raise AssertionError("the request did not fail")


@pytest.mark.shows("Rate limits and outages, with the wait that the vendor asks for")
async def test_a_passing_failure(subject: Subject) -> None:
    """Another attempt may help, after the time the vendor names; the SDK makes none of its own."""
    for count, (status, retry_after, expected) in enumerate(PASSING, 1):
        subject.fail(status, retry_after=retry_after)
        error = await failure(subject)
        assert isinstance(error, TryAgain)
        assert (type(error), error.apology, error.after) == expected
        assert len(subject.sent) == count


@pytest.mark.shows("A request that is too long is sent again, shorter")
async def test_a_request_that_is_too_long(subject: Subject) -> None:
    """By what the vendor says of it; how much the model reads is kept in mind."""
    if not subject.too_long:
        pytest.skip(subject.lacks["too_long"])
    subject.fail(400, subject.too_long)
    subject.say("ok")
    retrying = FallbackProvider([subject.provider], Metrics())
    assert (
        await ask(retrying, [user("Hanami?"), model("In April."), user("And then?")], declared())
    ).text == "ok"
    assert ["Hanami" in sent.text for sent in subject.sent] == [True, False]
    assert retrying.window == 200_000


@pytest.mark.shows("The cause of a refused key names its variable")
async def test_a_wrong_key(opening: Opening) -> None:
    """Refused at once and when it is checked, and the operator hears which variable to fix."""
    async with opening(key="another-key") as subject:
        error = await failure(subject)
        with pytest.raises(ModelUnusable) as checked:
            await subject.provider.check()
    assert (type(error), error.apology, checked.value.apology) == (
        ModelUnusable,
        "key_refused",
        "key_refused",
    )
    for cause in (error.cause, checked.value.cause):
        assert cause.startswith(subject.variable)
        assert "another-key" not in cause


@pytest.mark.shows("The cause of an unknown model names it")
async def test_an_unknown_model(opening: Opening) -> None:
    """The next model is asked instead."""
    async with opening(model="nonsense-9") as subject:
        error = await failure(subject)
        with pytest.raises(ModelUnusable) as checked:
            await subject.provider.check()
    assert (type(error), error.apology) == (ModelUnusable, "model_unknown")
    assert checked.value.apology == "model_unknown"
    assert "nonsense-9" in error.cause


@pytest.mark.shows("No error holds the key or the user's words")
async def test_no_text_holds_the_key_or_the_users_words(subject: Subject) -> None:
    """Vendors quote keys now and then; neither our words nor a logged traceback do."""
    for status in (400, 401, 403, 429):
        subject.fail(status, f"you sent {subject.key}, which is wrong")
        error = await failure(subject)
        reported = f"{error!r} {error.cause} {''.join(traceback.format_exception(error))}"
        assert subject.key not in reported
        assert WORDS not in reported


@pytest.mark.shows("No call of an answer that breaks off is run")
@pytest.mark.parametrize("end", ["cut", "error"])
async def test_an_interrupted_stream_runs_nothing(subject: Subject, end: str) -> None:
    """A lost connection and an error after the 200 are the same to the caller: ask again."""
    subject.begin("It is", end=end)
    events = subject.provider.stream(Request("", [user("?")], declared()))
    assert await anext(events) == TextDelta("It is")
    with pytest.raises(TryAgain) as raised:
        await anext(events)
    assert raised.value.apology == "model_down"


@pytest.mark.shows("Time limit for the first event")
async def test_a_slow_first_token_times_out(subject: Subject) -> None:
    """A silent service is given up long before a slow one."""
    subject.stall()
    with pytest.raises(TryAgain) as raised:
        await anext(subject.provider.stream(Request("", [user("?")], first_token_timeout_s=0.05)))
    assert raised.value.apology == "timed_out"


@pytest.mark.shows("A thought counts as the first event, and is not shown")
async def test_a_model_that_thinks_is_at_work(opening: Opening) -> None:
    """From the first thought on it has the time of a whole answer."""
    async with opening(options=Options(request_timeout_s=0.05)) as subject:
        subject.think()
        async with asyncio.timeout(10):
            error = await failure(subject)
    assert (type(error), error.apology) == (TryAgain, "timed_out")


@pytest.mark.shows("Time limit for the whole answer")
async def test_an_answer_without_end_times_out(opening: Opening) -> None:
    """The first token is in time, the last one never comes."""
    async with opening(options=Options(request_timeout_s=0.05)) as subject:
        subject.begin("It is", end="stalled")
        error = await failure(subject)
    assert (type(error), error.apology) == (TryAgain, "timed_out")


@pytest.mark.shows("A cancelled turn closes its connection")
async def test_a_cancelled_turn_closes_its_connection(subject: Subject) -> None:
    """Nobody pays for what nobody reads."""
    subject.begin("It is", end="stalled")
    task = asyncio.create_task(ask(subject.provider, [user("?")]))
    await until(lambda: subject.streaming == 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: subject.streaming == 0)


@pytest.mark.shows("Connections are reused")
async def test_the_connection_is_used_again(subject: Subject) -> None:
    """An answer that was read to its end leaves it open for the next."""
    for _ in range(3):
        subject.say("ok")
        await ask(subject.provider, [user("?")])
    assert (len(subject.sent), subject.connections) == (3, 1)


def test_the_documented_table_is_what_was_shown(request: pytest.FixtureRequest) -> None:
    """``docs/providers.md`` says about each vendor what the tests above have shown."""
    assert_shown_is_documented(request)
