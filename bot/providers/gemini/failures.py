"""Google's refusals and the network's failures, translated into ``ModelError``; ``sdk.py`` has
those of the SDK."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, ClassVar

import aiohttp

from bot.errors import ModelError, TryAgain
from bot.http import read_beginning
from bot.providers.shared.failures import Failures, refuses_key
from toolset.web.decoding import decode_json
from toolset.web.json_values import as_object, entries

QUOTA_FAILURE = "google.rpc.QuotaFailure"
# This matches the access tokens of Google.
TOKEN = re.compile(r"ya29\.[\w.-]+")


class ServiceError(Exception):
    """An error that Google answers.

    Args:
        status: 0: the body tells.
        body: decoded.
        response: has headers; None for an error inside a stream.

    Attributes:
        code: of the error; 0 if nothing tells.
        message: without tokens.
        after: seconds to wait, by RetryInfo (``"48s"``), or by the Retry-After of a proxy.
        refuses_key: the key is bad, which Google answers with a 400.
        names_a_limit: a 429 names the model's quota, or says when to try again.
    """

    def __init__(self, status: int, body: Any, response: Any = None) -> None:
        outer = as_object(body)
        inner = as_object(outer.get("error"))
        self.code = status or outer.get("code") or inner.get("code") or 0
        message = str(outer.get("message") or inner.get("message") or "")
        self.message = TOKEN.sub("[token]", message)
        super().__init__(self.code)
        details = entries(inner.get("details"))
        delays = [
            str(one["retryDelay"]).removesuffix("s") for one in details if "retryDelay" in one
        ]
        if response is not None and "retry-after" in response.headers:
            delays.append(response.headers["retry-after"])
        self.after: float | None = None
        with suppress(IndexError, ValueError):
            self.after = float(delays[0])
        has_reason = any(one.get("reason") == "API_KEY_INVALID" for one in details)
        self.refuses_key = has_reason or refuses_key(self.code, "", message)
        has_quota = any(str(one.get("@type")).endswith(QUOTA_FAILURE) for one in details)
        self.names_a_limit = has_quota or self.after is not None


class SignInError(Exception):
    """Google's credentials are missing or refused, or its sign-in cannot be reached
    (``is_outage``)."""

    def __init__(self, kind: str, *, is_outage: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.is_outage = is_outage


async def read_refusal(response: aiohttp.ClientResponse) -> ServiceError:
    """The error that a response holds; its connection is read to the end or closed."""
    text = await read_beginning(response)
    body: Any = None
    with suppress(ValueError):
        body = decode_json(text)
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    # A proxy answers.
    if not isinstance(as_object(body).get("error"), dict):
        body = {"message": text.decode(errors="replace")}
    return ServiceError(response.status, body, response)


class GeminiFailures(Failures):
    """The failures of one model."""

    refusals: ClassVar[tuple[type[Exception], ...]] = (ServiceError, SignInError)
    unreadable: ClassVar[tuple[type[Exception], ...]] = (ValueError,)

    def refused(self, error: ServiceError | SignInError) -> ModelError:
        """Google may quote the key ("Consumer 'api_key:…'")."""
        if isinstance(error, ServiceError):
            status = error.code or 500
            if error.refuses_key:
                return self.key_refused(status)
            return self.refusal(status, message=error.message, after=error.after)
        if error.is_outage:
            return TryAgain("model_down", f"Google's sign-in cannot be reached: {error.kind}")
        return self.key_refused(error.kind)

    def cause_of(self, error: Exception) -> str:
        """A failure for the log, without the key."""
        if isinstance(error, ServiceError):
            return f"{error.code} {self.quoted(error.message)}"
        return type(error).__name__


FAILURES = (*GeminiFailures.refusals, *GeminiFailures.outages, *GeminiFailures.unreadable)
