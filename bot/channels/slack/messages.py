"""Posting one message once: before a second attempt, the channel is searched for the first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from bot.channels import AssertLease, Delivery
from bot.channels.slack.client import ApiResponse, Client, Pauses, delivery_error
from bot.channels.slack.types import Address
from bot.errors import DeliverLater
from toolset.web.json_values import as_object, entries

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


class Messages:
    """Posts messages.

    Args:
        settle_s: how long Slack may take to show a message that was posted with an unknown outcome.
    """

    def __init__(self, client: Client, settle_s: float) -> None:
        self._client = client
        self._settle_s = settle_s
        self._limits = Pauses()

    async def send(
        self, outbound: OutboundMessage, content: Mapping[str, object]
    ) -> tuple[str, str]:
        """Post a message with its delivery's id.

        Args:
            content: the text or the blocks, as chat.postMessage takes them.

        Returns:
            Its channel and its timestamp.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        if earlier := await self.find(outbound):
            return outbound.address.channel, earlier
        return self.confirm(outbound, await self.post(outbound, content))

    async def find(self, outbound: OutboundMessage) -> str:
        """The timestamp of an earlier attempt that arrived after all; empty if none did.

        Raises:
            DeliverLater: Slack does not answer, or takes no messages there for now.
        """
        address, delivery = outbound.address, outbound.delivery
        if left_s := self._limits.left_s(address.channel):
            raise DeliverLater("slack takes no more messages in this channel for now", left_s)
        if delivery.attempts > 1:
            for message in await self.read_recent(address):
                if delivery_id_of(message.get("metadata")) == delivery.id:
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

    def confirm(self, outbound: OutboundMessage, response: ApiResponse) -> tuple[str, str]:
        """Channel and timestamp of a message that was posted.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        channel = outbound.address.channel
        if response.ok:
            data = response.data
            return str(data.get("channel", channel)), str(data.get("ts", ""))
        if response.retry_after:
            self._limits.begin(channel, response.retry_after)
        raise delivery_error("chat.postMessage", response)

    async def read_recent(self, address: Address) -> list[dict[str, Any]]:
        """The newest messages where answers to this message go; none if the app may not read there.

        Raises:
            DeliverLater: Slack does not answer.
        """
        await asyncio.sleep(self._settle_s)
        method = "conversations.replies" if address.thread else "conversations.history"
        response = await self._client.get(
            method,
            channel=address.channel,
            ts=address.thread or None,
            oldest=address.ts or None,
            limit=RECENT,
            include_all_metadata=1,
        )
        if response.is_transient:
            raise delivery_error(method, response)
        if not response.ok:
            log.warning(
                "slack.attempt_unchecked", cause=response.error, needed=response.data.get("needed")
            )
        return entries(response.data.get("messages"))

    async def delete(self, channel: str, ts: str) -> None:
        """Delete a message of ours. One that Slack does not delete stays, and is logged.

        Raises:
            DeliverLater: passing failure.
        """
        deleted = await self._client.post_checked("chat.delete", channel=channel, ts=ts)
        if not deleted.ok and deleted.error != GONE:
            log.warning("slack.message_not_deleted", cause=deleted.error)


def delivery_metadata(delivery_id: str) -> dict[str, object]:
    """The metadata that ties a message to its delivery."""
    return {"event_type": EVENT_TYPE, "event_payload": {"id": delivery_id}}


def delivery_id_of(metadata: object) -> str:
    """The delivery's id in a message's metadata; empty if the message is not ours."""
    noted = as_object(metadata)
    if noted.get("event_type") != EVENT_TYPE:
        return ""
    return str(as_object(noted.get("event_payload")).get("id", ""))
