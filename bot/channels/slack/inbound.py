"""The webhook: signature over the raw body, JSON or a form, then Bolt. The event is stored before
the 200."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from slack_bolt.app.async_app import AsyncApp
from starlette.requests import Request
from starlette.responses import Response

from bot.channels.slack.transport import dispatch
from bot.channels.traffic import TrafficRecorder
from bot.errors import BadInput
from bot.http import read_body
from toolset.web.decoding import decode_json

PATH = "/webhooks/slack"
MAX_BODY = 1024 * 1024
FRESH_S = 300
FORMS = ("payload", "command", "ssl_check")  # one of them is in every form Slack sends


class WebhookReceiver:
    """The webhook endpoint.

    Args:
        app: passes payloads to their listeners.
    """

    def __init__(self, app: AsyncApp, secret: str, traffic: TrafficRecorder) -> None:
        self._app = app
        self._secret = secret
        self._traffic = traffic

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await read_body(request, MAX_BODY)
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
        response = await dispatch(self._app, payload)
        return Response(response.body, response.status, response.first_headers_without_set_cookie())


def is_signed(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """Whether Slack signed this body within the last five minutes."""
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not (
        timestamp.isascii()
        and timestamp.isdecimal()
        and abs(now_s - int(timestamp[:20])) <= FRESH_S
    ):
        return False
    expected = hmac.new(
        secret.encode(), b"v0:%b:%b" % (timestamp.encode(), body), hashlib.sha256
    ).hexdigest()
    given = headers.get("x-slack-signature", "")
    return hmac.compare_digest(f"v0={expected}".encode(), given.encode("utf-8", "replace"))


def read_payload(body: bytes) -> dict[str, Any]:
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
