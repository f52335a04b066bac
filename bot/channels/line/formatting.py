"""Text for LINE: a reply as messages, with its cards, pictures and buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from markdown_it.token import Token

from bot.channels import SAY, ButtonCard, Files, Reply
from bot.channels.line.client import NO_WORDS
from bot.channels.line.types import (
    ALT_TEXT,
    LABEL,
    Bubble,
    Button,
    Chat,
    LineMessage,
    data_of,
)
from bot.channels.markdown import parse
from bot.channels.replies import head, shortened, split, units
from bot.errors import DeliveryRefused
from bot.safe_text.addresses import unlinked
from bot.safe_text.glyphs import isolated_name, safe_name
from bot.texts import Texts, language_of
from toolset.shown import Card, row_text

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 4, 15, 60
# Twice as wide as a letter.
BULLET = "・"
# What Markdown gives a meaning. A text without it needs no parser, which takes most of the time
# that an answer costs.
SIGNS = re.compile(r"[*_~`\[<|\\]|^[ \t]*+(?:[-+#>=]|\d+[.)])", re.MULTILINE)
# Signs and lines; more are a tenth of a second's work, and no answer that somebody reads.
MOST_SIGNS = 4_000
# Stands behind a link's address. The parser leaves none in a text.
ENDED = "\0"
# What LINE would take for a part of the address.
BEHIND = re.compile(rf"{ENDED}(?=[^\s.,;:!?*_~'\"{ENDED}])")
BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
UNDERLINE = re.compile(r"(?:\A|\n)={3,}+$", re.MULTILINE)
GAPS = re.compile(r"\n{3,}")
LINE_END = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)


Rows = tuple[tuple[str, ...], ...]


class Piece(NamedTuple):
    """A line, a paragraph, a code block or a table.

    Attributes:
        before: the line ends between the piece and the one before it.
        rows: of a table that fits on a card, its head first; all have the same number of cells.
    """

    before: str
    text: str
    rows: Rows = ()


def pieces(markdown: str) -> list[Piece]:
    """The text without its marks. Its lines stay as they were written."""
    if not SIGNS.search(markdown):
        shown = LINE_END.sub("", markdown.replace("\r\n", "\n"))
        return [Piece("", GAPS.sub("\n\n", shown))]
    if len(SIGNS.findall(markdown)) + markdown.count("\n") > MOST_SIGNS:
        return [Piece("", markdown)]
    return _Renderer().render(parse(markdown))


def joined(shown: Iterable[Piece]) -> str:
    """The pieces as one text."""
    text = "".join(piece.before + piece.text for piece in shown)
    return text.strip("\n").rstrip()


def plain_text(markdown: str) -> str:
    """The text of Markdown, without its marks."""
    return joined(pieces(markdown))


class _Renderer:
    """Makes pieces of tokens."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        # The line below the last piece; -1 where something was left out below it.
        self._end = 0
        # What stands before the lines of the list items that are open.
        self._indents: list[str] = []
        self._marker = ""

    def render(self, tokens: Iterable[Token]) -> list[Piece]:
        """The pieces of a text."""
        rest = iter(tokens)
        for token in rest:
            lines = token.map or (self._end, self._end + 1)
            match token.type:
                case "list_item_open":
                    marker = f"{token.info}{token.markup} " if token.info else BULLET
                    self._marker = (self._marker or "".join(self._indents)) + marker
                    self._indents.append(" " * max(len(marker), 2))
                case "list_item_close":
                    if self._marker:
                        self._add("", lines)
                    self._indents.pop()
                case "hr":
                    self._end = -1
                case "fence":
                    self._add(token.content.removesuffix("\n"), lines)
                case "inline":
                    self._add(_text_of(token), lines)
                case "table_open":
                    rows = _rows(rest)
                    text = "\n".join(map(" | ".join, rows))
                    self._add(text, lines, () if token.level else _fitting(rows))
        return self._pieces

    def _add(self, text: str, lines: Sequence[int], rows: Rows = ()) -> None:
        """Add a piece.

        Args:
            lines: its first line and the one below it.
        """
        if not (text or self._marker):
            self._end = -1
            return
        before = "\n\n" if lines[0] > self._end or self._end < 0 else "\n"
        indent = "".join(self._indents)
        shown = (self._marker or indent) + text.replace("\n", f"\n{indent}")
        self._pieces.append(Piece(before if self._pieces else "", shown, rows))
        self._end = lines[1]
        self._marker = ""


