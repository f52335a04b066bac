"""Slack's Web API over one session: one call, one response. Slack's refusals are translated here.

Calls are made without the SDK, whose calls take half as much CPU time again: each joins addresses,
copies headers and prepares retries. The SDK also reads a response whole before anybody can limit
it. What nobody waits for is done in background tasks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

import aiohttp
import structlog
from slack_sdk.proxy_env_variable_loader import load_http_proxy_from_env

from bot.errors import DeliverLater, DeliveryRefused, TokenRefused
from bot.http import read_beginning
from bot.transcript import encode
from toolset.web.decoding import decode_json

log = structlog.stdlib.get_logger(__name__)

CALL_S = 10.0
MAX_ANSWER = 32 * 1024 * 1024  # bytes; 100 of the longest answers, with their blocks, have 15 MiB
GRACE_S = 3.0  # that running tasks get when the channel closes
AWAY_S = 5.0  # before an API that is down is called again
WAIT_S = 30.0  # if a refusal for too many calls names no time
IDENTIFY = "auth.test"
RATE_LIMITED = ("ratelimited", "rate_limited")
FAILURES = (aiohttp.ClientError, TimeoutError, OSError)
JSON = {"Content-Type": "application/json; charset=utf-8"}
TOKEN_ERRORS = ("invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive")
# The same, and a token of another kind or without a scope.
REFUSES_TOKEN = (*TOKEN_ERRORS, "not_allowed_token_type", "missing_scope", "no_permission")
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


class ApiResponse(NamedTuple):
    """Slack's response.

    Attributes:
        error: what Slack calls it; empty if the call succeeded.
        scopes: of the token, comma-separated; empty if Slack does not name them.
        retry_after: seconds to wait, 0 unless there were too many calls.
    """

    data: dict[str, Any]
    error: str = ""
    scopes: str = ""
    retry_after: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.data.get("ok") is True

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.retry_after > 0 or self.error in (*TOKEN_ERRORS, *TRANSIENT_ERRORS)

    @property
    def refuses_channel(self) -> bool:
        """Whether the same call would be refused for other messages of the channel too."""
        return not (self.ok or self.is_transient or self.error in THREAD_ERRORS)


class Client:
    """The API with the bot's token, or the app's. Enter it before the first call.

    Attributes:
        session: the HTTP session, also used for files and response URLs.
        refusal: why nothing is done with the token; empty for one that is the right workspace's.
    """

    session: aiohttp.ClientSession
    refusal: str = ""

    def __init__(self, token: str, base_url: str) -> None:
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._post_headers = self._headers | JSON

    async def __aenter__(self) -> Client:
        proxy = load_http_proxy_from_env()
        timeout = aiohttp.ClientTimeout(total=CALL_S)
        self.session = aiohttp.ClientSession(timeout=timeout, proxy=proxy)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def get(self, method: str, **arguments: str | int | None) -> ApiResponse:
        """Call a method by GET.

        Raises:
            DeliverLater: Slack does not answer as an API does.
        """
        return await self._call("GET", method, params=_without_none(arguments))

    async def post(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method by POST, once: a message that may have been posted is looked for before it
        is posted again.

        Raises:
            DeliverLater: Slack does not answer as an API does; it may have done what was asked.
        """
        body = encode(_without_none(arguments))
        return await self._call("POST", method, data=body, headers=self._post_headers)

    async def try_post(self, method: str, **arguments: object) -> str:
        """Call a method by POST that may fail; the cause if it did, empty if not."""
        try:
            return (await self.post(method, **arguments)).error
        except DeliverLater as later:
            return str(later)

    async def post_form(self, method: str, **arguments: str | int | None) -> ApiResponse:
        """Call a method that takes no JSON by POST: a GET whose answer is lost would be sent again.

        Raises:
            DeliverLater: Slack does not answer as an API does; it may have done what was asked.
        """
        return await self._call("POST", method, params=_without_none(arguments))

    async def post_checked(self, method: str, **arguments: object) -> ApiResponse:
        """Call a method by POST for a delivery.

        Raises:
            DeliverLater: the same call may succeed later.
        """
        response = await self.post(method, **arguments)
        if response.is_transient:
            raise delivery_error(method, response)
        return response

    async def check_token(self, method: str, variable: str, fix: str) -> ApiResponse:
        """Call a method by POST that only a refused token can make fail for good.

        Args:
            variable: the one that holds the token.
            fix: what to do about a token that Slack does not take.

        Raises:
            TokenRefused: Slack does not take the token, or not for this.
            DeliverLater: the same call may succeed later.
        """
        response = await self.post(method)
        if response.error in REFUSES_TOKEN:
            refusal = f"{variable}: Slack refuses it ({response.error})"
            raise TokenRefused(f"{refusal}; {fix}, then run kaiwa doctor")
        if not response.ok:
            raise DeliverLater(f"{method}: {response.error}", response.retry_after or AWAY_S)
        return response

    async def respond(self, url: str, **message: object) -> bool:
        """Post for one person alone by a response URL, beside what is there; false if it has
        expired or is used up.

        Raises:
            DeliverLater: Slack does not answer, or asks to wait.
        """
        alone = {"response_type": "ephemeral", "replace_original": False}
        return await self.send("response_url", url, json=alone | _without_none(message)) == 200

    async def try_respond(self, url: str, text: str) -> None:
        """The same for a sentence that may get lost."""
        try:
            await self.respond(url, text=text)
        except DeliverLater as later:
            log.warning("slack.ephemeral_refused", cause=str(later))

    async def send(self, name: str, url: str, **content: Any) -> int:
        """Post to a URL that Slack has named; the status of the answer.

        Raises:
            DeliverLater: Slack does not answer, or asks to wait.
        """
        try:
            async with self.session.post(url, allow_redirects=False, **content) as response:
                status = response.status
        except FAILURES as error:
            raise DeliverLater(f"{name}: {type(error).__name__}", AWAY_S) from error
        if status == 429 or status >= 500:
            raise DeliverLater(f"{name}: status {status}", AWAY_S)
        return status

    async def _call(self, verb: str, method: str, **request: Any) -> ApiResponse:
        if self.refusal and method != IDENTIFY:
            raise TokenRefused(self.refusal)
        request.setdefault("headers", self._headers)
        try:
            async with self.session.request(verb, self._base_url + method, **request) as response:
                body = await read_beginning(response, MAX_ANSWER)
        except FAILURES as error:
            raise DeliverLater(f"{method}: {type(error).__name__}", AWAY_S) from error
        data: dict[str, Any] = {}
        with suppress(ValueError):  # an outage has a page of HTML
            data = decode_json(body, dict[str, Any])
        scopes = response.headers.get("x-oauth-scopes", "")
        if response.status == 200 and data.get("ok") is True:
            return ApiResponse(data, scopes=scopes)
        if response.status == 429 or data.get("error") in RATE_LIMITED:
            wait = response.headers.get("Retry-After", "")[:9]  # Python converts 4,300 digits
            wait_s = float(wait) if wait.isdecimal() else 0.0
            return ApiResponse({}, "ratelimited", retry_after=wait_s or WAIT_S)
        if response.status >= 500 or "error" not in data:
            raise DeliverLater(f"{method}: status {response.status}", AWAY_S)
        return ApiResponse(data, str(data["error"]), scopes)


