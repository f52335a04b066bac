"""Posting one message once: before a second attempt, the channel is searched for the first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from bot.channels import AssertLease, Delivery
from bot.channels.slack.client import ApiResponse, Client, delivery_error, is_transient
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, DeliveryRefused

log = structlog.stdlib.get_logger(__name__)

EVENT_TYPE = "kaiwa_delivery"
RECENT = 100
GONE = "message_not_found"


class Sent(NamedTuple):
    """Channel and timestamp of a message."""

    channel: str
    ts: str


class Messages:
    """Posts messages.

    Args:
        settle_s: how long Slack may take to show a message that was posted with an unknown outcome.
    """

    def __init__(self, client: Client, settle_s: float) -> None:
        self._client = client
        self._settle_s = settle_s
        self._waits: dict[str, float] = {}

    async def send(
        self, address: Address, delivery: Delivery, content: Mapping[str, object], assert_lease: AssertLease
    ) -> Sent:
        """Post a message with its delivery's id.

        Args:
            content: the text or the blocks, as chat.postMessage takes them.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        if earlier := await self.find(address, delivery):
            return Sent(address.channel, earlier)
        return self.confirm(address, await self.post(address, delivery, content, assert_lease))

    async def find(self, address: Address, delivery: Delivery) -> str:
        """The timestamp of an earlier attempt that arrived after all; empty if none did.

        Raises:
            DeliverLater: Slack does not answer, or takes no messages there for now.
        """
        self._check_limit(address.channel)
        if delivery.attempts <= 1:
            return ""
        messages = await self.read_recent(address.channel, address.thread, address.ts)
        return next((str(message["ts"]) for message in messages if delivery_id_of(message) == delivery.id), "")

    async def post(
        self, address: Address, delivery: Delivery, content: Mapping[str, object], assert_lease: AssertLease
    ) -> ApiResponse:
        """Post a message with its delivery's id; a refusal is the caller's.

        Raises:
            DeliverLater: Slack does not answer; it may have posted the message.
            LeaseLost: from ``assert_lease``.
        """
        await assert_lease()
        return await self._client.post(
            "chat.postMessage",
            channel=address.channel,
            thread_ts=address.thread or None,
            **content,
            unfurl_links=False,
            unfurl_media=False,
            metadata=delivery_metadata(delivery.id),
        )

    def confirm(self, address: Address, response: ApiResponse) -> Sent:
        """Where the message was posted, if it was.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        if not response.ok:
            raise self._error("chat.postMessage", address.channel, response)
        return Sent(str(response.data.get("channel", address.channel)), str(response.data.get("ts", "")))

    async def read_recent(self, channel: str, thread: str, since: str) -> list[Any]:
        """The newest messages of a thread, or of a channel if ``thread`` is empty; none if the app may not read there.

        Args:
            since: the timestamp of the message that is answered.

        Raises:
            DeliverLater: Slack does not answer.
        """
        await asyncio.sleep(self._settle_s)
        where = {"ts": thread} if thread else {}
        method = "conversations.replies" if thread else "conversations.history"
        response = await self._client.get(
            method, channel=channel, oldest=since or None, limit=RECENT, include_all_metadata=True, **where
        )
        if is_transient(response):
            raise delivery_error(method, response)
        if not response.ok:
            log.warning("slack.attempt_unchecked", cause=response.error, needed=response.data.get("needed"))
        return list(response.data.get("messages", ()))

    async def delete(self, channel: str, ts: str) -> None:
        """Delete a message of ours. One that Slack does not delete stays, and is logged.

        Raises:
            DeliverLater: passing failure.
        """
        deleted = await self._client.post_checked("chat.delete", channel=channel, ts=ts)
        if not deleted.ok and deleted.error != GONE:
            log.warning("slack.message_not_deleted", cause=deleted.error)

    def _check_limit(self, channel: str) -> None:
        """Raise while Slack's rate limit for this channel holds; other channels go on."""
        now = time.monotonic()
        self._waits = {waiting: until for waiting, until in self._waits.items() if until > now}
        if until := self._waits.get(channel):
            raise DeliverLater("slack takes no more messages in this channel for now", until - now)

    def _error(self, method: str, channel: str, response: ApiResponse) -> DeliverLater | DeliveryRefused:
        if response.retry_after:
            self._waits[channel] = time.monotonic() + response.retry_after
        return delivery_error(method, response)


def delivery_metadata(delivery_id: str) -> dict[str, object]:
    """The metadata that ties a message to its delivery."""
    return {"event_type": EVENT_TYPE, "event_payload": {"id": delivery_id}}


def delivery_id_of(message: object) -> str:
    """The delivery's id in a message's metadata; empty if the message is not ours."""
    metadata = message.get("metadata") if isinstance(message, dict) else None
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return ""
    return str(metadata.get("event_payload", {}).get("id", ""))
