"""The webhook: signature, reading, the durable write, 200. Nothing else happens before the answer."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from starlette.requests import Request
from starlette.responses import Response

from bot.body import read_body
from bot.channels import Accept
from bot.channels.line.events import Reader
from bot.channels.line.types import Webhook, events_of, is_signed, read_webhook
from bot.channels.traffic import Records
from bot.errors import StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

PATH = "/webhooks/line"
MAX_BODY = 1024 * 1024
RETRY_AFTER_S = "2"


class Door:
    """Takes webhooks in.

    Args:
        clock: milliseconds since the epoch.
    """

    def __init__(self, accept: Accept, secret: str, reader: Reader, records: Records, clock: Callable[[], int]) -> None:
        self._accept = accept
        self._secret = secret.encode()
        self._reader = reader
        self._records = records
        self._clock = clock

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await read_body(request, MAX_BODY)
        if body is None:
            return Response(status_code=413)
        if not is_signed(self._secret, body, request.headers.get("x-line-signature", "")):
            self._records.bad_signature(self._clock())
            return Response(status_code=400)
        try:
            webhook = read_webhook(body)
        except ValueError as error:
            log.warning("webhook.unreadable", cause=str(error))
            return Response(status_code=400)
        return await self._accepted(webhook)

    async def _accepted(self, webhook: Webhook) -> Response:
        received_at = self._clock()
        self._records.webhook(received_at)
        try:
            for event in events_of(webhook):
                if event.delivery_context.is_redelivery:
                    self._records.redelivery(received_at)
                if read := self._reader.read(webhook.destination, event, received_at):
                    await self._accept(*read)
        except StoreUnavailable:
            self._records.refused(received_at)
            return Response(status_code=503, headers={"Retry-After": RETRY_AFTER_S})
        return Response()
