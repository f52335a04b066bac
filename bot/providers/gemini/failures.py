"""The exceptions of google-genai, of Google's credentials and of the network, translated into ``ModelError``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import httpx
from google.auth import exceptions as credentials
from google.genai import errors

from bot.errors import ModelError, TryAgain
from bot.providers.shared.failures import Failures

TOKEN = re.compile(r"ya29\.[\w.-]+")  # Google's access tokens

# The SDK raises ValueErrors for a body that it cannot read, pydantic's and its own classes among them.
OUTAGES = (
    errors.ContinuationInterruptedError,
    aiohttp.ClientError,
    httpx.HTTPError,
    httpx.StreamError,
    OSError,
    ValueError,
)
FAILURES = (errors.APIError, credentials.GoogleAuthError, *OUTAGES)


@contextmanager
def translating(failures: Failures) -> Iterator[None]:
    """Translate exceptions raised inside; no text of a translation holds the key.

    Raises:
        ModelError: for each of ``FAILURES``.
    """
    try:
        yield
    except errors.APIError as error:
        raise _refusal(error, failures) from None  # unchained: Google may quote the key ("Consumer 'api_key:…'")
    except credentials.TransportError as error:
        raise TryAgain("model_down", f"Google's sign-in cannot be reached: {type(error).__name__}") from error
    except credentials.GoogleAuthError as error:
        raise failures.key_refused(type(error).__name__) from None  # unchained: the error may quote credentials
    except TimeoutError as error:
        raise failures.timed_out() from error
    except OUTAGES as error:
        is_body = isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError)
        raise (failures.unreadable() if is_body else failures.unreachable(error)) from error


def cause_of(error: Exception, failures: Failures) -> str:
    """A failure for the log, without the key."""
    if isinstance(error, errors.APIError):
        return f"{error.code} {failures.quoted(_message_of(error))}"
    return type(error).__name__


def _refusal(error: errors.APIError, failures: Failures) -> ModelError:
    """The ``ModelError`` for an error of Google's: a bad key is a 400, and a 429 has its delay in the body."""
    status, details = error.code or 500, _details(error.details)
    if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
        return failures.key_refused(status)
    return failures.refusal(status, message=_message_of(error), after=_delay(details, error.response))


def _message_of(error: errors.APIError) -> str:
    return TOKEN.sub("[token]", str(error.message))


def _details(body: Any) -> list[dict[str, Any]]:
    inner = body.get("error") if isinstance(body, dict) else None
    details = inner.get("details") if isinstance(inner, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _delay(details: list[dict[str, Any]], response: Any) -> float | None:
    """Seconds to wait, by RetryInfo (``"48s"``), or by the Retry-After of a proxy."""
    asked = [str(detail["retryDelay"]).removesuffix("s") for detail in details if "retryDelay" in detail]
    if response is not None and "retry-after" in response.headers:
        asked.append(response.headers["retry-after"])
    try:
        return float(asked[0]) if asked else None
    except ValueError:
        return None
