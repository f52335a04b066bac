"""What Kaiwa reads of Markdown, by markdown-it: CommonMark and tables, without HTML and entities.

The page reads the same with the same library (``bot/web/static/markdown.js``). It differs from
CommonMark as models' answers do: marks need no spaces around them, for Japanese has none, and
``2*3*4`` is a product; an address is left as it is, whatever marks are in it; links lead to
addresses, so that ``f[0](x)`` is none, and an image is a link; lines such as ``[1]: note`` stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import getLine, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

from bot.channels.replies import fits, head, piece_end, units
from bot.safe_text.links import TARGET

# Levels of quotes and lists within each other; a list takes two.
DEEPEST = 40
BLOCKS = ("table", "fence", "blockquote", "hr", "list", "heading", "paragraph")
INLINE = ("text", "newline", "escape", "backticks", "strikethrough", "emphasis", "link")
PAIRS = ("balance_pairs", "strikethrough", "emphasis", "fragments_join")

# Every pattern takes linear time: possessive quantifiers keep it from trying a long run again from
# each of its characters, or in more than one way. A model can be made to write anything
# (tests/growth.py).
URL = r"(?:(?<![a-z])[a-z][a-z0-9+.-]{0,30}://|www\.|mailto:|tel:)"
# Brackets, or an image, may stand in a link's words.
LABEL = r"(?:[^\[\]\n]|!?\[[^\[\]\n]*+\](?:\([^()\n]*+\))?)*+"
LINK = re.compile(
    rf"!?\[(?P<label>{LABEL})\]\(\s*+<?(?P<url>{URL}{TARGET}++)>?"
    rf"(?:\s++(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*+\)|<(?P<angled>{URL}[^\s<>]+)>",
    re.IGNORECASE,
)
BARE = re.compile(rf"{URL}[^\s<>\"`、。，「」『』（）【】]+", re.IGNORECASE)
AFTER_URL = ".,;:!?*_~'\")"
# Where another rule than that of text may match.
STOP = re.compile(rf"[\n!<*_~`\[\\]|{URL}", re.IGNORECASE)
CELL = re.compile(r"((?:\\.|`[^`]*+`|[^|])*+)(?:\||$)")
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class Fence(NamedTuple):
    """A code block.

    Attributes:
        start: its first character in the text; ``end`` is behind its last.
        opening: its first line.
        closing: the marks that close it.
    """

    start: int
    end: int
    opening: str
    closing: str


def parse(text: str) -> list[Token]:
    """The tokens of a text. Where quotes and lists nest too deeply, it is a paragraph as it is."""
    tokens = _parser(BLOCKS).parse(text)
    if all(token.level < DEEPEST - 1 for token in tokens):
        return tokens
    written = Token("text", "", 0, content=text)
    inline = Token("inline", "", 0, map=[0, text.count("\n") + 1], children=[written])
    return [Token("paragraph_open", "p", 1), inline, Token("paragraph_close", "p", -1)]


def fences(text: str) -> Iterator[Fence]:
    """The code blocks of a text whose lines end with a line feed, but those in quotes."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parser = _parser(("fence", "paragraph"))
    tokens: list[Token] = []
    parser.block.parse(text, parser, {}, tokens)
    for token in tokens:
        if token.type == "fence" and token.map:
            first, last = token.map
            end = min(starts[last], len(text))
            yield Fence(starts[first], end, lines[first], token.markup)


@cache
def _parser(blocks: Sequence[str]) -> MarkdownIt:
    parser = MarkdownIt("zero", {"maxNesting": DEEPEST})
    parser.block.ruler.at("table", _table, {"alt": ["paragraph"]})
    parser.block.ruler.enableOnly(blocks)
    parser.inline = _ParserInline()
    parser.inline.ruler.at("text", _text)
    parser.inline.ruler.at("link", _link)
    parser.inline.ruler.enableOnly(INLINE)
    parser.inline.ruler2.enableOnly(PAIRS)
    return parser


