"""Text for LINE: a reply as messages, with its cards, pictures and buttons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from bot.channels import SAY, ButtonCard, Files, Reply
from bot.channels.line.flex import NO_WORDS
from bot.channels.line.markdown import Piece, joined, pieces, plain_text
from bot.channels.line.types import (
    LABEL,
    Bubble,
    Button,
    Chat,
    LineMessage,
    alt_text,
    data_of,
)
from bot.channels.splitting import split
from bot.channels.utf16 import shortened, units
from bot.errors import DeliveryRefused
from bot.safe_text.addresses import unlinked
from bot.safe_text.names import isolated_name, safe_name
from bot.texts import Texts, language_of
from toolset.shown import Card, row_text

# UTF-16 code units of one message.
LIMIT = 5_000
# Then the reader is asked whether to go on.
MAX_MESSAGES = 3
# That LINE takes at once.
MOST_MESSAGES = 5
# UTF-16 code units of a name; the sentence above buttons has at most 240.
NAME_LIMIT = 40
# UTF-16 code units that are formatted: without its marks, so long a text still fills the messages.
MOST = (MAX_MESSAGES + 2) * LIMIT
# Of the pictures of an answer: LINE takes five messages at once; a text is up to three, and a card
# with buttons is one.
MAX_PICTURES = 2
MAX_PREVIEW = 1_000_000  # bytes; the picture is its own preview
MIMES = ("image/png", "image/jpeg")


async def find_pictures(
    reply: Reply, files: Files, *, is_late: bool = False
) -> tuple[list[str], str]:
    """The https addresses of the pictures that LINE can show, and the words of the others:
    https://developers.line.biz/en/reference/messaging-api/#image-message

    Args:
        is_late: the pictures, which are kept for a day, may be gone.

    Raises:
        StoreUnavailable: the addresses cannot be made.
    """
    shown, in_words = list[str](), list[str]()
    most = MAX_PICTURES - (reply.card is not None)
    for file in reply.files:
        fits = len(shown) < most and file.mime in MIMES and file.size <= MAX_PREVIEW
        is_there = fits and not (is_late and await files.read(file) is None)
        url = await files.url(file) if is_there else ""
        if url.startswith("https://"):
            shown.append(url)
        else:
            in_words.append(file.text)
    return shown, "\n\n".join(in_words)


class Formatter:
    """Formats replies.

    Args:
        language: of catalogue sentences, where the reply's text shows none.
    """

    def __init__(self, texts: Texts, language: str) -> None:
        self._texts = texts
        self._language = language

    def messages(
        self, reply: Reply, chat: Chat, pictures: Sequence[str] = (), in_words: str = ""
    ) -> list[LineMessage]:
        """The reply as at most five messages; a text for which no room is left is cut and offers to
        go on.

        Args:
            pictures: addresses.
            in_words: pictures that LINE cannot show; stands below the text, and is not cut.

        Raises:
            DeliveryRefused: the reply is empty.
        """
        if reply.card and reply.is_change:
            return [LineMessage(reply.card.text)]
        if reply.card and reply.awaited:
            # The first line is ours; what is below it may be in any language.
            asked = next(split(reply.text.strip(), MOST))
            text = plain_text(asked) or asked
            language = language_of(text.partition("\n")[0], self._language)
            # LINE opens the links of a message by itself, before anybody has decided.
            made = [LineMessage(unlinked(text)), self.decision(reply.card, chat, language)]
            made[-1] = made[-1]._replace(quick=self._quick(reply, chat, "", language))
            return made
        # A press comes back without a mention, so in a group nobody would answer it.
        if chat.is_group:
            in_words = "\n\n".join(filter(None, (in_words, reply.sayings_in_words)))
        beside = _cards(reply.cards)
        if reply.card:
            beside.append(_with_buttons(reply.card))
        beside += [LineMessage("", image=url) for url in pictures]
        text = "" if reply.card and reply.text == reply.card.title else reply.text.strip()
        language = language_of(text, self._language)
        more = self._more(reply, chat, language)
        words = _words(text, in_words, more, MOST_MESSAGES - len(beside))
        if not (words or beside):
            raise DeliveryRefused("there are no words in it")
        made = words + beside
        cut = more if any(one.text.endswith(more) for one in words) else ""
        # LINE shows the buttons of the last message alone.
        made[-1] = made[-1]._replace(quick=self._quick(reply, chat, cut, language))
        return made

    def decision(self, card: ButtonCard, chat: Chat, language: str) -> LineMessage:
        """The buttons of a card that waits for one person, below a sentence that names them. The
        card itself is never cut: LINE refuses what is too long, and nobody approves half of it."""
        buttons: list[Button] = []
        for one in card.buttons:
            buttons.append(Button(one.label, one.label, data_of(one.action, one.value)))
        name = isolated_name(next(split(safe_name(card.asker), NAME_LIMIT)).strip())
        text = card.title
        if chat.is_group:
            key = "confirm_unknown"
            if card.asker_id:
                key = "confirm_group" if name else "confirm_nameless"
            text = self._texts.get(f"line.{key}", language, title=card.title, asker=name)
        return LineMessage(text, choice=tuple(buttons))

    def _quick(self, reply: Reply, chat: Chat, cut: str, language: str) -> tuple[Button, ...]:
        """The buttons of a reply; of a text that is cut, one to read on.

        What one says in a group would lack the mention, and nobody would answer it.
        """
        saying, acting = list[Button](), list[Button]()
        for one in reply.buttons:
            label = shortened(one.label, LABEL)
            if one.action == SAY:
                saying.append(Button(label, one.value))
            elif not one.style:
                acting.append(Button(label, "", data_of(one.action, one.value)))
        if cut:
            label = self._texts.get("line.label_more", language)
            saying.append(Button(label, self._texts.get("line.say_more", language)))
        return (*(() if chat.is_group else saying), *acting)

    def _more(self, reply: Reply, chat: Chat, language: str) -> str:
        """What stands where a text is cut. Nobody could go on with a translation."""
        if reply.keep == "if_free":
            return "…"
        return self._texts.get("line.more_group" if chat.is_group else "line.more", language)


def _cards(cards: Sequence[Card]) -> list[LineMessage]:
    """All cards as one message."""
    if not cards:
        return []
    bubbles = tuple(
        Bubble(card.title or NO_WORDS, note=card.note, rows=card.rows) for card in cards
    )
    return [LineMessage(alt_text("\n\n".join(card.text for card in cards)), bubbles=bubbles)]


def _with_buttons(card: ButtonCard) -> LineMessage:
    """A card. A button that is labelled like a row has the row's number, as it may be cut."""
    numbers = {label: f"{number} {label}" for number, (label, _) in enumerate(card.rows, 1)}
    buttons: list[Button] = []
    for button in card.buttons:
        label = shortened(numbers.get(button.label, button.label), LABEL)
        buttons.append(Button(label, "", data_of(button.action, button.value)))
    lines = [row_text((label and numbers[label], value)) for label, value in card.rows]
    bubble = Bubble(card.title, "\n".join(lines), card.note, tuple(buttons))
    return LineMessage(alt_text(card.title), bubbles=(bubble,))


