"""Text for LINE: a reply as messages, with its cards, pictures and buttons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from bot.channels import Reply
from bot.channels.line.approvals import approval_messages
from bot.channels.line.flex import NO_WORDS
from bot.channels.line.polls import poll_card, poll_counts
from bot.channels.line.tables import Table, segments
from bot.channels.line.text import (
    LIMIT,
    MAX_MESSAGES,
    pieces_of,
    plain_text,
    shortened,
    split,
    split_messages,
)
from bot.channels.line.types import LABEL, Bubble, Button, Chat, LineMessage, alt_text
from bot.errors import DeliveryRefused
from bot.texts import Texts, language_of
from toolset.shown import Card

MOST_MESSAGES = 5  # that LINE takes at once

# UTF-16 code units that are formatted: without its marks, so long a text still fills the messages.
MOST = (MAX_MESSAGES + 2) * LIMIT
OFFERS = {"greeting": ("weather", "time", "sum", "help"), "help": ("weather", "time", "sum")}


class Formatter:
    """Formats replies.

    Args:
        language: of catalogue sentences, where the reply's text shows none.
    """

    def __init__(self, texts: Texts, language: str) -> None:
        self._texts = texts
        self._language = language

    def messages(
        self, reply: Reply, chat: Chat, pictures: Sequence[str] = (), told: str = ""
    ) -> list[LineMessage]:
        """The reply as at most five messages; a text for which no room is left is cut and offers to
        go on.

        Args:
            pictures: addresses.
            told: words below the text that are not cut, of pictures that LINE cannot show.

        Raises:
            DeliveryRefused: the reply is empty.
        """
        if reply.poll and reply.settles:
            return [poll_counts(reply.poll, self._texts)]
        if reply.question:
            # The first line is ours; the arguments below it may be in any language.
            asked = next(split(reply.text.strip(), MOST))
            text = plain_text(asked) or asked
            language = language_of(text.partition("\n")[0], self._language)
            return approval_messages(
                text, reply.question, self._texts, language, is_group=chat.is_group
            )
        # A press comes back without a mention, so in a group nobody would answer it.
        if chat.is_group and reply.choices:
            told = "\n\n".join(filter(None, (told, reply.told_choices)))
        beside = [
            *_cards(reply.cards),
            *([poll_card(reply.poll, self._texts)] if reply.poll else ()),
        ]
        beside += [LineMessage("", image=url) for url in pictures]
        text = "" if reply.poll and reply.text == reply.poll.question else reply.text.strip()
        language = language_of(text, self._language)
        more = self._more(reply, chat, language)
        words = _words(text, told, more, MOST_MESSAGES - len(beside))
        if not (words or beside):
            raise DeliveryRefused("there are no words in it")
        offers = (
            ("more",)
            if any(one.text.endswith(more) for one in words)
            else OFFERS.get(reply.kind, ())
        )
        choices = [Button(shortened(choice, LABEL), choice) for choice in reply.choices]
        quick = (
            () if chat.is_group else (*choices, *(self._button(name, language) for name in offers))
        )
        *above, last = words + beside  # LINE shows the buttons of the last message alone
        return [*above, last._replace(quick=quick)]

    def _more(self, reply: Reply, chat: Chat, language: str) -> str:
        """What stands where a text is cut. Nobody could go on with a translation."""
        if reply.free:
            return "…"
        return self._texts.get("line.more_group" if chat.is_group else "line.more", language)

    def _button(self, name: str, language: str) -> Button:
        label = self._texts.get(f"line.label_{name}", language)
        return Button(label, self._texts.get(f"line.say_{name}", language))


def _cards(cards: Sequence[Card]) -> list[LineMessage]:
    """All cards as one message."""
    if not cards:
        return []
    bubbles = tuple(
        Bubble(card.title or NO_WORDS, note=card.note, rows=card.rows) for card in cards
    )
    return [LineMessage(alt_text("\n\n".join(card.text for card in cards)), bubbles=bubbles)]


def _words(markdown: str, told: str, more: str, room: int) -> list[LineMessage]:
    """The text, with its tables as cards where there is room for all of it, and ``told`` below."""
    written = next(split(markdown, MOST))
    parts = segments(written)
    if len(parts) > 1 and len(written) == len(markdown):
        parts[-1] = "\n\n".join(filter(None, (str(parts[-1]).strip(), told)))
        with_tables = [message for part in parts for message in _as_messages(part)]
        if len(with_tables) <= room and sum(not one.bubbles for one in with_tables) <= MAX_MESSAGES:
            return with_tables
    text, most = plain_text(written) or written, min(room, MAX_MESSAGES)
    goes_on = len(written) < len(markdown)
    whole = list(islice(pieces_of("\n\n".join(filter(None, (text, told)))), most + 1))
    if len(whole) <= most and not goes_on:
        return list(map(LineMessage, whole))
    below = list(islice(pieces_of(told), most - 1)) if told else []
    pieces = split_messages(text, more, goes_on=goes_on, most=most - len(below))
    return list(map(LineMessage, (*pieces, *below)))


def _as_messages(part: str | Table) -> list[LineMessage]:
    return (
        [part.message]
        if isinstance(part, Table)
        else list(map(LineMessage, pieces_of(plain_text(part))))
    )
