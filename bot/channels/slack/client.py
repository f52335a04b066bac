"""Slack's Web API over one session: one call, one response. Slack's refusals are translated here.

Calls of every turn are posted without the SDK, whose calls take half as much CPU time again: each
joins addresses, copies headers and prepares retries.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import DeliverLater, DeliveryRefused, TokenRefused
from bot.http import read_beginning
from bot.transcript import encode
from toolset.web.decoding import decode_json
from toolset.web.json_values import as_object

log = structlog.stdlib.get_logger(__name__)

CALL_S = 10.0
MAX_ANSWER = 32 * 1024 * 1024  # bytes; 100 of the longest answers, with their blocks, have 15 MiB
AWAY_S = 5.0  # before an API that is down is called again
WAIT_S = 30.0  # if a refusal for too many calls names no time
RATE_LIMITED = ("ratelimited", "rate_limited")
FAILURES = (aiohttp.ClientError, TimeoutError, OSError)
# The methods of every turn: what shows that Kaiwa works, and the answer, posted or streamed.
EVERY_TURN = (
    "assistant.threads.setStatus",
    "chat.postMessage",
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.update",
)
JSON = {"Content-Type": "application/json; charset=utf-8"}
TOKEN_ERRORS = ("invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive")
TRANSIENT_ERRORS = (
    "fatal_error",
    "internal_error",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
)
THREAD_ERRORS = (
    "invalid_thread_ts",
    "message_not_found",
    "thread_not_found",
)  # its first message is gone
FIRST_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """Slack's response.

    Attributes:
        scopes: of the token, comma-separated; empty if Slack does not name them.
        retry_after: seconds to wait, 0 unless there were too many calls.
    """

    data: dict[str, Any]
    scopes: str = ""
    retry_after: float = 0.0
    ok: bool = field(init=False)
    error: str = field(init=False)

    def __post_init__(self) -> None:
        ok = self.data.get("ok") is True
        object.__setattr__(self, "ok", ok)
        object.__setattr__(
            self, "error", "" if ok else str(self.data.get("error", "unknown_error"))
        )


def quiet_logger() -> logging.Logger:
    """A disabled logger for the SDK, which logs signatures, bodies and tickets."""
    logger = logging.getLogger("bot.channels.slack.sdk")
    logger.disabled = True
    logger.setLevel(logging.CRITICAL)
    return logger


class Client:
    """The API with the bot's token, or the app's. Enter it before the first call.

    Attributes:
        sdk: for Bolt and Socket Mode.
    """

    def __init__(self, token: str, base_url: str) -> None:
        self.sdk = AsyncWebClient(
            token, base_url, logger=quiet_logger(), retry_handlers=[], timeout=round(CALL_S)
        )
        self._headers = self.sdk.headers | {"Authorization": f"Bearer {self.sdk.token}"} | JSON

    async def __aenter__(self) -> Client:
        self.sdk.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=CALL_S), response_class=_SdkResponse
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The HTTP session, also used for files and response URLs."""
        # a mistake of the caller
        assert self.sdk.session is not None, "the channel is not open"  # noqa: S101
        return self.sdk.session

    async def get(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method by GET.

        Raises:
            DeliverLater: Slack does not answer as an API does.
        """
        return await self._ask(method, http_verb="GET", params=arguments)

    async def post(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method by POST.

        Raises:
            DeliverLater: Slack does not answer as an API does; it may have done what was asked.
        """
        given = _without_none(arguments)
        if method in EVERY_TURN:
            return await self._post(method, given)
        return await self._ask(method, json=given)

    async def try_post(self, method: str, **arguments: object) -> str:
        """Call a method by POST that may fail; the cause if it did, empty if not."""
        try:
            return (await self.post(method, **arguments)).error
        except DeliverLater as later:
            return str(later)

    async def post_form(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method that takes no JSON by POST: a GET whose answer is lost would be sent again.

        Raises:
            DeliverLater: Slack does not answer as an API does; it may have done what was asked.
        """
        return await self._ask(method, params=arguments)

    async def post_checked(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method by POST for a delivery.

        Raises:
            DeliverLater: the same call may succeed later.
        """
        response = await self.post(method, **arguments)
        if is_transient(response):
            raise delivery_error(method, response)
        return response

    async def respond(self, url: str, **message: object) -> bool:
        """Post for one person alone by a response URL, beside what is there; false if it has
        expired or is used up.

        Raises:
            DeliverLater: Slack does not answer, or asks to wait.
        """
        payload = {
            "response_type": "ephemeral",
            "replace_original": False,
            **_without_none(message),
        }
        try:
            async with self.session.post(url, json=payload, allow_redirects=False) as response:
                status = response.status
        except FAILURES as error:
            raise DeliverLater(f"response_url: {type(error).__name__}", AWAY_S) from error
        if status == 429 or status >= 500:
            raise DeliverLater(f"response_url: status {status}", AWAY_S)
        return status == 200

    async def try_respond(self, url: str, text: str) -> None:
        """The same for a sentence that may get lost."""
        try:
            await self.respond(url, text=text)
        except DeliverLater as later:
            log.warning("slack.ephemeral_refused", cause=str(later))

    async def _ask(self, method: str, **request: Any) -> ApiResponse:
        """Call a method by the SDK, once."""
        try:
            answer = await self.sdk.api_call(method, **request)
        except SlackApiError as error:
            answer = error.response
        except FAILURES as error:
            raise DeliverLater(f"{method}: {type(error).__name__}", AWAY_S) from error
        return _read(method, answer.status_code, answer.headers, as_object(answer.data))

    async def _post(self, method: str, arguments: dict[str, object]) -> ApiResponse:
        """Post a request once: a message that may have been posted is looked for before it is
        posted again."""
        url, body = self.sdk.base_url + method, encode(arguments)
        try:
            async with self.session.post(
                url, headers=self._headers, proxy=self.sdk.proxy, data=body
            ) as response:
                answer = await read_beginning(response, MAX_ANSWER)
        except FAILURES as error:
            raise DeliverLater(f"{method}: {type(error).__name__}", AWAY_S) from error
        return _read(method, response.status, response.headers, _object(answer))


class _SdkResponse(aiohttp.ClientResponse):
    """A response that the SDK reads as we do: it would read any number of bytes."""

    async def read(self) -> bytes:
        return await read_beginning(self, MAX_ANSWER)

    async def json(self, **_: Any) -> dict[str, Any]:
        return _object(await self.read())

    async def text(self, *_: Any, **__: Any) -> Any:
        # The SDK takes plain text for an answer too.
        return await self.json()


def _object(body: bytes) -> dict[str, Any]:
    """The object that a body is; empty for another one, as an outage has a page of HTML."""
    with suppress(ValueError):
        return decode_json(body, dict[str, Any])
    return {}


def _read(
    method: str, status: int, headers: Mapping[str, str], data: dict[str, Any]
) -> ApiResponse:
    scopes = headers.get("x-oauth-scopes", "")
    if status == 200 and data.get("ok"):
        return ApiResponse(data, scopes)
    if status == 429 or data.get("error") in RATE_LIMITED:
        wait = headers.get("Retry-After", "")[:9]  # Python converts at most 4,300 digits
        if not wait.isdecimal():
            wait = ""
        return ApiResponse({"error": "ratelimited"}, retry_after=float(wait or 0) or WAIT_S)
    if status >= 500 or "error" not in data:
        raise DeliverLater(f"{method}: status {status}", AWAY_S)
    return ApiResponse(data, scopes)


def _without_none(arguments: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if value is not None}


def is_transient(response: ApiResponse) -> bool:
    """Whether the same call may succeed later."""
    return response.retry_after > 0 or response.error in (*TOKEN_ERRORS, *TRANSIENT_ERRORS)


def refuses_channel(response: ApiResponse) -> bool:
    """Whether the same call would be refused for other messages of the channel too."""
    return not (response.ok or is_transient(response) or response.error in THREAD_ERRORS)


def delivery_error(method: str, response: ApiResponse) -> DeliverLater | DeliveryRefused:
    """A refusal as the delivery's error."""
    if response.retry_after:
        return DeliverLater(f"{method}: too many calls", response.retry_after)
    if response.error in TOKEN_ERRORS:
        return TokenRefused(f"{method}: SLACK_BOT_TOKEN was refused ({response.error}), replace it")
    if response.error in TRANSIENT_ERRORS:
        return DeliverLater(f"{method}: {response.error}", FIRST_WAIT_S)
    needed = f" (needs {response.data['needed']})" if "needed" in response.data else ""
    return DeliveryRefused(f"{method}: {response.error}{needed}")
