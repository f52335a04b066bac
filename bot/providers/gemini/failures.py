"""Every way in which google-genai and the network fail, as what it means to the caller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx
from google.auth import exceptions as credentials
from google.genai import errors

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.providers.shared.failures import too_long

PASSING = {408, 425}  # and every 5xx
WORDS_CAP = 300  # characters of Google's own words in a cause
TOKEN = re.compile(r"ya29\.[\w.-]+")  # what Google's access tokens look like

# ValueError is what the SDK raises for a body it cannot read, pydantic's and its own classes included.
OUTAGES = (
    errors.ContinuationInterruptedError,
    aiohttp.ClientError,
    httpx.HTTPError,
    httpx.StreamError,
    OSError,
    ValueError,
)
FAILURES = (errors.APIError, credentials.GoogleAuthError, *OUTAGES)


@dataclass(frozen=True, slots=True)
class Access:
    """How somebody is let in.

    Attributes:
        refused: what the operator hears where nobody is, with a place for the status.
        secret: the key, which no text may hold.
        asker: the variable that names the model.
    """

    model: str
    refused: str
    secret: str = ""
    asker: str = "MODEL"


@contextmanager
def translating(access: Access) -> Iterator[None]:
    """Turn what is raised inside into ``bot.errors``; no text of it holds the key.

    Raises:
        ModelError: whatever went wrong.
    """
    try:
        yield
    except (
        errors.APIError
    ) as error:  # not chained: Google may quote the key ("Consumer 'api_key:…' has been suspended")
        raise _refusal(error, access) from None
    except credentials.TransportError as error:
        raise TryAgain("model_down", f"Google's sign-in cannot be reached: {type(error).__name__}") from error
    except credentials.GoogleAuthError as error:  # not chained: it may quote what was signed in with
        raise ModelUnusable("key_refused", access.refused.format(type(error).__name__)) from None
    except OUTAGES as error:
        raise _outage(error, access.model) from error


def in_words(error: Exception, access: Access) -> str:
    """A failure for the log, without the key."""
    return f"{error.code} {_quoted(error, access)}" if isinstance(error, errors.APIError) else type(error).__name__


def _outage(error: Exception, model: str) -> TryAgain:
    if isinstance(error, TimeoutError):
        return TryAgain("timed_out", f"{model} did not answer in time")
    if isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError):
        return TryAgain("malformed", f"{model} sent something that cannot be read")
    return TryAgain("model_down", f"{model} cannot be reached: {type(error).__name__}")


def _refusal(error: errors.APIError, access: Access) -> ModelError:
    """An error Google answered with. A bad key is a 400, and a 429 has its delay in the body."""
    model, code, details = access.model, error.code or 500, _details(error.details)
    invalid_key = any(detail.get("reason") == "API_KEY_INVALID" for detail in details)
    if invalid_key or code in (401, 403):
        return ModelUnusable("key_refused", access.refused.format(code))
    if code == 404:
        return ModelUnusable("model_unknown", f"{access.asker}: Gemini knows no model {model}; name another")
    if code == 429:
        return TryAgain("rate_limited", f"{model} is over its quota (429)", after=_delay(details, error.response))
    if (long := too_long(model, code, "", str(error.message))) is not None:
        return long
    if code in PASSING or code >= 500:
        return TryAgain("model_down", f"{model} answers {code}", after=_delay(details, error.response))
    return RequestRefused("request_refused", f"{model} refused the request ({code}): {_quoted(error, access)}")


def _quoted(error: errors.APIError, access: Access) -> str:
    words = TOKEN.sub("[token]", str(error.message))
    words = words.replace(access.secret, "[key]") if access.secret else words
    return " ".join(words.split())[:WORDS_CAP]


def _details(body: Any) -> list[dict[str, Any]]:
    inner = body.get("error") if isinstance(body, dict) else None
    details = inner.get("details") if isinstance(inner, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _delay(details: list[dict[str, Any]], response: Any) -> float | None:
    """Seconds to wait: ``"48s"`` in RetryInfo; the header is what a proxy on the way may send."""
    asked = [str(detail["retryDelay"]).removesuffix("s") for detail in details if "retryDelay" in detail]
    if response is not None and "retry-after" in response.headers:
        asked.append(response.headers["retry-after"])
    try:
        return float(asked[0]) if asked else None
    except ValueError:
        return None
