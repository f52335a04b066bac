"""The webhook: signature over the raw body, JSON, then the reader. The event is stored before the
200.

Events are decoded one by one: an event that cannot be read does not cost the others.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping

import structlog
from msgspec import DecodeError
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from bot.channels import Accept, InboundEvent
from bot.channels.line.events import Reader
from bot.channels.line.own_messages import OwnMessages
from bot.channels.line.types import Event, Webhook, chat_of
from bot.channels.traffic import TrafficRecorder
from bot.errors import StoreUnavailable
from bot.http import read_body
from toolset.web.decoding import decode_json

log = structlog.stdlib.get_logger(__name__)

PATH = "/webhooks/line"
MAX_BODY = 1024 * 1024
RETRY_AFTER_S = "2"


class WebhookReceiver:
    """The webhook endpoint.

    Args:
        clock: milliseconds since the epoch.
        own_messages: read over connections that no turn uses.
    """

    def __init__(
        self,
        accept: Accept,
        secret: str,
        reader: Reader,
        traffic: TrafficRecorder,
        clock: Callable[[], int],
        own_messages: OwnMessages,
    ) -> None:
        self._accept = accept
        self._secret = secret
        self._reader = reader
        self._traffic = traffic
        self._clock = clock
        self._own_messages = own_messages

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await read_body(request, MAX_BODY)
        if body is None:
            return Response(status_code=413)
        if not is_signed(self._secret, request.headers, body):
            self._traffic.record_bad_signature(self._clock())
            return Response(status_code=400)
        try:
            webhook = read_webhook(body)
        except ValueError as error:
            log.warning("webhook.unreadable", cause=str(error))
            return Response(status_code=400)
        return await self._accept_events(webhook)

    async def _accept_events(self, webhook: Webhook) -> Response:
        received_at = self._clock()
        self._traffic.record_webhook(received_at)
        try:
            for event in read_events(webhook):
                if event.delivery_context.is_redelivery:
                    self._traffic.record_redelivery(received_at)
                if read := self._reader.read_event(webhook.destination, event, received_at):
                    await self._accept_one(*read)
        except StoreUnavailable:
            self._traffic.record_refusal(received_at)
            return Response(status_code=503, headers={"Retry-After": RETRY_AFTER_S})
        return Response()

    async def _accept_one(self, conversation: str, arrival: InboundEvent) -> None:
        """Accept one event. To quote the bot is to call it."""
        if arrival.unmentioned and arrival.quotes:
            is_called = await self._own_messages.turn_of(chat_of(conversation), arrival.quotes)
            arrival = replace(arrival, unmentioned=not is_called)
        await self._accept(conversation, arrival)


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether LINE signed this body with the channel secret."""
    expected = base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256))
    return hmac.compare_digest(expected, headers.get("x-line-signature", "").encode())


def read_webhook(body: bytes) -> Webhook:
    """The body, with its events not decoded yet.

    Raises:
        ValueError: the body is not JSON in UTF-8, or not a webhook.
    """
    body.decode()  # the events are decoded later, but broken UTF-8 spoils the whole body
    return decode_json(body, Webhook)


def read_events(webhook: Webhook) -> Iterator[Event]:
    """The events that can be read, in order."""
    for raw in webhook.events:
        try:
            yield decode_json(bytes(raw), Event)
        except DecodeError as error:
            log.warning("webhook.event_unreadable", cause=str(error))
