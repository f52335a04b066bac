"""Text for LINE: a reply as messages, with its cards, pictures and buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from markdown_it.token import Token

from bot.channels import SAY, ButtonCard, Files, Reply
from bot.channels.line.types import JSON, LABEL, Chat, action_of, data_of
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
ALT_TEXT = 1_500  # UTF-16 code units, of the text that notifications show in place of bubbles
NO_WORDS = "–"  # LINE refuses an empty text
BUTTON: JSON = {"type": "button", "style": "secondary", "height": "sm"}


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
    ) -> list[JSON]:
        """The reply as at most five messages; a text for which no room is left is cut and offers to
        go on.

        Args:
            pictures: addresses.
            in_words: pictures that LINE cannot show; stands below the text, and is not cut.

        Raises:
            DeliveryRefused: the reply is empty.
        """
        if reply.card and reply.is_change:
            return [_text_message(reply.card.text)]
        if reply.card and reply.awaited:
            # The first line is ours; what is below it may be in any language.
            asked = next(split(reply.text.strip(), MOST))
            text = plain_text(asked) or asked
            language = language_of(text.partition("\n")[0], self._language)
            # LINE opens the links of a message by itself, before anybody has decided.
            return [_text_message(unlinked(text)), self.decision(reply.card, chat, language)]
        # A press comes back without a mention, so in a group nobody would answer it.
        if chat.is_group:
            in_words = "\n\n".join(filter(None, (in_words, reply.sayings_in_words)))
        beside: list[JSON] = []
        if reply.cards:
            beside.append(_cards_side_by_side(reply.cards))
        if reply.card:
            beside.append(_with_buttons(reply.card))
        for url in pictures:
            beside.append({"type": "image", "originalContentUrl": url, "previewImageUrl": url})
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
        is_cut = any(one.get("text", "").endswith(more) for one in words)
        if (is_cut or reply.buttons) and (actions := self._quick(reply, chat, language, is_cut)):
            items = [{"type": "action", "action": action} for action in actions]
            # LINE shows the buttons of the last message alone.
            made[-1]["quickReply"] = {"items": items}
        return made

    def decision(self, card: ButtonCard, chat: Chat, language: str) -> JSON:
        """The buttons of a card that waits for one person, below a sentence that names them. The
        card itself is never cut: LINE refuses what is too long, and nobody approves half of it."""
        actions: list[JSON] = []
        for one in card.buttons:
            actions.append(action_of(one.label, one.label, data_of(one.action, one.value)))
        name = isolated_name(next(split(safe_name(card.asker), NAME_LIMIT)).strip())
        text = card.title
        if chat.is_group:
            key = "confirm_unknown"
            if card.asker_id:
                key = "confirm_group" if name else "confirm_nameless"
            text = self._texts.get(f"line.{key}", language, title=card.title, asker=name)
        template = {"type": "confirm", "text": text, "actions": actions}
        return {"type": "template", "altText": text, "template": template}

    def _quick(self, reply: Reply, chat: Chat, language: str, is_cut: bool) -> list[JSON]:
        """The buttons of a reply; of a text that is cut, one to read on.

        What one says in a group would lack the mention, and nobody would answer it.
        """
        saying, acting = list[JSON](), list[JSON]()
        for one in reply.buttons:
            label = shortened(one.label, LABEL)
            if one.action == SAY:
                saying.append(action_of(label, one.value))
            elif not one.style:
                acting.append(action_of(label, "", data_of(one.action, one.value)))
        if is_cut:
            label = self._texts.get("line.label_more", language)
            saying.append(action_of(label, self._texts.get("line.say_more", language)))
        return acting if chat.is_group else saying + acting


def _cards_side_by_side(cards: Sequence[Card]) -> JSON:
    bubbles = [_bubble(card.title or NO_WORDS, card.note, rows=card.rows) for card in cards]
    text = "\n\n".join(card.text for card in cards)
    return _flex_message(text, bubbles)


def _with_buttons(card: ButtonCard) -> JSON:
    """A card. A button that is labelled like a row has the row's number, as it may be cut; one that
    closes it is words without a ground."""
    numbers = {label: f"{number} {label}" for number, (label, _) in enumerate(card.rows, 1)}
    buttons: list[JSON] = []
    for one in card.buttons:
        label = shortened(numbers.get(one.label, one.label), LABEL)
        action = action_of(label, "", data_of(one.action, one.value))
        buttons.append(BUTTON | ({"style": "link"} if one.closes else {}) | {"action": action})
    lines = [row_text((label and numbers[label], value)) for label, value in card.rows]
    bubble = _bubble(card.title, card.note, "\n".join(lines), buttons)
    return _flex_message(card.title, [bubble])


def _words(markdown: str, below: str, more: str, room: int) -> list[JSON]:
    """The text, with its tables as cards where there is room for all of it; below it words that
    are not cut."""
    written = next(split(markdown, MOST))
    is_cut = len(written) < len(markdown)
    shown = pieces(written)
    if not is_cut and any(piece.rows for piece in shown):
        with_tables = _with_tables([*shown, Piece("\n\n", below)])
        texts = [message for message in with_tables if "text" in message]
        if len(with_tables) <= room and len(texts) <= MAX_MESSAGES:
            return with_tables
    text = joined(shown) or written
    most = min(room, MAX_MESSAGES)
    whole = list(islice(pieces_of(f"{text}\n\n{below}".rstrip()), most + 1))
    if len(whole) <= most and not is_cut:
        return list(map(_text_message, whole))
    last = list(islice(pieces_of(below), most - 1))
    first = split_messages(text, more, goes_on=is_cut, most=most - len(last))
    return list(map(_text_message, (*first, *last)))


def _with_tables(shown: Sequence[Piece]) -> list[JSON]:
    messages: list[JSON] = []
    words: list[Piece] = []
    for piece in shown:
        if not piece.rows:
            words.append(piece)
            continue
        messages += map(_text_message, pieces_of(joined(words)))
        # The rows as text stand in notifications.
        text = "\n".join(map(" | ".join, piece.rows))
        messages.append(_flex_message(text, [_bubble(rows=piece.rows)]))
        words.clear()
    messages += map(_text_message, pieces_of(joined(words)))
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


def _text_message(text: str) -> JSON:
    return {"type": "text", "text": text}


def _flex_message(text: str, bubbles: Sequence[JSON]) -> JSON:
    """A card, or several side by side: https://developers.line.biz/en/reference/messaging-api/#flex-message

    Args:
        text: stands in notifications.
    """
    contents = bubbles[0] if len(bubbles) == 1 else {"type": "carousel", "contents": bubbles}
    return {"type": "flex", "altText": head(text, ALT_TEXT), "contents": contents}


def _bubble(
    title: str = "",
    note: str = "",
    lines: str = "",
    buttons: Sequence[JSON] = (),
    rows: Sequence[Sequence[str]] = (),
) -> JSON:
    """A card, by LINE's name: a title, rows, lines, a small sentence and buttons, which stay in the
    chat.

    Args:
        rows: a label and a value each; without a title, a table with its head.
    """
    parts: list[JSON] = []
    if title:
        parts.append(_text(title, weight="bold"))
    if lines:
        parts.append(_text(lines, size="sm"))
    for number, row in enumerate(rows):
        widths = (2, 5) if title else (1,) * len(row)
        head_style = {} if title or number else {"weight": "bold"}
        cells: list[JSON] = []
        for cell, width in zip(row, widths, strict=True):
            cells.append(_text(cell.strip() or NO_WORDS, size="sm", flex=width, **head_style))
        parts.append(_box("horizontal", "md", cells))
    if note:
        parts.append(_text(note, size="xs"))
    made: JSON = {"type": "bubble", "body": _box("vertical", "md", parts)}
    if buttons:
        made["footer"] = _box("vertical", "sm", buttons)
    return made


def _box(layout: str, spacing: str, contents: Sequence[JSON]) -> JSON:
    return {"type": "box", "layout": layout, "spacing": spacing, "contents": contents}


def _text(text: str, **style: object) -> JSON:
    return {"type": "text", "text": text, "wrap": True, **style}
