"""Posting one message once: before a second attempt, the channel is searched for the first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from bot.channels import AssertLease, Delivery, Reply
from bot.channels.slack.client import ApiResponse, Client, delivery_error, is_transient
from bot.channels.slack.tasks import Pauses
from bot.channels.slack.types import Address
from bot.errors import DeliverLater
from toolset.web.json_values import as_object

log = structlog.stdlib.get_logger(__name__)

EVENT_TYPE = "kaiwa_delivery"
RECENT = 100
GONE = "message_not_found"


class OutboundMessage(NamedTuple):
    """One delivery, and where it goes.

    Attributes:
        assert_lease: raises ``LeaseLost`` if another process holds the conversation now.
    """

    conversation: str
    address: Address
    delivery: Delivery
    assert_lease: AssertLease

    @property
    def reply(self) -> Reply:
        """What the delivery says."""
        return self.delivery.reply


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
        self._limits = Pauses()

    async def send(self, outbound: OutboundMessage, content: Mapping[str, object]) -> Sent:
        """Post a message with its delivery's id.

        Args:
            content: the text or the blocks, as chat.postMessage takes them.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        if earlier := await self.find(outbound):
            return Sent(outbound.address.channel, earlier)
        return self.confirm(outbound, await self.post(outbound, content))

    async def find(self, outbound: OutboundMessage) -> str:
        """The timestamp of an earlier attempt that arrived after all; empty if none did.

        Raises:
            DeliverLater: Slack does not answer, or takes no messages there for now.
        """
        self._check_limit(outbound.address.channel)
        delivery = outbound.delivery
        if delivery.attempts <= 1:
            return ""
        messages = await self.read_answers(outbound.address)
        for message in messages:
            if delivery_id_of(message) == delivery.id:
                return str(message["ts"])
        return ""

    async def post(self, outbound: OutboundMessage, content: Mapping[str, object]) -> ApiResponse:
        """Post a message with its delivery's id; a refusal is the caller's.

        Raises:
            DeliverLater: Slack does not answer; it may have posted the message.
            LeaseLost: from ``assert_lease``.
        """
        await outbound.assert_lease()
        return await self._client.post(
            "chat.postMessage",
            channel=outbound.address.channel,
            thread_ts=outbound.address.thread or None,
            **content,
            unfurl_links=False,
            unfurl_media=False,
            metadata=delivery_metadata(outbound.delivery.id),
        )

    def confirm(self, outbound: OutboundMessage, response: ApiResponse) -> Sent:
        """Where the message was posted, if it was.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        channel = outbound.address.channel
        if response.ok:
            return Sent(
                str(response.data.get("channel", channel)), str(response.data.get("ts", ""))
            )
        if response.retry_after:
            self._limits.begin(channel, response.retry_after)
        raise delivery_error("chat.postMessage", response)

    async def read_answers(self, address: Address) -> list[Any]:
        """The newest messages where answers to this message go; none if the app may not read there.

        Raises:
            DeliverLater: Slack does not answer.
        """
        return await self.read_recent(address.channel, address.thread, address.ts)

    async def read_recent(self, channel: str, thread: str, since: str) -> list[Any]:
        """The newest messages of a thread, or of a channel if ``thread`` is empty; none if the app
        may not read there.

        Args:
            since: the timestamp of the message that is answered.

        Raises:
            DeliverLater: Slack does not answer.
        """
        await asyncio.sleep(self._settle_s)
        where = {"ts": thread} if thread else {}
        method = "conversations.replies" if thread else "conversations.history"
        response = await self._client.get(
            method,
            channel=channel,
            oldest=since or None,
            limit=RECENT,
            include_all_metadata=True,
            **where,
        )
        if is_transient(response):
            raise delivery_error(method, response)
        if not response.ok:
            log.warning(
                "slack.attempt_unchecked", cause=response.error, needed=response.data.get("needed")
            )
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
        if left_s := self._limits.left_s(channel):
            raise DeliverLater("slack takes no more messages in this channel for now", left_s)


def delivery_metadata(delivery_id: str) -> dict[str, object]:
    """The metadata that ties a message to its delivery."""
    return {"event_type": EVENT_TYPE, "event_payload": {"id": delivery_id}}


def delivery_id_of(message: object) -> str:
    """The delivery's id in a message's metadata; empty if the message is not ours."""
    metadata = as_object(as_object(message).get("metadata"))
    if metadata.get("event_type") != EVENT_TYPE:
        return ""
    return str(metadata.get("event_payload", {}).get("id", ""))
