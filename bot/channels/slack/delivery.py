"""How a reply leaves: as an answer, as a card, as a file, or for one person alone; never twice.

An answer is posted once, or written into the message that has shown it while it was written:
delivery makes that message exactly the answer, at every attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Literal, NamedTuple

import structlog
from msgspec.structs import replace

from bot.channels import AssertLease, Button, ButtonCard, Delivery, Host, Reply, whole_of
from bot.channels.markdown import split_markdown
from bot.channels.replies import units
from bot.channels.slack.cards import WaitingCards
from bot.channels.slack.client import AWAY_S, ApiResponse, Client, Pauses
from bot.channels.slack.config import Config
from bot.channels.slack.files import Uploads, file_ids_of
from bot.channels.slack.formatting import (
    LIMIT,
    RATINGS,
    Block,
    card_block,
    card_content,
    cut_fallback,
    escape,
    feedback_block,
    rich_section,
    rich_text,
    saying_blocks,
    without_broadcasts,
    words,
)
from bot.channels.slack.lookups import Identity
from bot.channels.slack.messages import (
    GONE,
    Messages,
    OutboundMessage,
    delivery_id_of,
    delivery_metadata,
)
from bot.channels.slack.streaming import REFUSED_S, Stream, Streaming
from bot.channels.slack.types import Address, Press
from bot.errors import DeliverInParts, DeliverLater, StoreUnavailable, TokenRefused
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

LAST_WAIT_S = 600.0
STILL_STREAMING = "streaming_state_conflict"
Extra = Literal["cards", "native", "plain"]  # in the order in which they are left out
EXTRAS: tuple[Extra, ...] = ("cards", "native", "plain")
# Slack counts a message's length after rendering it, so it refuses some that are shorter than its
# limit: https://github.com/slackapi/bolt-js/issues/2509
LENGTH_ERRORS = ("msg_blocks_too_long", "msg_too_long")
KIND_ERRORS = ("invalid_blocks", "invalid_blocks_format")  # the workspace lacks a kind of block
SHORT = 500  # UTF-16 code units; a text that is no longer is not split


def split(reply: Reply) -> list[Reply]:
    """The reply in messages of Slack's size; each file and a card with buttons are messages of
    their own."""
    if reply.awaited:
        return [reply]
    texts = split_markdown(reply.text, LIMIT)
    pieces = replace(reply, files=(), card=None).in_parts(texts)
    last = pieces[-1]
    if (reply.files or reply.card) and not (last.text.strip() or last.cards or last.sayings):
        pieces.pop()
    for file in reply.files:
        pieces.append(Reply(file.text, private=reply.private, files=(file,)))
    if reply.card:
        pieces.append(Reply(reply.card.title, card=reply.card))
    return pieces


class Sender:
    """Posts replies.

    Attributes:
        waiting: the cards that wait for one person.
    """

    def __init__(
        self,
        client: Client,
        config: Config,
        host: Host,
        streaming: Streaming,
        identity: Identity,
        settle_s: float,
    ) -> None:
        self._client = client
        self._messages = Messages(client, settle_s)
        self._answers = Answers(client, streaming, identity, self._messages)
        self._uploads = Uploads(client, config, self._messages, host)
        self.waiting = WaitingCards(client, self._messages, host)

    async def send(
        self,
        conversation: str,
        address: Address,
        delivery: Delivery,
        assert_lease: AssertLease,
    ) -> int | None:
        """Post one reply; returning means delivered.

        Returns:
            The time of a question's message by Slack's clock, milliseconds since the epoch.

        Raises:
            DeliverLater: passing failure, of Slack or of the store: notes may be in another shard
                than the conversation, which goes on then.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            return await self._deliver(
                OutboundMessage(conversation, address, delivery, assert_lease)
            )
        except TokenRefused:
            raise
        except (DeliverLater, StoreUnavailable) as failure:
            wait_s = min(AWAY_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            asked_s = failure.after if isinstance(failure, DeliverLater) else 0.0
            raise DeliverLater(str(failure), max(asked_s, wait_s)) from failure

    async def _deliver(self, outbound: OutboundMessage) -> int | None:
        reply, card = outbound.delivery.reply, outbound.delivery.reply.card
        if (deletes := outbound.delivery.deletes) is not None:
            await self._take_back(outbound, deletes)
        elif card and reply.awaited:
            await self._answers.discard(outbound)
            return await self.waiting.post(outbound, card)
        elif card and reply.is_change:
            await self._show_change(outbound, card)
        elif card:
            await self._messages.send(outbound, card_content(card, outbound.conversation))
        elif reply.replaces:
            await self.waiting.settle(outbound)
        elif reply.private:
            await self._post_privately(outbound)
        else:
            await self._post(outbound)
        return None

    async def _take_back(self, outbound: OutboundMessage, delivery_ids: Collection[str]) -> None:
        """Delete a turn's stream, and the messages and files of its deliveries."""
        await outbound.assert_lease()
        await self._answers.discard(outbound)
        if not delivery_ids:
            return
        file_ids = await self._uploads.file_ids(delivery_ids)
        for message in await self._messages.read_recent(outbound.address):
            is_text = whole_of(delivery_id_of(message.get("metadata"))) in delivery_ids
            if is_text or not file_ids.isdisjoint(file_ids_of(message)):
                await outbound.assert_lease()
                await self._messages.delete(outbound.address.channel, str(message["ts"]))

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

    async def _post(self, outbound: OutboundMessage) -> None:
        """Share the file of a delivery that has one (``split``), or post an answer. An answer for
        one person alone has a file's words."""
        reply, conversation = outbound.delivery.reply, outbound.conversation
        url = outbound.address.response_url
        is_alone = bool(url)
        if reply.files and not is_alone and await self._uploads.share(outbound, reply.files[0]):
            return
        text = without_broadcasts(reply.text)
        fallback = text
        if not text:
            told = [*(card.text for card in reply.cards), *(one.value for one in reply.sayings)]
            fallback = escape("\n".join(told))
        asker = "" if is_alone else outbound.delivery.asker
        beside = [*map(card_block, reply.cards), *saying_blocks(reply, conversation, asker)]
        ratings = [one for one in reply.buttons if one.style in RATINGS]
        body = Body(text, cut_fallback(fallback), beside, ratings, conversation)
        if not (is_alone and await self._respond(url, outbound, body)):
            await self._answers.send(outbound, body)

    async def _post_privately(self, outbound: OutboundMessage) -> None:
        """Post for one person alone; if that is impossible, nothing is posted."""
        address, text = outbound.address, without_broadcasts(outbound.delivery.reply.text)
        url = address.private_url or address.response_url
        if url and await self._respond(url, outbound, Body(text, cut_fallback(text))):
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
        """Post by a response URL; false if it has expired."""
        thread = outbound.address.thread or None
        return await self._client.respond(
            url, text=body.fallback, blocks=body.blocks, thread_ts=thread
        )


class Body(NamedTuple):
    """What an answer says.

    Attributes:
        text: Slack's Markdown; may be empty where there are blocks.
        fallback: what notifications show.
        beside: is shown below the text.
        ratings: buttons that ask what people think of it, below all else.
        conversation: to which a press of these leads.
    """

    text: str
    fallback: str
    beside: Sequence[Block] = ()
    ratings: Sequence[Button] = ()
    conversation: str = ""

    @property
    def blocks(self) -> list[Block]:
        """The text with what is below it."""
        text = [{"type": "markdown", "text": self.text}] if self.text.strip() else []
        return [*text, *self.beside]


class Answers:
    """Posts answers, and finishes those that were streamed. They have all blocks that the workspace
    takes."""

    def __init__(
        self, client: Client, streaming: Streaming, identity: Identity, messages: Messages
    ) -> None:
        self._client = client
        self._streams = streaming.streams
        self._streaming = streaming
        self._identity = identity
        self._messages = messages
        self._refused = Pauses()

    async def send(self, outbound: OutboundMessage, body: Body) -> None:
        """Make the turn's stream the answer, or post the answer if there is none, or it had to be
        deleted.

        The stream is for the turn's first delivery alone, at each of its attempts.
        """
        delivery = outbound.delivery
        await self._streaming.wait_until_settled(delivery.turn_id)
        stream = await self._streams.get(delivery.turn_id, outbound.address.channel)
        if stream is not None and stream.delivery in ("", delivery.id):
            if stream := await self._claim(outbound, stream):
                await outbound.assert_lease()
                if await self._fill(stream, body):
                    return
            await self._streams.delete(delivery.turn_id)
        if not await self._messages.find(outbound):
            posted = await self._send_blocks(body, (), partial(self._post, outbound, body))
            self._messages.confirm(outbound, posted)

    async def discard(self, outbound: OutboundMessage) -> None:
        """Delete a turn's stream: its answer is void, or belongs below the question that the turn
        asks."""
        turn_id = outbound.delivery.turn_id
        await self._streaming.wait_until_settled(turn_id)
        stream = await self._streams.get(turn_id, outbound.address.channel)
        if stream is None:
            return
        if stream := await self._found(stream, outbound):
            await self._stop(stream)
            await self._messages.delete(**stream.target)
        await self._streams.delete(turn_id)

    async def _claim(self, outbound: OutboundMessage, stream: Stream) -> Stream | None:
        """The stream, stored as the delivery's own; None if Slack did not start it."""
        found = await self._found(stream, outbound)
        if found is None or found.delivery:
            return found
        turn_id = outbound.delivery.turn_id
        cards = self._streaming.written.get(turn_id, ())
        claimed = replace(found, delivery=outbound.delivery.id, cards=cards)
        await self._streams.save(turn_id, claimed)
        return claimed

    async def _found(self, stream: Stream, outbound: OutboundMessage) -> Stream | None:
        """The stream with its timestamp, which is unknown where Slack may have started it; None if
        it did not."""
        if stream.ts:
            return stream
        for message in await self._messages.read_recent(outbound.address):
            is_ours = self._identity.is_ours(message.get("user"), message.get("bot_id"))
            is_delivery = bool(delivery_id_of(message.get("metadata")))
            if is_ours and "streaming_state" in message and not is_delivery:
                return replace(stream, ts=str(message["ts"]))
        return None

    async def _fill(self, stream: Stream, body: Body) -> bool:
        """Make the message exactly the answer; false if that failed and the message is deleted."""
        stopped = await self._stop(stream)
        cards = [card.block for card in stream.cards]
        updated = await self._send_blocks(body, cards, partial(self._update, stream, body))
        if updated.ok:
            return True
        if updated.error == STILL_STREAMING:
            raise DeliverLater(f"chat.stopStream: {stopped or updated.error}", AWAY_S)
        log.warning("slack.stream_unfinished", cause=updated.error)
        if updated.error != GONE:
            await self._messages.delete(**stream.target)
        return False

    async def _stop(self, stream: Stream) -> str:
        """End a stream; the error, if Slack refuses."""
        return (await self._client.post_checked("chat.stopStream", **stream.target)).error

    async def _post(
        self, outbound: OutboundMessage, body: Body, blocks: list[Block]
    ) -> ApiResponse:
        # A message without anything but text shows all of it in notifications too.
        content: dict[str, object] = {"markdown_text": body.text}
        if body.beside or len(blocks) > 1:
            content = {"text": body.fallback, "blocks": blocks}
        return await self._messages.post(outbound, content)

    async def _update(self, stream: Stream, body: Body, blocks: list[Block]) -> ApiResponse:
        # A changed block shows no "(edited)". Messages whose stream has ended or expired take it
        # as well.
        return await self._client.post_checked(
            "chat.update",
            **stream.target,
            text=body.fallback,
            blocks=blocks,
            metadata=delivery_metadata(stream.delivery),
        )

    async def _send_blocks(
        self,
        body: Body,
        cards: Sequence[Block],
        send: Callable[[list[Block]], Awaitable[ApiResponse]],
    ) -> ApiResponse:
        """Send an answer; while Slack refuses its blocks, again with fewer. What was refused is
        left out for a while.

        Args:
            send: sends blocks; they are at least the body.

        Returns:
            Slack's response to the last try.

        Raises:
            DeliverInParts: the text is too long.
        """
        left_out = {extra for extra in EXTRAS if self._refused.left_s(extra)}
        last: Extra | None = None
        error = ""
        while True:
            blocks, next_out = _blocks(body, cards, left_out)
            response = await send(blocks)
            if response.ok and last and error in KIND_ERRORS:
                log.info("slack.blocks_unavailable", kind=last, cause=error)
                self._refused.begin(last, REFUSED_S)
            if next_out is None or response.error not in (*KIND_ERRORS, *LENGTH_ERRORS):
                break
            last, error = next_out, response.error
            left_out.add(last)
        if response.error in LENGTH_ERRORS and (length := units(body.text)) > SHORT:
            parts = split_markdown(body.text, length // 2)
            if len(parts) > 1:
                raise DeliverInParts(response.error, parts)
        return response


def _blocks(
    body: Body, cards: Sequence[Block], left_out: Collection[Extra]
) -> tuple[list[Block], Extra | None]:
    """The blocks of a message, and the first extra to leave out; None if there is only text."""
    shown = () if "cards" in left_out else cards
    blocks = [*shown, *body.blocks]
    kind: Extra | None = None
    if body.ratings and "plain" not in left_out:
        kind = "plain" if "native" in left_out else "native"
        native = kind == "native"
        blocks.append(feedback_block(body.ratings, body.conversation, native=native))
    return blocks, "cards" if shown else kind


async def show_said(client: Client, pressed: Press, said: str) -> None:
    """Replace the buttons by what was said, as far as Slack lets us; the press counts in any
    case."""
    message = as_object(pressed.message)
    if not isinstance(message.get("blocks"), list):
        return
    who = {"type": "user", "user_id": pressed.user.id}
    blocks = entries(message["blocks"])
    for place, block in enumerate(blocks):
        if block.get("block_id") == pressed.actions[0].block_id:
            blocks[place] = rich_text(rich_section(who, words(f": {said}")))
    if cause := await client.try_post(
        "chat.update",
        channel=pressed.container.channel_id,
        ts=pressed.container.message_ts,
        text=message.get("text") or said,
        blocks=blocks,
        metadata=message.get("metadata"),
    ):
        log.warning("slack.buttons_left", cause=cause)
