"""Replies on their way into Slack: answers, questions and how they were decided, words for one person alone."""

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
        stream_delivery: knows the answers that were shown while they were written.
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
        """Post one reply; returning means that it is there.

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
            patience = min(FIRST_WAIT_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, patience)) from later

    async def _deliver(
        self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        reply = delivery.reply
        if reply.question is not None:
            await self._stream_delivery.give_up(address, delivery.turn_id)
            return await self._approvals.ask(conversation, address, delivery, reply.question, assert_lease)
        if reply.settles:
            await self._approvals.settle(conversation, reply, assert_lease)
        elif reply.private:
            await self._whisper(address, without_broadcasts(reply.text), assert_lease)
        else:
            await self._say(address, delivery, without_broadcasts(reply.text), assert_lease)
        return None

    async def _say(self, address: Address, delivery: Delivery, text: str, assert_lease: AssertLease) -> None:
        if address.response_url and await self._client.respond(address.response_url, _ephemeral(address, text)):
            return
        if not await self._stream_delivery.finish(address, delivery, text, assert_lease):
            await self._messages.send(address, delivery, {"markdown_text": text}, assert_lease)

    async def _whisper(self, address: Address, text: str, assert_lease: AssertLease) -> None:
        """Tell one person alone; whoever cannot be reached so is not told, rather than everybody."""
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
            log.warning("one person could not be told alone", error=response.error)


def _ephemeral(address: Address, text: str) -> dict[str, object]:
    """What a response URL takes, for half an hour: words for the eyes of whoever it was given to."""
    payload: dict[str, object] = {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": text[:FALLBACK_CAP],
        "blocks": [markdown_block(text)],
    }
    return payload | {"thread_ts": address.thread} if address.thread else payload