class _ParserInline(ParserInline):
    """Text between the marks of blocks."""

    def parse(
        self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]
    ) -> list[Token]:
        """Add the tokens of a text."""
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    """What has been read of a text."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """The run of marks that starts here, and whether it may open and close emphasis."""
        mark = self.src[start]
        end = start + 1
        while end < self.posMax and self.src[end] == mark:
            end += 1
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        can_open = not after.isspace()
        can_close = not before.isspace()
        if mark == "*":
            can_open = can_open and not (before.isascii() and before.isalnum())
        elif mark == "_":
            can_open = can_open and not before.isalnum()
            can_close = can_close and not after.isalnum()
        return Scanned(can_open, can_close, end - start)


def _text(state: StateInline, silent: bool) -> bool:
    """Characters without a meaning, up to an address or from it to its end."""
    stop = STOP.search(state.src, state.pos, state.posMax)
    end = stop.start() if stop else state.posMax
    text = state.src[state.pos : end]
    if not text and (address := BARE.match(state.src, state.pos, state.posMax)):
        end += len(address[0].rstrip(AFTER_URL))
        text = ESCAPED.sub(r"\1", state.src[state.pos : end])
    state.append_pending(text)
    state.pos = end
    return bool(text)


def _link(state: StateInline, silent: bool) -> bool:
    """A link, an image, or an address in angle brackets."""
    found = LINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    opened = state.push("link_open", "a", 1)
    opened.attrs = {"href": ESCAPED.sub(r"\1", found["angled"] or found["url"])}
    end = state.posMax
    state.pos, state.posMax = found.span("angled" if found["angled"] else "label")
    state.md.inline.tokenize(state)
    state.push("link_close", "a", -1)
    state.pos, state.posMax = found.end(), end
    return True


def _table(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    """A table, as far as its lines have a bar; cells that its head lacks stand in the last one."""
    if not table(state, startLine, endLine, True):
        return False
    if silent:
        return True
    end = startLine + 2
    while end < endLine and "|" in getLine(state, end):
        end += 1
    first = len(state.tokens)
    table(state, startLine, end, False)
    columns = sum(token.type == "th_open" for token in state.tokens[first:])
    for index, token in enumerate(state.tokens[first:], first):
        if token.type == "tr_open" and token.map:
            # A cell has three tokens, the second with its text.
            cells = state.tokens[index + 2 : index + 3 * columns : 3]
            for cell, text in zip(
                cells, _cells(getLine(state, token.map[0]), columns), strict=True
            ):
                cell.content = text
    return True


def _cells(line: str, columns: int) -> list[str]:
    """The texts of a row's cells; a bar in code parts none."""
    # The last match is that of the line's end.
    found = CELL.findall(line.strip().removeprefix("|"))[:-1]
    texts = [text.replace("\\|", "|").strip() for text in found]
    cells = [*texts[: columns - 1], " | ".join(texts[columns - 1 :])]
    return cells + [""] * (columns - len(cells))


def split_markdown(markdown: str, limit: int) -> list[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; at least one.

    Code that fits in a piece goes whole into one. Longer code is closed, and opened again.
    """
    pieces: list[str] = []
    rest = markdown.replace("\r\n", "\n")
    while not fits(rest, limit):
        piece, rest = _first(rest, limit)
        pieces.append(piece)
    shown = [piece.strip("\n") for piece in (*pieces, rest) if piece.strip()]
    return shown or [markdown]


def _first(text: str, limit: int) -> tuple[str, str]:
    """The first piece of Markdown, and the rest."""
    most = len(head(text, limit))
    found = list(fences(text[: 2 * limit]))
    code = next((fence for fence in found if fence.end > most), None)
    if code is None or code.start >= most or _is_too_wide(code, limit):
        end = piece_end(text, most, [fence[:2] for fence in found if fence.end <= most])
        return text[:end], text[end:]
    if code.start > 0:
        return text[: code.start], text[code.start :]
    body = len(code.opening) + 1
    room = len(head(text, limit - len(code.closing) - 1))
    end = text.rfind("\n", body, room) + 1 or room
    lines = text[body:end].rstrip("\n")
    piece = f"{code.opening}\n{lines}\n{code.closing}" if lines else ""
    if not text[end : code.end].strip(f"{code.closing[0]} \t\n"):
        return piece, text[code.end :]
    return piece, f"{code.opening}\n{text[end:]}"


def _is_too_wide(code: Fence, limit: int) -> bool:
    """Whether the marks around code would leave too little room for it."""
    return units(code.opening) + len(code.closing) + 2 > limit // 2
