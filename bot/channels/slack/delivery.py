"""Delivery of replies: answers, questions and their outcomes, messages for one person alone."""

from __future__ import annotations

import structlog

from bot.channels import AssertLease, Delivery
from bot.channels.slack.approvals import Approvals
from bot.channels.slack.client import FIRST_WAIT_S, Client, delivery_error, is_transient
from bot.channels.slack.formatting import FALLBACK_CAP, markdown_block, without_broadcasts
from bot.channels.slack.messages import Messages
from bot.channels.slack.stream_delivery import StreamDelivery
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, TokenRefused

log = structlog.stdlib.get_logger(__name__)

LAST_WAIT_S = 600.0


class Sender:
    """Posts replies.

    Args:
        stream_delivery: finishes answers that were streamed.
    """

    def __init__(
        self, client: Client, messages: Messages, stream_delivery: StreamDelivery, approvals: Approvals
    ) -> None:
        self._client = client
        self._messages = messages
        self._stream_delivery = stream_delivery
        self._approvals = approvals

    async def deliver(
        self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        """Post one reply; returning means delivered.

        Returns:
            The time of a question's message by Slack's clock, milliseconds since the epoch.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        try:
            return await self._deliver(conversation, address, delivery, assert_lease)
        except TokenRefused:
            raise
        except DeliverLater as later:
            wait_s = min(FIRST_WAIT_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, wait_s)) from later

    async def _deliver(
        self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        reply = delivery.reply
        if reply.question is not None:
            await self._stream_delivery.discard(address, delivery.turn_id)
            return await self._approvals.ask(conversation, address, delivery, reply.question, assert_lease)
        if reply.settles:
            await self._approvals.settle(conversation, reply, assert_lease)
        elif reply.private:
            await self._post_privately(address, without_broadcasts(reply.text), assert_lease)
        else:
            await self._post(address, delivery, without_broadcasts(reply.text), assert_lease)
        return None

    async def _post(self, address: Address, delivery: Delivery, text: str, assert_lease: AssertLease) -> None:
        if address.response_url and await self._client.respond(address.response_url, _ephemeral(address, text)):
            return
        if not await self._stream_delivery.finish(address, delivery, text, assert_lease):
            await self._messages.send(address, delivery, {"markdown_text": text}, assert_lease)

    async def _post_privately(self, address: Address, text: str, assert_lease: AssertLease) -> None:
        """Post for one person alone. Where that is impossible nothing is posted, rather than for everybody."""
        url = address.private_url or address.response_url
        if url and await self._client.respond(url, _ephemeral(address, text)):
            return
        await assert_lease()
        response = await self._client.post(
            "chat.postEphemeral",
            channel=address.channel,
            user=address.user,
            thread_ts=address.thread or None,
            markdown_text=text,
        )
        if is_transient(response):
            raise delivery_error("chat.postEphemeral", response)
        if not response.ok:
            log.warning("slack.ephemeral_refused", cause=response.error)


def _ephemeral(address: Address, text: str) -> dict[str, object]:
    """The payload for a response URL: a message that only the command's sender sees."""
    payload: dict[str, object] = {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": text[:FALLBACK_CAP],
        "blocks": [markdown_block(text)],
    }
    return payload | {"thread_ts": address.thread} if address.thread else payload
