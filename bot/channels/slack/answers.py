"""Answers: posted once, or written into the message that has shown them while they were written.

A streamed answer has its message already: delivery makes that message exactly the answer, at every
attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from msgspec.structs import replace

from bot.channels.slack.answer_blocks import AnswerBlocks, Body
from bot.channels.slack.blocks import Block
from bot.channels.slack.client import FIRST_WAIT_S, ApiResponse, Client
from bot.channels.slack.lookups import Identity
from bot.channels.slack.messages import (
    GONE,
    Messages,
    OutboundMessage,
    delivery_id_of,
    delivery_metadata,
)
from bot.channels.slack.streaming import Stream, Streaming
from bot.errors import DeliverLater, StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

STILL_STREAMING = "streaming_state_conflict"


class Answers:
    """Posts answers, and finishes those that were streamed.

    Args:
        blocks: what an answer's message holds.
    """

    def __init__(
        self,
        client: Client,
        streaming: Streaming,
        identity: Identity,
        messages: Messages,
        blocks: AnswerBlocks,
    ) -> None:
        self._client = client
        self._streams = streaming.streams
        self._streaming = streaming
        self._identity = identity
        self._messages = messages
        self._blocks = blocks

    async def send(self, outbound: OutboundMessage, body: Body) -> None:
        """Make the turn's stream the answer, or post the answer if there is none.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        if not await self._finish(outbound, body):
            await self._post(outbound, body)

    async def discard(self, outbound: OutboundMessage) -> None:
        """Delete a turn's stream: its answer is void, or belongs below the question that the turn
        asks.

        Raises:
            DeliverLater: passing failure.
        """
        turn_id = outbound.delivery.turn_id
        await self._streaming.wait_until_settled(turn_id)
        try:
            if (stream := await self._streams.get(turn_id, outbound.address.channel)) is None:
                return
            if ts := stream.ts or await self._find(stream, outbound.address.ts):
                stream = replace(stream, ts=ts)
                await self._stop(stream)
                await self._messages.delete(**stream.target)
            await self._streams.delete(turn_id)
        except StoreUnavailable as error:
            raise DeliverLater(
                "the store does not say whether something was streamed", FIRST_WAIT_S
            ) from error

    async def delete(self, outbound: OutboundMessage, is_one: Callable[[Any], bool]) -> None:
        """Delete those of the newest messages that are chosen by ``is_one``.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        for message in await self._messages.read_answers(outbound.address):
            if is_one(message):
                await outbound.assert_lease()
                await self._messages.delete(outbound.address.channel, str(message["ts"]))

    async def _post(self, outbound: OutboundMessage, body: Body) -> None:
        if await self._messages.find(outbound):
            return

        async def post(blocks: list[Block]) -> ApiResponse:
            # A message without anything but text shows all of it in notifications too.
            content: dict[str, object] = {"markdown_text": body.text}
            if body.beside or len(blocks) > 1:
                content = {"text": body.fallback, "blocks": blocks}
            return await self._messages.post(outbound, content)

        self._messages.confirm(outbound, await self._blocks.send(body, (), post))

    async def _finish(self, outbound: OutboundMessage, body: Body) -> bool:
        """Make the turn's stream the answer; false if there is no stream, or it had to be deleted.

        The stream is for the turn's first delivery alone, at each of its attempts.
        """
        delivery = outbound.delivery
        await self._streaming.wait_until_settled(delivery.turn_id)
        try:
            stream = await self._claim_stream(outbound)
            if stream is None:
                return False
            await outbound.assert_lease()
            if await self._fill(stream, body):
                return True
            await self._streams.delete(delivery.turn_id)
        except StoreUnavailable as error:
            raise DeliverLater(
                "the store does not say whether the answer was streamed", FIRST_WAIT_S
            ) from error
        return False

    async def _claim_stream(self, outbound: OutboundMessage) -> Stream | None:
        """The delivery's stream, stored as its own."""
        delivery, turn_id = outbound.delivery, outbound.delivery.turn_id
        stream = await self._streams.get(turn_id, outbound.address.channel)
        if stream is None or stream.delivery not in ("", delivery.id):
            return None
        if not stream.ts:
            stream = replace(stream, ts=await self._find(stream, outbound.address.ts))
        if not stream.ts:
            await self._streams.delete(turn_id)
            return None
        if not stream.delivery:
            cards = self._streaming.cards(turn_id)
            stream = replace(stream, delivery=delivery.id, cards=cards)
            await self._streams.save(turn_id, stream)
        return stream

    async def _find(self, stream: Stream, since: str) -> str:
        """The timestamp of a stream that Slack may have started; empty if it did not."""
        messages = await self._messages.read_recent(stream.channel, stream.thread, since)
        for message in messages:
            if self._is_stream(message):
                return str(message["ts"])
        return ""

    def _is_stream(self, message: Any) -> bool:
        is_ours = self._identity.is_ours(message.get("user"), message.get("bot_id"))
        return is_ours and "streaming_state" in message and not delivery_id_of(message)

    async def _fill(self, stream: Stream, body: Body) -> bool:
        """Make the message exactly the answer; false if that failed and the message is deleted."""
        stopped = await self._stop(stream)

        async def update(blocks: list[Block]) -> ApiResponse:
            # A changed block shows no "(edited)". Messages whose stream has ended or expired take
            # it as well.
            return await self._client.post_checked(
                "chat.update",
                **stream.target,
                text=body.fallback,
                blocks=blocks,
                metadata=delivery_metadata(stream.delivery),
            )

        updated = await self._blocks.send(body, stream.cards, update)
        if updated.ok:
            return True
        if updated.error == STILL_STREAMING:
            raise DeliverLater(f"chat.stopStream: {stopped or updated.error}", FIRST_WAIT_S)
        log.warning("slack.stream_unfinished", cause=updated.error)
        if updated.error != GONE:
            await self._messages.delete(**stream.target)
        return False

    async def _stop(self, stream: Stream) -> str:
        """End a stream; the error, if Slack refuses."""
        return (await self._client.post_checked("chat.stopStream", **stream.target)).error