def _rows(tokens: Iterable[Token]) -> list[list[str]]:
    """The cells of a table that has begun."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(" ".join(_text_of(token).split()))
    return rows


def _text_of(inline: Token) -> str:
    """The text of inline tokens; a link is its words and its address."""
    parts: list[str] = []
    links: list[tuple[int, str]] = []
    for token in inline.children or ():
        match token.type:
            case "text":
                parts.append(BREAK.sub("\n", token.content))
            case "code_inline":
                parts.append(token.content)
            case "softbreak" | "hardbreak":
                parts.append("\n")
            case "link_open":
                links.append((len(parts), str(token.attrs["href"])))
            case "link_close":
                start, address = links.pop()
                label = "".join(parts[start:]).strip(f" {ENDED}")
                if label in (address, address.partition("://")[2]):
                    label = ""
                parts[start:] = (f"{label} " if label else "", address, ENDED)
    text = BEHIND.sub(" ", "".join(parts)).replace(ENDED, "")
    return GAPS.sub("\n\n", UNDERLINE.sub("", text)).strip("\n")


def _fitting(rows: Sequence[Sequence[str]]) -> Rows:
    """These rows; none if they do not fit on a card."""
    fits = 1 < len(rows) <= MOST_ROWS + 1 and 1 < len(rows[0]) <= MOST_COLUMNS
    if fits and all(len(cell) <= LONGEST_CELL for row in rows for cell in row):
        return tuple(map(tuple, rows))
    return ()


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
        beside: list[LineMessage] = []
        if reply.cards:
            beside.append(_cards_side_by_side(reply.cards))
        if reply.card:
            beside.append(_with_buttons(reply.card))
        beside += [LineMessage("", image=url) for url in pictures]
        text = "" if reply.card and reply.text == reply.card.title else reply.text.strip()
        language = language_of(text, self._language)
        more = "…"  # nobody could go on with a translation
        if reply.keep != "if_free":
            key = "line.more_group" if chat.is_group else "line.more"
            more = self._texts.get(key, language)
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


def _cards_side_by_side(cards: Sequence[Card]) -> LineMessage:
    bubbles: list[Bubble] = []
    for card in cards:
        bubbles.append(Bubble(card.title or NO_WORDS, note=card.note, rows=card.rows))
    text = "\n\n".join(card.text for card in cards)
    return LineMessage(head(text, ALT_TEXT), bubbles=tuple(bubbles))


def _with_buttons(card: ButtonCard) -> LineMessage:
    """A card. A button that is labelled like a row has the row's number, as it may be cut."""
    numbers = {label: f"{number} {label}" for number, (label, _) in enumerate(card.rows, 1)}
    buttons: list[Button] = []
    for button in card.buttons:
        label = shortened(numbers.get(button.label, button.label), LABEL)
        buttons.append(Button(label, "", data_of(button.action, button.value)))
    lines = [row_text((label and numbers[label], value)) for label, value in card.rows]
    bubble = Bubble(card.title, "\n".join(lines), card.note, tuple(buttons))
    return LineMessage(head(card.title, ALT_TEXT), bubbles=(bubble,))


def _words(markdown: str, below: str, more: str, room: int) -> list[LineMessage]:
    """The text, with its tables as cards where there is room for all of it; below it words that
    are not cut."""
    written = next(split(markdown, MOST))
    is_cut = len(written) < len(markdown)
    shown = pieces(written)
    if not is_cut and any(piece.rows for piece in shown):
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
        if not piece.rows:
            words.append(piece)
            continue
        messages += map(LineMessage, pieces_of(joined(words)))
        # The rows as text stand in notifications.
        text = "\n".join(map(" | ".join, piece.rows))
        messages.append(LineMessage(head(text, ALT_TEXT), bubbles=(Bubble(rows=piece.rows),)))
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