def _without_none(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def delivery_error(method: str, response: ApiResponse) -> DeliverLater | DeliveryRefused:
    """A refusal as the delivery's error."""
    if response.retry_after:
        return DeliverLater(f"{method}: too many calls", response.retry_after)
    if response.error in TOKEN_ERRORS:
        return TokenRefused(f"{method}: SLACK_BOT_TOKEN was refused ({response.error}), replace it")
    if response.error in TRANSIENT_ERRORS:
        return DeliverLater(f"{method}: {response.error}", AWAY_S)
    needed = f" (needs {response.data['needed']})" if "needed" in response.data else ""
    return DeliveryRefused(f"{method}: {response.error}{needed}")


def misplaced(team: str, identified: ApiResponse) -> str:
    """Why a token is not to be used for a workspace; empty for its own, and where none is named."""
    if team in ("", identified.data.get("team_id")):
        return ""
    return f"slack_bot_tokens: the token of {team} is another workspace's"


class Pauses:
    """Times until which something is not tried, by its name."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def left_s(self, name: str) -> float:
        """Seconds; 0 once they are over."""
        return max(self._until.get(name, 0.0) - time.monotonic(), 0.0)

    def begin(self, name: str, seconds: float) -> None:
        """Begin anew."""
        now = time.monotonic()
        self._until = {paused: until for paused, until in self._until.items() if until > now}
        self._until[name] = now + seconds


class BackgroundTasks:
    """Tasks of the channel; ``close`` ends them.

    Args:
        grace_s: how long running tasks may go on after ``close``.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; its failure is only logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("slack.task_failed", cause=type(error).__name__, exc_info=error)

    async def join(self) -> None:
        """Wait until no task runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Give running tasks a moment, then cancel them."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event for at most ``seconds``."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
