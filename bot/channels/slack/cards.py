"""Cards that wait for one person: where they stand, and what takes the place of their buttons.

Where a card was posted is stored: another process may change it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import Button, ButtonCard, Host, KeyValue
from bot.channels.slack.client import Client
from bot.channels.slack.formatting import (
    Block,
    button_row,
    context,
    escape,
    rich_section,
    rich_text,
    words,
)
from bot.channels.slack.messages import Messages, OutboundMessage, delivery_metadata
from bot.channels.slack.types import MOST_ROWS, ms
from bot.texts import Texts, language_of
from bot.transcript import channel_of, encode

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 2 * 86_400  # twice as long as a card may wait
OPEN = "card.open"  # opens the form that shows the whole card, and decides nothing
DATE = "{date_short_pretty} {time}"  # in the language and the zone of whoever reads it


class OpenCard(Struct, frozen=True):
    """The card that waits in a conversation, and its message.

    Attributes:
        language: of the texts around it.
    """

    card: ButtonCard
    channel: str
    ts: str
    language: str = "en"

    @property
    def is_whole(self) -> bool:
        """Whether the message shows all rows; of more than ``MOST_ROWS`` a form does."""
        return len(self.card.rows) <= MOST_ROWS


_decode = Decoder(OpenCard).decode


class WaitingCards:
    """Posts cards that wait for one person, and shows what came of them. Every method raises
    ``StoreUnavailable``."""

    def __init__(self, client: Client, messages: Messages, host: Host) -> None:
        self._client = client
        self._messages = messages
        self._host = host

    async def post(self, outbound: OutboundMessage, card: ButtonCard) -> int | None:
        """Post a card.

        Returns:
            The time of its message by Slack's clock, milliseconds since the epoch; None where Slack
            gives none.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        ours, _, _ = outbound.delivery.reply.text.partition("\n")  # the rest is of any language
        known = OpenCard(card, "", "", language_of(ours, self._host.language))
        buttons = card.buttons
        if not known.is_whole:
            label = self._host.texts.get("slack.review", known.language)
            buttons = (Button(label, OPEN, card.key), *(one for one in buttons if one.closes))
        row = button_row(buttons, outbound.conversation, decides=True)
        blocks = [waiting_block(known, self._host.texts, known.is_whole), row]
        content = {"text": escape(card.title), "blocks": blocks}
        channel, ts = await self._messages.send(outbound, content)
        value = encode(OpenCard(card, channel, ts, known.language))
        kv, conversation = self._host.kv, outbound.conversation
        await kv.set(_key(conversation), value, KEPT_S)
        if channel.startswith("D") and not outbound.address.thread:
            await kv.set(_newest_key(conversation, card.asker_id), conversation.encode(), KEPT_S)
        return ms(ts) or None

    async def settle(self, outbound: OutboundMessage) -> None:
        """Replace a card's buttons by the text, if its message is still known.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        conversation, reply = outbound.conversation, outbound.delivery.reply
        known = await read_open(conversation, self._host.kv)
        if known is None or known.card.key != reply.replaces:
            return
        await outbound.assert_lease()
        block = waiting_block(known, self._host.texts, known.is_whole)
        updated = await self._client.post_checked(
            "chat.update",
            channel=known.channel,
            ts=known.ts,
            text=escape(reply.text),
            blocks=[block, context(reply.text)],
            metadata=delivery_metadata(known.card.key),
        )
        if not updated.ok:
            log.warning("slack.buttons_left", cause=updated.error)
        await self._host.kv.set(_key(conversation), b"", 1)

    async def find_asked(self, conversation: str, user: str) -> str:
        """The conversation whose card a yes or no in a 1:1 answers: of those shown there, the one
        posted last."""
        newest = (await self._host.priority_kv.get(_newest_key(conversation, user)) or b"").decode()
        return newest if newest and await self.is_asked(newest, user) else conversation

    async def is_asked(self, conversation: str, user: str) -> bool:
        """Whether a card of the conversation waits for this person."""
        known = await read_open(conversation, self._host.priority_kv)
        return known is not None and known.card.asker_id == user


async def read_open(conversation: str, kv: KeyValue) -> OpenCard | None:
    """The card that waits in a conversation.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    value = await kv.get(_key(conversation))
    try:
        return _decode(value) if value else None
    except DecodeError:
        return None


def _newest_key(conversation: str, asker: str) -> str:
    return f"newest_card:{channel_of(conversation)}:{asker}"


def _key(conversation: str) -> str:
    return f"card:{conversation}"


def waiting_block(known: OpenCard, texts: Texts, whole: bool) -> Block:
    """The card: all rows exactly as they are, or the first one and the number of the others; whom
    it waits for, and until when. Slack itself renders the asker's name, so that no chosen name can
    fake it."""
    card, language = known.card, known.language
    rows, below = card.rows, card.note
    if not whole:
        rows, below = rows[:1], texts.get("slack.arguments", language, count=len(rows) - 1)
    exact = words("\n".join(value for _, value in rows))
    parts = [
        rich_section(words(card.title, bold=True)),
        {"type": "rich_text_preformatted", "elements": [exact]},
    ]
    if below:
        parts.append(rich_section(words(below)))
    circumstances: list[Block] = []
    if card.asker_id:
        asked_by = texts.get("slack.asked_by", language)
        asker = {"type": "user", "user_id": card.asker_id}
        circumstances = [words(f"{asked_by} "), asker, words("\n")]
    seconds = card.until // 1000
    fallback = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    until = {"type": "date", "timestamp": seconds, "format": DATE, "fallback": fallback}
    open_until = words(f"{texts.get('slack.open_until', language)} ")
    circumstances += [open_until, until]
    return rich_text(*parts, rich_section(*circumstances))
