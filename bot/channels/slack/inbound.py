"""What Slack sends: by a webhook, with a signature over the raw body, or by Socket Mode. It is
stored before Slack gets its answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.channels import Host
from bot.channels.slack.client import TOKEN_ERRORS
from bot.channels.slack.config import FIX_OF_APP, Config, Timing
from bot.channels.traffic import TrafficRecorder
from bot.errors import BadInput, StoreUnavailable
from bot.http import read_body
from toolset.web.decoding import decode_json

log = structlog.stdlib.get_logger(__name__)

PATH = "/webhooks/slack"
FRESH_S = 300
CALL_S = 10
FORMS = ("payload", "command", "ssl_check")  # one of them is in every form Slack sends

Payload = dict[str, Any]
Receive = Callable[[Payload], Awaitable[Payload]]  # returns what Slack is answered


class WebhookReceiver:
    """The webhook endpoint.

    Args:
        receive: takes an event, an interaction or a command.
    """

    def __init__(self, receive: Receive, secret: str, traffic: TrafficRecorder) -> None:
        self._receive = receive
        self._secret = secret
        self._traffic = traffic

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await read_body(request)
        if body is None:
            return Response(status_code=413)
        now_s = time.time()
        if not is_signed(self._secret, request.headers, body, now_s):
            self._traffic.record("bad_signature", round(now_s * 1_000))
            return Response(status_code=401)
        try:
            payload = read_payload(body)
        except BadInput:
            return Response(status_code=400)
        status, answer = await _answer(self._receive, payload)
        return JSONResponse(answer) if answer else Response(status_code=status)


async def _answer(receive: Receive, payload: Payload) -> tuple[int, Payload]:
    """The status and the body of the answer; Slack sends what gets none of 200 again."""
    try:
        return 200, await receive(payload)
    except StoreUnavailable:
        return 503, {}
    except Exception as error:
        log.error("webhook.event_failed", exc_info=error)
        return 500, {}


def path_of(account: str) -> str:
    """The path of an account's webhook."""
    return f"{PATH}/{account}" if account else PATH


def is_signed(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """Whether Slack signed this body within the last five minutes."""
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not timestamp.isdecimal() or abs(now_s - int(timestamp[:20])) > FRESH_S:
        return False
    signed = b"v0:%b:%b" % (timestamp.encode(), body)
    expected = f"v0={hmac.digest(secret.encode(), signed, hashlib.sha256).hex()}"
    given = headers.get("x-slack-signature", "")
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


def read_payload(body: bytes) -> Payload:
    """An event, an interaction or a command.

    Raises:
        BadInput: it is none of them.
    """
    try:
        text = body.decode()
        payload = decode_json(text) if text.lstrip().startswith(("{", "[")) else _read_form(text)
    except ValueError as error:
        raise BadInput("neither JSON nor a form") from error
    if not isinstance(payload, dict):
        raise BadInput("not an object")
    return payload


def _read_form(text: str) -> object:
    fields = dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100))
    if not fields.keys() & FORMS:
        raise BadInput("not a form of Slack's")
    return decode_json(fields["payload"]) if "payload" in fields else fields


class SocketMode(SocketModeClient):
    """The SDK's client, with a URL that expires: the SDK would retry an expired URL for ever. Each
    envelope is acknowledged once it is stored; Slack sends it again if it is not."""

    _address: str | None = None
    _address_until = 0.0
    _refusal = ""

    def __init__(self, receive: Receive, config: Config, timing: Timing, host: Host) -> None:
        logger = logging.getLogger("bot.channels.slack.sdk")
        logger.disabled = True  # the SDK logs bodies and tickets
        self._receive = receive
        self._notify = partial(host.notify, platform=host.channel("slack"))
        self._ticket_s = timing.ticket_s
        web = AsyncWebClient(
            base_url=config.slack_api_base_url, logger=logger, retry_handlers=[], timeout=CALL_S
        )
        token = config.slack_app_token.get_secret_value()
        super().__init__(token, logger, web, ping_interval=timing.ping_s)
        self.socket_mode_request_listeners.append(self.handle)

    @property  # type: ignore[override]  # the SDK has no URL at first, either
    def wss_uri(self) -> str | None:
        return self._address if time.monotonic() < self._address_until else None

    @wss_uri.setter
    def wss_uri(self, address: str | None) -> None:
        self._address, self._address_until = address, time.monotonic() + self._ticket_s

    async def issue_new_wss_url(self) -> str:
        try:
            return await super().issue_new_wss_url()
        except SlackApiError as error:
            await self._report(str(error.response.get("error")))
            raise
        except (AttributeError, LookupError, TypeError, ValueError):  # the answer is no object
            await self._report("an answer that cannot be read")
            raise

    async def _report(self, cause: str) -> None:
        """Report a refusal; the SDK tries again every few seconds, which is no news."""
        if cause == self._refusal:
            return
        self._refusal = cause
        log.error("slack.socket_refused", cause=cause)
        if cause in TOKEN_ERRORS:
            detail = f"SLACK_APP_TOKEN was refused ({cause}), {FIX_OF_APP}"
            await self._notify("token_refused", detail)

    async def connect(self) -> None:
        await super().connect()  # type: ignore[no-untyped-call]  # not annotated by the SDK
        if not self.closed:
            self._refusal = ""
            log.info("slack.socket_connected")

    async def handle(self, _: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Handle one envelope."""
        status, answer = await _answer(self._receive, request.payload)
        if status == 200:
            response = SocketModeResponse(request.envelope_id, answer or None)
            await self.send_socket_mode_response(response)


async def receive_by_socket(receive: Receive, config: Config, timing: Timing, host: Host) -> None:
    """Receive by Socket Mode until this is cancelled."""
    client = SocketMode(receive, config, timing, host)
    try:
        await client.connect()
        await asyncio.Event().wait()
    finally:
        # not annotated by the SDK
        await client.close()  # type: ignore[no-untyped-call]
