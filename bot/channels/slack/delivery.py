"""How a reply leaves: as a message, as the end of its stream, as a question, or for one person alone; never twice.

A streamed answer has its message already: delivery makes that message exactly the answer, at every attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from bot.channels import AssertLease, Delivery, Reply
from bot.channels.slack.approvals import Approvals
from bot.channels.slack.cards import Block
from bot.channels.slack.choices import blocks_beside
from bot.channels.slack.client import FIRST_WAIT_S, Client
from bot.channels.slack.formatting import FALLBACK_CAP, escape, markdown_block, without_broadcasts
from bot.channels.slack.lookups import Identity
from bot.channels.slack.messages import Messages, delivery_id_of, delivery_metadata
from bot.channels.slack.polls import Polls
from bot.channels.slack.streaming import Stream, Streaming
from bot.channels.slack.types import Address
from bot.channels.slack.uploads import Uploads
from bot.errors import DeliverLater, StoreUnavailable, TokenRefused

log = structlog.stdlib.get_logger(__name__)

LAST_WAIT_S = 600.0
STILL_STREAMING = "streaming_state_conflict"
GONE = "message_not_found"


class Sender:
    """Posts replies.

    Args:
        stream_delivery: finishes answers that were streamed.
        uploads: shares files.
    """

    def __init__(
        self,
        client: Client,
        messages: Messages,
        stream_delivery: StreamDelivery,
        approvals: Approvals,
        uploads: Uploads,
        polls: Polls,
    ) -> None:
        self._client = client
        self._messages = messages
        self._stream_delivery = stream_delivery
        self._approvals = approvals
        self._uploads = uploads
        self._polls = polls

    async def send(
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
        if reply.poll and reply.settles:
            await self._polls.update(address, reply.poll, assert_lease)
        elif reply.poll:
            await self._polls.post(address, delivery, reply.poll, assert_lease)
        elif reply.settles:
            await self._approvals.settle(conversation, reply, assert_lease)
        elif reply.private:
            await self._post_privately(address, without_broadcasts(reply.text), assert_lease)
        elif not await self._share(address, delivery, assert_lease):
            await self._post(conversation, address, delivery, assert_lease)
        return None

    async def _share(self, address: Address, delivery: Delivery, assert_lease: AssertLease) -> bool:
        """Share the file of a delivery that has one (``Slack.split``). An answer for one person alone has its words."""
        files = delivery.reply.files
        if not files or address.response_url:
            return False
        return await self._uploads.share(address, delivery, files[0], assert_lease)

    async def _post(self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease) -> None:
        text, beside = without_broadcasts(delivery.reply.text), blocks_beside(conversation, address, delivery)
        if address.response_url and await self._client.respond(address.response_url, _ephemeral(address, text, beside)):
            return
        if not await self._stream_delivery.finish(address, delivery, text, assert_lease, beside):
            with_blocks = {"text": _fallback(text, delivery.reply), "blocks": _blocks(text, beside)}
            content = with_blocks if beside else {"markdown_text": text}
            await self._messages.send(address, delivery, content, assert_lease)

    async def _post_privately(self, address: Address, text: str, assert_lease: AssertLease) -> None:
        """Post for one person alone; if that is impossible, nothing is posted."""
        url = address.private_url or address.response_url
        if url and await self._client.respond(url, _ephemeral(address, text)):
            return
        await assert_lease()
        response = await self._client.post_checked(
            "chat.postEphemeral",
            channel=address.channel,
            user=address.user,
            thread_ts=address.thread or None,
            markdown_text=text,
        )
        if not response.ok:
            log.warning("slack.ephemeral_refused", cause=response.error)


def _fallback(text: str, reply: Reply) -> str:
    """What notifications show instead of blocks."""
    return (
        text[:FALLBACK_CAP] or escape("\n".join([*(card.text for card in reply.cards), *reply.choices]))[:FALLBACK_CAP]
    )


def _blocks(text: str, beside: Sequence[Block]) -> list[Block]:
    """A text with what is shown below it."""
    return [*([markdown_block(text)] if text.strip() else ()), *beside]


def _ephemeral(address: Address, text: str, beside: Sequence[Block] = ()) -> dict[str, object]:
    """The payload for a response URL: a message that only one person sees."""
    payload: dict[str, object] = {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": text[:FALLBACK_CAP],
        "blocks": _blocks(text, beside),
    }
    return payload | {"thread_ts": address.thread} if address.thread else payload


class StreamDelivery:
    """Writes answers into the messages that streamed them."""

    def __init__(self, client: Client, streaming: Streaming, identity: Identity, messages: Messages) -> None:
        self._client = client
        self._streams = streaming.streams
        self._streaming = streaming
        self._identity = identity
        self._messages = messages

    async def finish(
        self,
        address: Address,
        delivery: Delivery,
        text: str,
        assert_lease: AssertLease,
        beside: Sequence[Block] = (),
    ) -> bool:
        """Make the turn's stream the answer; false if there is no stream, or it had to be deleted.

        The stream is for the turn's first delivery alone, at each of its attempts.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        await self._streaming.wait_until_settled(delivery.turn_id)
        try:
            stream = await self._claim_stream(address, delivery)
            if stream is None:
                return False
            await assert_lease()
            if await self._fill(stream, text, beside):
                return True
            await self._streams.delete(delivery.turn_id)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not say whether the answer was streamed", FIRST_WAIT_S) from error
        return False

    async def discard(self, address: Address, turn_id: str) -> None:
        """Delete the stream of a turn that asks a question: the answer belongs below the question.

        Raises:
            DeliverLater: passing failure.
        """
        await self._streaming.wait_until_settled(turn_id)
        try:
            if (stream := await self._streams.get(turn_id)) is None:
                return
            if ts := stream.ts or await self._find(stream, address.ts):
                target = {"channel": stream.channel, "ts": ts}
                await self._client.post_checked("chat.stopStream", **target)
                await self._remove(target)
            await self._streams.delete(turn_id)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not say whether something was streamed", FIRST_WAIT_S) from error

    async def _claim_stream(self, address: Address, delivery: Delivery) -> Stream | None:
        """The delivery's stream, stored as its own."""
        stream = await self._streams.get(delivery.turn_id)
        if stream is None or stream.delivery not in ("", delivery.id):
            return None
        if not stream.ts:
            stream = replace(stream, ts=await self._find(stream, address.ts))
        if not stream.ts:
            await self._streams.delete(delivery.turn_id)
            return None
        if not stream.delivery:
            stream = replace(stream, delivery=delivery.id)
            await self._streams.save(delivery.turn_id, stream)
        return stream

    async def _find(self, stream: Stream, since: str) -> str:
        """The timestamp of a stream that Slack may have started; empty if it did not."""
        messages = await self._messages.read_recent(stream.channel, stream.thread, since)
        return next((str(message["ts"]) for message in messages if self._is_ours(message)), "")

    def _is_ours(self, message: Any) -> bool:
        is_ours = self._identity.is_ours(message.get("user"), message.get("bot_id"))
        return is_ours and "streaming_state" in message and not delivery_id_of(message)

    async def _fill(self, stream: Stream, text: str, beside: Sequence[Block]) -> bool:
        """Make the message exactly the answer; false if that failed and the message is deleted."""
        target = {"channel": stream.channel, "ts": stream.ts}
        stopped = await self._client.post_checked("chat.stopStream", **target)
        # A changed block shows no "(edited)". Messages whose stream has ended or expired take it as well.
        updated = await self._client.post_checked(
            "chat.update",
            **target,
            text=text[:FALLBACK_CAP],
            blocks=_blocks(text, beside),
            metadata=delivery_metadata(stream.delivery),
        )
        if updated.ok:
            return True
        if updated.error == STILL_STREAMING:
            raise DeliverLater(f"chat.stopStream: {stopped.error or updated.error}", FIRST_WAIT_S)
        log.warning("slack.stream_unfinished", cause=updated.error)
        if updated.error != GONE:
            await self._remove(target)
        return False

    async def _remove(self, target: dict[str, str]) -> None:
        removed = await self._client.post_checked("chat.delete", **target)
        if not removed.ok and removed.error != GONE:
            log.warning("slack.stream_not_removed", cause=removed.error)
