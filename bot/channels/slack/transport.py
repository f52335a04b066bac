"""Bolt, which routes verified payloads to listeners, and Socket Mode, which receives payloads
without a webhook."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import structlog
from slack_bolt.adapter.socket_mode.async_base_handler import AsyncBaseSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.channels import Listens
from bot.channels.slack.client import quiet_logger
from bot.channels.slack.tasks import Timing
from bot.errors import StoreUnavailable
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

ANY = re.compile("")
Payload = dict[str, Any]
Listener = Callable[[Payload], Awaitable[Payload | None]]


class Listeners(NamedTuple):
    """What takes the payloads of each kind, and may return what Slack is answered.

    Attributes:
        submission: of a modal, which closes unless the answer says otherwise.
    """

    event: Listener
    command: Listener
    press: Listener
    shortcut: Listener
    submission: Listener


def bolt_app(client: AsyncWebClient, on: Listeners) -> AsyncApp:
    """An app that answers after its listener: the event is stored before Slack gets the 200.

    Bolt never calls Slack here: ``authorize`` returns the token as it is.
    """
    token = client.token

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

    app = AsyncApp(
        name="kaiwa",
        logger=quiet_logger(),
        client=client,
        authorize=authorize,
        process_before_response=True,
        raise_error_for_unhandled_request=True,
        request_verification_enabled=False,
        ssl_check_enabled=False,
        ignoring_self_events_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    _register(app, on)
    app.error(_failed)
    return app


def _register(app: AsyncApp, on: Listeners) -> None:
    """Have Bolt answer each kind of payload after its listener."""

    async def event(body: Payload) -> None:
        await on.event(body)

    def acknowledged(listener: Listener) -> Callable[[AsyncAck, Payload], Awaitable[None]]:
        async def acknowledge(ack: AsyncAck, body: Payload) -> None:
            await ack(**(await listener(body) or {}))

        return acknowledge

    app.event(ANY)(event)
    app.command(ANY)(acknowledged(on.command))
    app.action({"action_id": ANY})(acknowledged(on.press))
    app.message_shortcut(ANY)(acknowledged(on.shortcut))
    app.view_submission(ANY)(acknowledged(on.submission))


async def dispatch(app: AsyncApp, payload: dict[str, Any]) -> BoltResponse:
    """Pass a payload to its listener; 200 if there is none, 503 if the store does not answer."""
    if not _is_routable(payload):
        return BoltResponse(status=200)
    try:
        # In this mode Bolt takes the payload parsed; the webhook endpoint has checked its
        # signature.
        request = AsyncBoltRequest(body=payload, mode="socket_mode")
    except (AttributeError, KeyError, TypeError):
        log.warning("webhook.unreadable", type=str(payload.get("type"))[:40])
        return BoltResponse(status=200)
    return await app.async_dispatch(request)


def _is_routable(payload: dict[str, Any]) -> bool:
    """Whether there is a listener for the payload, and Bolt can read it."""
    event, actions = payload.get("event"), payload.get("actions")
    if payload.get("type") == "event_callback":
        return isinstance(event, dict) and isinstance(event.get("type"), str)
    if payload.get("type") == "block_actions":
        pressed = actions[0] if isinstance(actions, list) and actions else None
        return (
            isinstance(pressed, dict)
            and isinstance(pressed.get("action_id"), str)
            and "command" not in payload
        )
    if payload.get("type") in ("message_action", "view_submission"):
        named = payload if payload["type"] == "message_action" else payload.get("view")
        is_named = (
            isinstance(named, dict)
            and isinstance(named.get("callback_id"), str)
            and "type" in named
        )
        return is_named and "command" not in payload
    return payload.get("type") == "url_verification" or isinstance(payload.get("command"), str)


async def _failed(error: Exception) -> BoltResponse:
    if isinstance(error, BoltUnhandledRequestError):
        return BoltResponse(status=200)
    if isinstance(error, StoreUnavailable):
        return BoltResponse(status=503)
    log.error("webhook.event_failed", exc_info=error)
    return BoltResponse(status=500)


class _Client(SocketModeClient):
    """The SDK's client, with a URL that expires: the SDK would retry an expired URL for ever."""

    _address: str | None = None
    _address_until = 0.0

    def __init__(self, app: AsyncApp, app_token: str, timing: Timing) -> None:
        self._ticket_s = timing.ticket_s
        super().__init__(
            app_token, logger=quiet_logger(), web_client=app.client, ping_interval=timing.ping_s
        )

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
            log.error("slack.socket_refused", cause=str(error.response.get("error")))
            raise

    async def connect(self) -> None:
        await super().connect()  # type: ignore[no-untyped-call]  # not annotated by the SDK
        if not self.closed:
            log.info("slack.socket_connected")


class SocketMode(AsyncBaseSocketModeHandler):
    """Passes envelopes to Bolt and acknowledges each once it is stored."""

    app: AsyncApp
    client: _Client

    def __init__(self, app: AsyncApp, app_token: str, timing: Timing) -> None:
        self.app = app
        self.client = _Client(app, app_token, timing)
        self.client.socket_mode_request_listeners.append(self.handle)

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        """Handle one envelope; Slack sends it again if it is not acknowledged."""
        response = await dispatch(self.app, req.payload)
        await send_async_response(client, req, response, time.time())


def open_socket(
    app: AsyncApp, app_token: str, timing: Timing, listens: Listens
) -> AbstractAsyncContextManager[None]:
    """Receive by Socket Mode, while the context is open and ``listens`` allows it."""
    return run_beside(_receive(app, app_token, timing, listens))


async def _receive(app: AsyncApp, app_token: str, timing: Timing, listens: Listens) -> None:
    async with listens():
        handler = SocketMode(app, app_token, timing)
        try:
            await handler.client.connect()
            await asyncio.Event().wait()
        finally:
            # not annotated by the SDK
            await handler.client.close()  # type: ignore[no-untyped-call]
