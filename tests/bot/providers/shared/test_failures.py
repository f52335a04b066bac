"""What statuses, kinds and headers of any vendor mean."""

from __future__ import annotations

from email.utils import formatdate
from time import time

import pytest
from msgspec import DecodeError

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong, TryAgain
from bot.providers.anthropic.failures import AnthropicFailures
from bot.providers.ollama.failures import OllamaFailures
from bot.providers.openai.failures import OpenAIFailures
from bot.providers.shared.failures import Failures, retry_after, status_of
from bot.providers.shared.streaming import translating

FAILURES = Failures("m-1", "VENDOR_API_KEY", "secret-key")


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (
            400,
            "",
            (RequestRefused, "request_refused", "m-1 refused the request (400): your [key] is odd"),
        ),
        (413, "", (TooLong, "too_long", "m-1 cannot read so much at once")),
        (
            400,
            "content_filter",
            (RequestRefused, "blocked", "m-1 declined the request (400): your [key] is odd"),
        ),
        (
            400,
            "tool_use_failed",
            (TryAgain, "malformed", "m-1 wrote a call that its server refuses (tool_use_failed)"),
        ),
        (
            400,
            "model_not_found",
            (ModelUnusable, "model_unknown", "MODEL: m-1 is not known there (400); name another"),
        ),
        (
            401,
            "",
            (ModelUnusable, "key_refused", "VENDOR_API_KEY was refused (401): set a valid key"),
        ),
        (
            403,
            "",
            (ModelUnusable, "key_refused", "VENDOR_API_KEY was refused (403): set a valid key"),
        ),
        (
            402,
            "",
            (
                ModelUnusable,
                "credit_used_up",
                "VENDOR_API_KEY: the account has no credit left (402)",
            ),
        ),
        (
            429,
            "insufficient_quota",
            (
                ModelUnusable,
                "credit_used_up",
                "VENDOR_API_KEY: the account has no credit left (insufficient_quota)",
            ),
        ),
        (
            404,
            "",
            (ModelUnusable, "model_unknown", "MODEL: m-1 is not known there (404); name another"),
        ),
        (429, "", (TryAgain, "rate_limited", "m-1 is over its quota (429)")),
        (408, "", (TryAgain, "model_down", "m-1 answers 408")),
        (425, "", (TryAgain, "model_down", "m-1 answers 425")),
        (529, "", (TryAgain, "model_down", "m-1 answers 529")),
    ],
)
def test_a_refusal_says_what_may_be_done(status: int, kind: str, expected: object) -> None:
    """Class, apology and the operator's words; the key is never among them."""
    error = FAILURES.refusal(status, kind, "your  secret-key\nis odd", 3.0)
    assert (type(error), error.apology, error.cause) == expected


def test_a_wait_is_handed_on() -> None:
    """For what passes."""
    waits = [FAILURES.refusal(status, after=3.0) for status in (429, 503)]
    assert [error.after for error in waits if isinstance(error, TryAgain)] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("error", "apology"),
    [
        (FAILURES.failed(TimeoutError()), "timed_out"),
        (FAILURES.failed(OSError()), "model_down"),
        (FAILURES.broken_off(), "model_down"),
        (FAILURES.failed(DecodeError()), "malformed"),
    ],
)
def test_what_is_no_answer_may_be_asked_again(error: ModelError, apology: str) -> None:
    """The network and a server's nonsense pass."""
    assert (type(error), error.apology) == (TryAgain, apology)
    assert "m-1" in error.cause


@pytest.mark.parametrize("vendor", [AnthropicFailures, OllamaFailures, OpenAIFailures])
def test_a_mistake_of_ours_is_no_answer(vendor: type[Failures]) -> None:
    """It keeps its traceback; only what reads an answer raises for the vendor's nonsense."""
    failures = vendor("m-1", "K", "")
    with pytest.raises(ValueError, match="ours"), translating(failures):
        raise ValueError("ours")
    with pytest.raises(TryAgain) as raised, translating(failures):
        raise DecodeError
    assert raised.value.apology == "malformed"


def test_a_servers_words_are_kept_short() -> None:
    """Some answer with a page."""
    assert len(Failures("m-1", "K", "").refusal(400, message="x" * 9_000).cause) < 400


def test_a_servers_message_can_be_stored() -> None:
    """Half a character in it becomes U+FFFD."""
    assert Failures("m-1", "K", "").refusal(400, message="no \ud83d").cause.endswith("no \ufffd")


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        (503, "", 503),
        ("429", "", 429),
        (None, "overloaded_error", 529),
        ("rate_limit_exceeded", "", 429),
        ("invalid_api_key", "invalid_request_error", 401),
        ("model_not_found", "", 404),
        (None, "invalid_request_error", 400),
        (7, "mystery", 500),
        (None, "", 500),
    ],
)
def test_an_error_inside_a_stream_has_a_status(code: object, kind: str, status: int) -> None:
    """Its code, or what its kind would have been; what nobody knows is the server's fault."""
    assert status_of(code, kind) == status


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after": "Sun, 22 Nov 2020 00:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or a date."""
    assert retry_after(headers) == seconds


def test_retry_after_a_date_to_come() -> None:
    """Counted from now."""
    seconds = retry_after({"retry-after": formatdate(time() + 60, usegmt=True)})
    assert seconds is not None
    assert 55 < seconds <= 60
