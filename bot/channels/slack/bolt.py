"""Bolt, told apart from the network: it routes what was read and checked already, by webhook or Socket Mode alike."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

ANY = re.compile("")
Listener = Callable[[dict[str, Any]], Awaitable[None]]


def quiet_logger() -> logging.Logger:
    """For the SDK, whose own lines hold signatures, bodies and tickets; what matters is logged by us."""
    logger = logging.getLogger("bot.channels.slack.sdk")
    logger.disabled = True
    logger.setLevel(logging.CRITICAL)
    return logger


def bolt_app(client: AsyncWebClient, on_event: Listener, on_command: Listener, on_press: Listener) -> AsyncApp:
    """An app that answers only when a listener is done: what it has kept is durable before Slack hears of it.

    Bolt never calls Slack here: it takes the token as it is, and who the bot is the listeners know.
    """
    token = client.token

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

    async def event(body: dict[str, Any]) -> None:
        await on_event(body)

    async def command(ack: AsyncAck, body: dict[str, Any]) -> None:
        await on_command(body)
        await ack()

    async def press(ack: AsyncAck, body: dict[str, Any]) -> None:
        await on_press(body)
        await ack()

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
    app.event(ANY)(event)
    app.command(ANY)(command)
    app.action({"action_id": ANY})(press)
    app.error(_failed)
    return app


async def dispatch(app: AsyncApp, payload: dict[str, Any]) -> BoltResponse:
    """Take what Slack sent to its listener; 200 where none cares, 503 where the store is away."""
    if not _is_routable(payload):
        return BoltResponse(status=200)
    try:
        # In this mode Bolt takes the payload parsed; the door has checked its signature.
        request = AsyncBoltRequest(body=payload, mode="socket_mode")
    except (AttributeError, KeyError, TypeError):
        log.warning("webhook.unreadable", type=str(payload.get("type"))[:40])
        return BoltResponse(status=200)
    return await app.async_dispatch(request)


def _is_routable(payload: dict[str, Any]) -> bool:
    """Whether a listener waits for it, in a form that Bolt does not trip over."""
    event, actions = payload.get("event"), payload.get("actions")
    if payload.get("type") == "event_callback":
        return isinstance(event, dict) and isinstance(event.get("type"), str)
    if payload.get("type") == "block_actions":
        pressed = actions[0] if isinstance(actions, list) and actions else None
        return isinstance(pressed, dict) and isinstance(pressed.get("action_id"), str) and "command" not in payload
    return payload.get("type") == "url_verification" or isinstance(payload.get("command"), str)


async def _failed(error: Exception) -> BoltResponse:
    if isinstance(error, BoltUnhandledRequestError):
        return BoltResponse(status=200)
    if isinstance(error, StoreUnavailable):
        return BoltResponse(status=503)
    log.error("webhook.event_failed", exc_info=error)
    return BoltResponse(status=500)
