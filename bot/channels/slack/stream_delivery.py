"""The end of a stream: its message becomes the answer, whatever was shown in it, and however often this is tried."""

from __future__ import annotations

from typing import Any

import structlog
from msgspec.structs import replace

from bot.channels import AssertLease, Delivery
from bot.channels.slack.api import Answer, Api
from bot.channels.slack.earmark import delivery_of, earmark, recent_messages
from bot.channels.slack.identity import Identity
from bot.channels.slack.refusal import FIRST_WAIT_S, failure, is_passing
from bot.channels.slack.stream_notes import Stream, StreamNotes
from bot.channels.slack.streaming import Streaming
from bot.channels.slack.types import Address
from bot.channels.slack.words import FALLBACK_CAP, markdown_block
from bot.errors import DeliverLater, StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

STILL_STREAMING = "streaming_state_conflict"
GONE = "message_not_found"


class Finishing:
    """Puts answers into the messages they were streamed into.

    Args:
        settle_s: how long Slack may take to show a message whose fate is unknown.
    """

    def __init__(self, api: Api, notes: StreamNotes, streaming: Streaming, identity: Identity, settle_s: float) -> None:
        self._api = api
        self._notes = notes
        self._streaming = streaming
        self._identity = identity
        self._settle_s = settle_s

    async def finish(self, address: Address, delivery: Delivery, text: str, assert_lease: AssertLease) -> bool:
        """Whether the answer stands where it was streamed; where not, nothing of the stream is left.

        The turn's first delivery takes the stream, and the same delivery may take it again.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        await self._streaming.settled(delivery.turn_id)
        try:
            stream = await self._of(address, delivery)
            if stream is None:
                return False
            await assert_lease()
            if await self._become(stream, text):
                return True
            await self._notes.forget(delivery.turn_id)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not tell whether the answer was streamed", FIRST_WAIT_S) from error
        return False

    async def give_up(self, address: Address, turn_id: str) -> None:
        """Leave nothing of a stream whose turn asks a question first: the answer belongs below that.

        Raises:
            DeliverLater: passing failure.
        """
        await self._streaming.settled(turn_id)
        try:
            if (stream := await self._notes.get(turn_id)) is None:
                return
            if ts := stream.ts or await self._find(stream, address.ts):
                place = {"channel": stream.channel, "ts": ts}
                await self._stop(place)
                await self._remove(place)
            await self._notes.forget(turn_id)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not tell whether something was streamed", FIRST_WAIT_S) from error

    async def _of(self, address: Address, delivery: Delivery) -> Stream | None:
        """The stream that belongs to a delivery, on record as its own."""
        stream = await self._notes.get(delivery.turn_id)
        if stream is None or stream.delivery not in ("", delivery.id):
            return None
        if not stream.ts:
            stream = replace(stream, ts=await self._find(stream, address.ts))
        if not stream.ts:
            await self._notes.forget(delivery.turn_id)
            return None
        if not stream.delivery:
            stream = replace(stream, delivery=delivery.id)
            await self._notes.keep(delivery.turn_id, stream)
        return stream

    async def _find(self, stream: Stream, since: str) -> str:
        """The timestamp of a stream of which it is not known whether Slack has begun it; empty where it has not."""
        messages = await recent_messages(self._api, stream.channel, stream.thread, since, self._settle_s)
        return next((str(message["ts"]) for message in messages if self._is_ours(message)), "")

    def _is_ours(self, message: Any) -> bool:
        is_ours = self._identity.is_ours(message.get("user"), message.get("bot_id"))
        return is_ours and "streaming_state" in message and not delivery_of(message)

    async def _become(self, stream: Stream, text: str) -> bool:
        """Let the message hold exactly the answer; false where it could not and is gone."""
        place = {"channel": stream.channel, "ts": stream.ts}
        stopped = await self._stop(place)
        # As a block it bears no "(edited)". A message that streams no more, expired ones included, takes it as well.
        updated = await self._api.post(
            "chat.update",
            **place,
            text=text[:FALLBACK_CAP],
            blocks=[markdown_block(text)],
            metadata=earmark(stream.delivery),
        )
        if updated.ok:
            return True
        if is_passing(updated):
            raise failure("chat.update", updated)
        if updated.error == STILL_STREAMING:
            raise DeliverLater(f"chat.stopStream: {stopped.error or updated.error}", FIRST_WAIT_S)
        log.warning("slack.stream_unfinished", cause=updated.error)
        if updated.error != GONE:
            await self._remove(place)
        return False

    async def _stop(self, place: dict[str, str]) -> Answer:
        stopped = await self._api.post("chat.stopStream", **place)
        if is_passing(stopped):
            raise failure("chat.stopStream", stopped)
        return stopped

    async def _remove(self, place: dict[str, str]) -> None:
        removed = await self._api.post("chat.delete", **place)
        if is_passing(removed):
            raise failure("chat.delete", removed)
        if not removed.ok and removed.error != GONE:
            log.warning("slack.stream_not_removed", cause=removed.error)
