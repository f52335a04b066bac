"""Answers on their way into Slack: posted once, looked for before they are posted again."""

from __future__ import annotations

import asyncio
import time

import structlog

from bot.channels import Delivery
from bot.channels.slack.api import Answer, Api
from bot.channels.slack.events import Address
from bot.channels.slack.words import harmless
from bot.errors import DeliverLater, DeliveryRefused

log = structlog.stdlib.get_logger(__name__)

EVENT_TYPE = "kaiwa_delivery"
TOKEN_ERRORS = ("invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive")
PASSING_ERRORS = ("fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org")
TOKEN_WAIT_S = 400.0  # the attempts of a delivery then cover an hour, in which the token can be replaced
FIRST_WAIT_S, LAST_WAIT_S = 5.0, 600.0
RECENT = 100
FALLBACK_CAP = 3_000


class Posting:
    """Posts answers.

    Args:
        settle_s: how long Slack may take to show a message whose fate is unknown.
    """

    def __init__(self, api: Api, settle_s: float) -> None:
        self._api = api
        self._settle_s = settle_s
        self._waits: dict[str, float] = {}

    async def deliver(self, address: Address, delivery: Delivery) -> None:
        """Post one answer; returning means that it is there.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        text = harmless(delivery.reply.text)
        try:
            if address.response_url and await self._respond(address, text):
                return
            await self._post(address, delivery, text)
        except DeliverLater as later:
            patience = min(FIRST_WAIT_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, patience)) from later

    async def _post(self, address: Address, delivery: Delivery, text: str) -> None:
        self._hold_back(address.channel)
        if delivery.attempts > 1 and await self._is_posted(address, delivery.id):
            return
        answer = await self._api.post(
            "chat.postMessage",
            channel=address.channel,
            thread_ts=address.thread or None,
            markdown_text=text,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": EVENT_TYPE, "event_payload": {"id": delivery.id}},
        )
        if not answer.ok:
            raise self._failure("chat.postMessage", address.channel, answer)

    async def _respond(self, address: Address, text: str) -> bool:
        """Answer a command for its sender's eyes; Slack takes that for half an hour."""
        payload: dict[str, object] = {
            "response_type": "ephemeral",
            "replace_original": False,
            "text": text[:FALLBACK_CAP],
            "blocks": [{"type": "markdown", "text": text}],
        }
        return await self._api.respond(address.response_url, payload)

    async def _is_posted(self, address: Address, delivery_id: str) -> bool:
        """Whether an earlier attempt has arrived after all."""
        await asyncio.sleep(self._settle_s)
        where = {"ts": address.thread} if address.thread else {}
        method = "conversations.replies" if address.thread else "conversations.history"
        oldest = address.ts or None
        answer = await self._api.get(
            method, channel=address.channel, oldest=oldest, limit=RECENT, include_all_metadata=True, **where
        )
        if answer.retry_after or answer.error in (*TOKEN_ERRORS, *PASSING_ERRORS):
            raise self._failure(method, address.channel, answer)
        if not answer.ok:
            log.warning("earlier attempt not looked for", error=answer.error, needed=answer.data.get("needed"))
        return any(_delivery_of(message) == delivery_id for message in answer.data.get("messages", ()))

    def _hold_back(self, channel: str) -> None:
        """Raise while Slack wants no message in this channel; other channels go on."""
        now = time.monotonic()
        self._waits = {place: until for place, until in self._waits.items() if until > now}
        if until := self._waits.get(channel):
            raise DeliverLater("slack takes no more messages in this channel for now", until - now)

    def _failure(self, method: str, channel: str, answer: Answer) -> DeliverLater | DeliveryRefused:
        if answer.retry_after:
            self._waits[channel] = time.monotonic() + answer.retry_after
            return DeliverLater(f"{method}: too many calls", answer.retry_after)
        if answer.error in TOKEN_ERRORS:
            return DeliverLater(f"{method}: SLACK_BOT_TOKEN was refused ({answer.error}), replace it", TOKEN_WAIT_S)
        if answer.error in PASSING_ERRORS:
            return DeliverLater(f"{method}: {answer.error}", FIRST_WAIT_S)
        needed = f" (needs {answer.data['needed']})" if "needed" in answer.data else ""
        return DeliveryRefused(f"{method}: {answer.error}{needed}")


def _delivery_of(message: object) -> str:
    metadata = message.get("metadata") if isinstance(message, dict) else None
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return ""
    return str(metadata.get("event_payload", {}).get("id", ""))
