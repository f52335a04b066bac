"""Socket Mode: the same events over a connection that the bot opens itself, so it needs no public address."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from slack_bolt.adapter.socket_mode.async_base_handler import AsyncBaseSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.channels.slack.background import during
from bot.channels.slack.bolt import dispatch, quiet_logger
from bot.channels.slack.options import Options

log = structlog.stdlib.get_logger(__name__)


class _Client(SocketModeClient):
    """The SDK's client, which keeps trying one address for ever unless it is forgotten."""

    _address: str | None = None
    _address_until = 0.0

    def __init__(self, app: AsyncApp, options: Options) -> None:
        self._ticket_s = options.timing.ticket_s
        super().__init__(
            options.app_token, logger=quiet_logger(), web_client=app.client, ping_interval=options.timing.ping_s
        )

    @property  # type: ignore[override]  # the SDK has no address at first, either
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
    """Takes envelopes to Bolt and acknowledges each once it is durably kept."""

    app: AsyncApp
    client: _Client

    def __init__(self, app: AsyncApp, options: Options) -> None:
        self.app = app
        self.client = _Client(app, options)
        self.client.socket_mode_request_listeners.append(self.handle)

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        """Take one envelope; what is not acknowledged Slack sends again."""
        response = await dispatch(self.app, req.payload)
        await send_async_response(client, req, response, time.time())


@asynccontextmanager
async def listening(app: AsyncApp, options: Options) -> AsyncGenerator[None]:
    """Be connected, in the background and for as long as the context lasts."""
    handler = SocketMode(app, options)
    try:
        async with during(handler.client.connect()):
            yield
    finally:
        await handler.client.close()  # type: ignore[no-untyped-call]  # not annotated by the SDK
