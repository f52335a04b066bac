"""Markdown on a terminal: drawn without losing a word, and parted where it can be printed for good while it grows."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph
from rich.segment import Segment

INLINE = {"html_inline": "text", "softbreak": "hardbreak"}


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = {}  # Rich centres the first level; a chat has no title page


class _Chatted(Markdown):
    """Markdown as people chat in it: line breaks count, HTML is shown as written, links show their address."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "html_block": Paragraph,
    }

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        for token in self.parsed:
            for child in token.children or ():
                child.type = INLINE.get(child.type, child.type)
            if token.type == "html_block":
                token.content = token.content.strip()


class Prose:
    """Markdown without the many empty lines that Rich puts around blocks, and without the spaces behind every line.

    Those spaces would be copied, and break the lines of a window that is made smaller.

    Args:
        last: so many lines from its end, for a place that may be too small; 0 for all.
    """

    def __init__(self, text: str, last: int = 0) -> None:
        self._markdown = _Chatted(text)
        self._last = last
        self._drawn: tuple[int, list[list[Segment]]] = (0, [])  # for a width; a screen is drawn again with every tick

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._drawn[0] != options.max_width:
            rendered = console.render_lines(self._markdown, options.update(height=None), pad=False)
            self._drawn = options.max_width, _spaced([_trimmed(line) for line in rendered])
        for line in self._drawn[1][-self._last :]:
            yield from line
            yield Segment.line()


def part(text: str) -> tuple[list[str], str]:
    """The blocks that further words cannot change, and the rest, which still grows."""
    lines = [f"{line}\n" for line in text.split("\n")]
    # An unfinished line may yet become something else: "2" a paragraph, "2. b" an item of the list before it.
    finished = "".join(lines[:-1])
    starts = [token.map[0] for token in Markdown(finished).parsed if token.level == 0 and token.map]
    edges = [0, *sorted({*starts[1:]} - {0})]
    blocks = ["".join(lines[start:end]) for start, end in pairwise(edges)]
    return blocks, "".join(lines[edges[-1] :])[:-1]


def _trimmed(line: list[Segment]) -> list[Segment]:
    """A line without the blanks at its end, unless they have a colour of their own."""
    kept = list(line)
    while kept and not (kept[-1].style and kept[-1].style.bgcolor):
        text = kept[-1].text.rstrip()
        if text:
            kept[-1] = kept[-1]._replace(text=text)
            break
        kept.pop()
    return kept


def _spaced(lines: list[list[Segment]]) -> list[list[Segment]]:
    """No empty line at the ends, and one at most between others."""
    kept = [line for line, before in zip(lines, [[], *lines], strict=False) if line or before]
    return kept if not kept or kept[-1] else kept[:-1]
