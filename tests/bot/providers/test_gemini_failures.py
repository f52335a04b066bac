"""How Gemini fails: every exception of the SDK and the network comes out as one of ours, and never
with the key."""

from __future__ import annotations

import asyncio
import inspect

import aiohttp
import pytest
from google.genai import errors

from bot.errors import ModelError, ModelUnusable, TooLong, TryAgain
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.failures import GeminiFailures
from bot.providers.gemini.sdk import our_errors
from bot.providers.shared.streaming import translating
from tests.bot.providers.asking import ask, user
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import Answer
from tests.waiting import until

MODEL = "gemini-3.5-flash"
BAD_KEY = "GEMINI_API_KEY was refused ({}): set a valid key"


def exceptions_of(module: object) -> list[type[Exception]]:
    """Every exception class a module offers, warnings aside."""
    classes = [member for _, member in inspect.getmembers(module, inspect.isclass)]
    return [one for one in classes if issubclass(one, Exception) and not issubclass(one, Warning)]


CLIENT_ERRORS = [one for one in exceptions_of(aiohttp) if issubclass(one, aiohttp.ClientError)]


async def failure(provider: Gemini) -> ModelError:
    """How an answer fails."""
    try:
        await ask(provider, [user("my secret diary")])
    except ModelError as error:
        return error
    raise AssertionError("the request did not fail")


def reported(error: ModelError) -> tuple[type[ModelError], str, str, float | None]:
    """All that a caller goes by."""
    return (
        type(error),
        error.apology,
        error.cause,
        error.after if isinstance(error, TryAgain) else None,
    )


@pytest.mark.parametrize(
    ("status", "reason", "delay", "expected"),
    [
        (429, "", "7.5s", (TryAgain, "rate_limited", f"{MODEL} is over its quota (429)", 7.5)),
        (429, "", "soon", (TryAgain, "rate_limited", f"{MODEL} is over its quota (429)", None)),
        (400, "API_KEY_INVALID", "", (ModelUnusable, "key_refused", BAD_KEY.format(400), None)),
        (413, "", "", (TooLong, "too_long", f"{MODEL} cannot read so much at once", None)),
    ],
)
async def test_an_error_of_the_service_is_translated(
    fake: GeminiFake, gemini: Gemini, status: int, reason: str, delay: str, expected: object
) -> None:
    """Status, reason and delay decide what may be done about it; the cause names what to fix."""
    fake.fail(status, "too long", reason=reason, retry_delay=delay)
    assert reported(await failure(gemini)) == expected


async def test_html_instead_of_json_is_an_outage(fake: GeminiFake, gemini: Gemini) -> None:
    """A proxy on the way speaks its own language; its Retry-After is heard."""
    page = Answer(
        body=b"<html>Bad Gateway</html>",
        status=502,
        content_type="text/html",
        headers={"Retry-After": "3"},
    )
    fake.answer(page)
    assert reported(await failure(gemini)) == (TryAgain, "model_down", f"{MODEL} answers 502", 3.0)


@pytest.mark.parametrize(
    "body", [b'"bad"', b'{"error": "bad"}', b"[1, 2]", b"\xff", b"[" * 60_000, b""]
)
async def test_an_error_in_another_form_is_an_outage(
    fake: GeminiFake, gemini: Gemini, body: bytes
) -> None:
    """Whatever a proxy writes as JSON, the SDK's error is made of it, and the user gets an
    apology."""
    fake.answer(Answer(body=body, status=502, content_type="application/json"))
    assert reported(await failure(gemini)) == (TryAgain, "model_down", f"{MODEL} answers 502", None)


async def test_an_error_inside_a_stream_is_an_error(fake: GeminiFake, gemini: Gemini) -> None:
    """The 200 has been sent by then; with and without the form of an event."""
    for body in (
        b'data: {"error": {"code": 503, "message": "overloaded"}}\r\n\r\n',
        b'{"error": {"code": 503}}',
    ):
        fake.raw(body)
        assert reported(await failure(gemini)) == (
            TryAgain,
            "model_down",
            f"{MODEL} answers 503",
            None,
        )


async def test_an_error_without_a_code_is_an_outage(fake: GeminiFake, gemini: Gemini) -> None:
    """Nothing says that the request was at fault."""
    fake.raw(b'data: {"error": {"details": [5]}}\r\n\r\n')
    assert reported(await failure(gemini)) == (TryAgain, "model_down", f"{MODEL} answers 500", None)


async def test_a_redirect_is_not_followed(fake: GeminiFake, gemini: Gemini) -> None:
    """The key goes to one host, also when the SDK asks."""
    elsewhere = {"Location": f"{fake.base_url}/v1beta/models/gemini-2.5-pro"}
    fake.answer(Answer(body=b"", status=302, headers=elsewhere))
    assert (await failure(gemini)).apology == "request_refused"
    fake.card = Answer(body=b"", status=302, headers=elsewhere)
    with pytest.raises(TryAgain):
        await gemini.check()
    assert len(fake.requests) == 2


async def test_requests_in_flight_have_no_limit(fake: GeminiFake, gemini: Gemini) -> None:
    """How many turns run at once is for the worker to say: a pool would make the others wait in
    line unseen."""
    count = 120  # above the hundred that HTTP clients like to stop at
    for _ in range(count):
        fake.stall()
    asking = [asyncio.create_task(ask(gemini, [user("?")])) for _ in range(count)]
    await until(lambda: fake.streaming == count)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await until(lambda: fake.streaming == 0)


async def test_the_systems_proxy_is_used(fake: GeminiFake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the way out leads through one."""
    monkeypatch.setenv("http_proxy", fake.base_url)
    monkeypatch.setenv("no_proxy", "")
    provider = Gemini(KEY, MODEL, "http://gemini.invalid")
    fake.say("ok")
    assert (await ask(provider, [user("?")])).text == "ok"
    await provider.aclose()
    assert [request.headers["Host"] for request in fake.requests] == ["gemini.invalid"]


async def test_check_looks_the_model_up(fake: GeminiFake, gemini: Gemini) -> None:
    """Key and model work, and nothing was generated."""
    assert await gemini.check() == "Gemini 3.5 Flash answers"
    assert [request.action for request in fake.requests] == ["get"]


@pytest.mark.parametrize(
    "kind", [*exceptions_of(errors), *CLIENT_ERRORS, OSError, TimeoutError], ids=str
)
def test_every_exception_has_a_translation(kind: type[Exception]) -> None:
    """A class the SDK or the network gains later becomes one of ours too."""
    error = kind(503, {}) if issubclass(kind, errors.APIError) else kind.__new__(kind)
    with (
        pytest.raises(TryAgain) as raised,
        translating(GeminiFailures(MODEL, "GEMINI_API_KEY", KEY)),
        our_errors(),
    ):
        raise error
    assert raised.value.apology in ("model_down", "timed_out", "malformed")
