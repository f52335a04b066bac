"""Cards that wait for one person: where they stand, and what takes the place of their buttons.

Where a card was posted is stored: another process may change it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import Button, ButtonCard, Host, KeyValue
from bot.channels.slack.blocks import Block, context, rich_section, rich_text, words
from bot.channels.slack.buttons import decision_block
from bot.channels.slack.client import FIRST_WAIT_S, Client
from bot.channels.slack.formatting import escape
from bot.channels.slack.messages import Messages, OutboundMessage, delivery_metadata
from bot.channels.slack.types import ms
from bot.errors import DeliverLater, StoreUnavailable
from bot.texts import Texts, language_of
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 2 * 86_400  # twice as long as a card may wait
OPEN = "card.open"  # opens the form that shows the whole card, and decides nothing
MOST_ROWS = 4  # that the message shows; of a card with more it shows the first one
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


_decode = Decoder(OpenCard).decode


class WaitingCards:
    """Posts cards that wait for one person, and shows what came of them."""

    def __init__(self, client: Client, messages: Messages, host: Host) -> None:
        self._client = client
        self._messages = messages
        self._kv = host.kv
        self._priority_kv = host.priority_kv
        self._texts = host.texts
        self._language = host.language

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
        ours, _, _ = outbound.reply.text.partition("\n")  # what follows may be in any language
        language, buttons = language_of(ours, self._language), card.buttons
        if not is_whole(card):
            opens = Button(self._texts.get("slack.review", language), OPEN, card.key)
            buttons = (opens, *(one for one in buttons if one.closes))
        block = card_block(card, self._texts, language, whole=is_whole(card))
        shown = [block, decision_block(buttons, outbound.conversation)]
        sent = await self._messages.send(outbound, {"text": escape(card.title), "blocks": shown})
        value = encode(OpenCard(card, sent.channel, sent.ts, language))
        try:
            await self._kv.set(_key(outbound.conversation), value, KEPT_S)
            if sent.channel.startswith("D") and not outbound.address.thread:
                newest = outbound.conversation.encode()
                await self._kv.set(_newest_key(card.asker_id), newest, KEPT_S)
        except StoreUnavailable as error:
            raise DeliverLater("where the card was posted is not stored", FIRST_WAIT_S) from error
        return ms(sent.ts) or None

    async def settle(self, outbound: OutboundMessage) -> None:
        """Replace a card's buttons by the text, if its message is still known.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            known = await read_open(outbound.conversation, self._kv)
            if known is None or known.card.key != outbound.reply.replaces:
                return
            await outbound.assert_lease()
            await self._show(known, outbound.reply.text)
            await self._kv.set(_key(outbound.conversation), b"", 1)
        except StoreUnavailable as error:
            raise DeliverLater(
                "the store does not say where the card was posted", FIRST_WAIT_S
            ) from error

    async def find_asked(self, conversation: str, user: str) -> str:
        """The conversation whose card a yes or no in a 1:1 answers: of those shown there, the one
        posted last.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        newest = (await self._priority_kv.get(_newest_key(user)) or b"").decode()
        return newest if newest and await self.is_asked(newest, user) else conversation

    async def is_asked(self, conversation: str, user: str) -> bool:
        """Whether a card of the conversation waits for this person.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        known = await read_open(conversation, self._priority_kv)
        return known is not None and known.card.asker_id == user

    async def _show(self, known: OpenCard, outcome: str) -> None:
        block = card_block(known.card, self._texts, known.language, whole=is_whole(known.card))
        updated = await self._client.post_checked(
            "chat.update",
            channel=known.channel,
            ts=known.ts,
            text=escape(outcome),
            blocks=[block, context(outcome)],
            metadata=delivery_metadata(known.card.key),
        )
        if not updated.ok:
            log.warning("slack.buttons_left", cause=updated.error)


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


def is_whole(card: ButtonCard) -> bool:
    """Whether the message shows all rows; of more than ``MOST_ROWS`` a form does."""
    return len(card.rows) <= MOST_ROWS


def _newest_key(asker: str) -> str:
    return f"newest_card:slack:{asker}"


def _key(conversation: str) -> str:
    return f"card:{conversation}"


def card_block(card: ButtonCard, texts: Texts, language: str, *, whole: bool) -> Block:
    """The card: all rows exactly as they are, or the first one and the number of the others; whom
    it waits for, and until when."""
    below = card.note
    if not whole:
        below = texts.get("slack.arguments", language, count=len(card.rows) - 1)
        card = replace(card, rows=card.rows[:1])
    exact = "\n".join(value for _, value in card.rows)
    parts = [
        rich_section(words(card.title, bold=True)),
        {"type": "rich_text_preformatted", "elements": [words(exact)]},
    ]
    if below:
        parts.append(rich_section(words(below)))
    parts.append(rich_section(*_circumstances(card, texts, language)))
    return rich_text(*parts)


def _circumstances(card: ButtonCard, texts: Texts, language: str) -> list[Block]:
    """Asker and expiry. Slack itself renders the asker's name, so that no chosen name can fake
    it."""
    seconds = card.until // 1000
    fallback = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    until = {"type": "date", "timestamp": seconds, "format": DATE, "fallback": fallback}
    parts = [words(f"{texts.get('slack.open_until', language)} "), until]
    if card.asker_id:
        asker = {"type": "user", "user_id": card.asker_id}
        asked_by = words(f"{texts.get('slack.asked_by', language)} ")
        parts = [asked_by, asker, words("\n"), *parts]
    return parts
