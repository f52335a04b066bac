"""How a reply leaves: as an answer, as a card, as a file, or for one person alone;
never twice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import structlog

from bot.channels import ButtonCard, Reply, whole_of
from bot.channels.slack.answer_blocks import Body
from bot.channels.slack.answers import Answers
from bot.channels.slack.buttons import blocks_below, feedback_blocks
from bot.channels.slack.cards import card_block, card_content
from bot.channels.slack.client import FIRST_WAIT_S, Client
from bot.channels.slack.formatting import cut_fallback, escape, without_broadcasts
from bot.channels.slack.messages import Messages, OutboundMessage, delivery_id_of
from bot.channels.slack.uploads import Uploads, file_ids_of
from bot.channels.slack.waiting_cards import WaitingCards
from bot.errors import DeliverLater, TokenRefused

log = structlog.stdlib.get_logger(__name__)

LAST_WAIT_S = 600.0


class Sender:
    """Posts replies.

    Args:
        answers: posts answers, and finishes those that were streamed.
        uploads: shares files.
    """

    def __init__(
        self,
        client: Client,
        answers: Answers,
        waiting: WaitingCards,
        uploads: Uploads,
        messages: Messages,
    ) -> None:
        self._client = client
        self._answers = answers
        self._waiting = waiting
        self._uploads = uploads
        self._messages = messages

    async def send(self, outbound: OutboundMessage) -> int | None:
        """Post one reply; returning means delivered.

        Returns:
            The time of a question's message by Slack's clock, milliseconds since the epoch.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        try:
            return await self._deliver(outbound)
        except TokenRefused:
            raise
        except DeliverLater as later:
            wait_s = min(FIRST_WAIT_S * 2 ** max(outbound.delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, wait_s)) from later

    async def _deliver(self, outbound: OutboundMessage) -> int | None:
        reply = outbound.reply
        if (deletes := outbound.delivery.deletes) is not None:
            await self._take_back(outbound, deletes)
            return None
        if reply.card and reply.awaited:
            await self._answers.discard(outbound)
            return await self._waiting.post(outbound, reply.card)
        if reply.card and reply.is_change:
            await self._show_change(outbound, reply.card)
        elif reply.card:
            content = card_content(reply.card, outbound.conversation)
            await self._messages.send(outbound, content)
        elif reply.replaces:
            await self._waiting.settle(outbound)
        elif reply.private:
            await self._post_privately(outbound)
        elif not await self._share(outbound):
            await self._post(outbound)
        return None

    async def _take_back(self, outbound: OutboundMessage, delivery_ids: Collection[str]) -> None:
        """Delete a turn's stream, and the messages and files of its deliveries."""
        await outbound.assert_lease()
        await self._answers.discard(outbound)
        if not delivery_ids:
            return
        file_ids = await self._uploads.file_ids(delivery_ids)

        def is_one(message: Any) -> bool:
            return whole_of(delivery_id_of(message)) in delivery_ids or not file_ids.isdisjoint(
                file_ids_of(message)
            )

        await self._answers.delete(outbound, is_one)

    async def _show_change(self, outbound: OutboundMessage, card: ButtonCard) -> None:
        """Show how a card has changed, in the message whose button was pressed."""
        await outbound.assert_lease()
        updated = await self._client.post_checked(
            "chat.update",
            channel=outbound.address.channel,
            ts=outbound.address.ts,
            **card_content(card, outbound.conversation),
        )
        if not updated.ok:
            log.warning("card.not_changed", cause=updated.error)

    async def _share(self, outbound: OutboundMessage) -> bool:
        """Share the file of a delivery that has one (``Slack.split``). An answer for one person
        alone has its words."""
        files = outbound.reply.files
        return bool(files and not outbound.address.response_url) and await self._uploads.share(
            outbound, files[0]
        )

    async def _post(self, outbound: OutboundMessage) -> None:
        text = without_broadcasts(outbound.reply.text)
        reply = outbound.reply
        beside = [*map(card_block, reply.cards), *blocks_below(outbound)]
        body = Body(text, _fallback(text, reply), tuple(beside), feedback_blocks(outbound))
        if not await self._respond(outbound.address.response_url, outbound, body):
            await self._answers.send(outbound, body)

    async def _post_privately(self, outbound: OutboundMessage) -> None:
        """Post for one person alone; if that is impossible, nothing is posted."""
        address, text = outbound.address, without_broadcasts(outbound.reply.text)
        url = address.private_url or address.response_url
        if await self._respond(url, outbound, Body(text, cut_fallback(text))):
            return
        await outbound.assert_lease()
        response = await self._client.post_checked(
            "chat.postEphemeral",
            channel=address.channel,
            user=address.user,
            thread_ts=address.thread or None,
            markdown_text=text,
        )
        if not response.ok:
            log.warning("slack.ephemeral_refused", cause=response.error)

    async def _respond(self, url: str, outbound: OutboundMessage, body: Body) -> bool:
        """Post by a response URL; false if there is none, or it has expired."""
        thread = outbound.address.thread or None
        return bool(url) and await self._client.respond(
            url, text=body.fallback, blocks=body.blocks, thread_ts=thread
        )


def _fallback(text: str, reply: Reply) -> str:
    """What notifications show instead of blocks."""
    shown = text or escape(
        "\n".join([*(card.text for card in reply.cards), *(one.value for one in reply.sayings)])
    )
    return cut_fallback(shown)
