"""Google's refusals and the network's failures, translated into ``ModelError``; ``sdk.py`` has
those of the SDK."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import aiohttp

from bot.errors import ModelError, TryAgain
from bot.http import read_beginning
from bot.providers.shared import failures as shared
from bot.providers.shared.failures import Failures
from toolset.web.decoding import decode_json
from toolset.web.json_values import as_object, entries

QUOTA_FAILURE = "google.rpc.QuotaFailure"
# This matches the access tokens of Google.
TOKEN = re.compile(r"ya29\.[\w.-]+")

# ValueErrors are of bodies that cannot be read; pydantic's and the SDK's own are among them.
OUTAGES = (aiohttp.ClientError, OSError, ValueError)


class ServiceError(Exception):
    """An error that Google answers.

    Args:
        status: 0: the body tells.
        details: the decoded body.

    Attributes:
        code: of the error; 0 if nothing tells.
        response: has headers; None for an error inside a stream.
    """

    def __init__(self, status: int, details: Any, response: Any = None) -> None:
        self.details = details
        self.response = response
        body = as_object(details)
        inner = as_object(body.get("error"))
        self.code = status or body.get("code") or inner.get("code") or 0
        self.message = str(body.get("message") or inner.get("message") or "")
        super().__init__(self.code)


class SignInError(Exception):
    """Google's credentials are missing or refused, or its sign-in cannot be reached
    (``is_outage``)."""

    def __init__(self, kind: str, *, is_outage: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.is_outage = is_outage


FAILURES = (ServiceError, SignInError, *OUTAGES)


async def read_refusal(response: aiohttp.ClientResponse) -> ServiceError:
    """The error that a response holds; its connection is read to the end or closed."""
    text = await read_beginning(response)
    details: Any = None
    with suppress(ValueError):
        details = decode_json(text)
    if isinstance(details, list) and len(details) == 1:
        details = details[0]
    # A proxy answers.
    if not (isinstance(details, dict) and isinstance(details.get("error"), dict)):
        details = {"message": text.decode(errors="replace"), "status": response.reason}
    return ServiceError(response.status, details, response)


@contextmanager
def translating(failures: Failures) -> Iterator[None]:
    """Translate exceptions raised inside; no text of a translation holds the key.

    Raises:
        ModelError: for each of ``FAILURES``.
    """
    try:
        yield
    except ServiceError as error:
        # The error is not chained: Google may quote the key ("Consumer 'api_key:…'").
        raise _refusal(error, failures) from None
    except SignInError as error:
        if error.is_outage:
            raise TryAgain(
                "model_down", f"Google's sign-in cannot be reached: {error.kind}"
            ) from error
        raise failures.key_refused(error.kind) from None
    except TimeoutError as error:
        raise failures.timed_out() from error
    except OUTAGES as error:
        is_body = isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError)
        if is_body:
            raise failures.unreadable() from error
        raise failures.unreachable(error) from error


def cause_of(error: Exception, failures: Failures) -> str:
    """A failure for the log, without the key."""
    if isinstance(error, ServiceError):
        return f"{error.code} {failures.quoted(_message_of(error))}"
    return type(error).__name__


def refuses_key(error: ServiceError) -> bool:
    """Whether the key is bad, which Google answers with a 400."""
    has_reason = any(
        detail.get("reason") == "API_KEY_INVALID" for detail in _details(error.details)
    )
    return has_reason or shared.refuses_key(error.code, "", error.message)


def names_a_limit(error: ServiceError) -> bool:
    """Whether a 429 names the model's quota, or says when to try again."""
    details = _details(error.details)
    has_quota = any(str(detail.get("@type")).endswith(QUOTA_FAILURE) for detail in details)
    return has_quota or _delay(details, error.response) is not None


def _refusal(error: ServiceError, failures: Failures) -> ModelError:
    """The ``ModelError`` for an error of Google's: a bad key is a 400, and a 429 has its delay in
    the body."""
    status = error.code or 500
    if refuses_key(error):
        return failures.key_refused(status)
    return failures.refusal(
        status, message=_message_of(error), after=_delay(_details(error.details), error.response)
    )


def _message_of(error: ServiceError) -> str:
    return TOKEN.sub("[token]", error.message)


def _details(body: Any) -> list[dict[str, Any]]:
    return entries(as_object(as_object(body).get("error")).get("details"))


def _delay(details: list[dict[str, Any]], response: Any) -> float | None:
    """Seconds to wait, by RetryInfo (``"48s"``), or by the Retry-After of a proxy."""
    asked = [
        str(detail["retryDelay"]).removesuffix("s") for detail in details if "retryDelay" in detail
    ]
    if response is not None and "retry-after" in response.headers:
        asked.append(response.headers["retry-after"])
    if not asked:
        return None
    try:
        return float(asked[0])
    except ValueError:
        return None