def _words(markdown: str, below: str, more: str, room: int) -> list[LineMessage]:
    """The text, with its tables as cards where there is room for all of it; below it words that
    are not cut."""
    written = next(split(markdown, MOST))
    is_cut = len(written) < len(markdown)
    shown = pieces(written)
    if not is_cut and any(piece.table for piece in shown):
        with_tables = _with_tables([*shown, Piece("\n\n", below)])
        texts = [message for message in with_tables if not message.bubbles]
        if len(with_tables) <= room and len(texts) <= MAX_MESSAGES:
            return with_tables
    text = joined(shown) or written
    most = min(room, MAX_MESSAGES)
    whole = list(islice(pieces_of(f"{text}\n\n{below}".rstrip()), most + 1))
    if len(whole) <= most and not is_cut:
        return list(map(LineMessage, whole))
    last = list(islice(pieces_of(below), most - 1))
    first = split_messages(text, more, goes_on=is_cut, most=most - len(last))
    return list(map(LineMessage, (*first, *last)))


def _with_tables(shown: Sequence[Piece]) -> list[LineMessage]:
    messages: list[LineMessage] = []
    words: list[Piece] = []
    for piece in shown:
        if piece.table is None:
            words.append(piece)
            continue
        messages += map(LineMessage, pieces_of(joined(words)))
        messages.append(piece.table.message)
        words.clear()
    messages += map(LineMessage, pieces_of(joined(words)))
    return messages


def split_messages(
    text: str, more: str, limit: int = LIMIT, *, goes_on: bool = False, most: int = MAX_MESSAGES
) -> list[str]:
    """The text as messages, none of them empty.

    Args:
        more: ends the last message if the text is longer than the messages.
        goes_on: the text has been cut before.
        most: number of messages.
    """
    found = list(islice(pieces_of(text, limit), most + 1))
    if not found or (len(found) <= most and not goes_on):
        return found
    *whole, last = found[:most]
    end = f"\n\n{more}"
    return [*whole, next(split(last, limit - units(end))).rstrip() + end]


def pieces_of(text: str, limit: int = LIMIT) -> Iterator[str]:
    """The text in pieces of a message's size, without empty ones."""
    return filter(None, map(str.strip, split(text, limit)))
