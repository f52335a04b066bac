"""Markdown on a terminal, without losing a word."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph
from rich.segment import Segment

INLINE = {"html_inline": "text", "softbreak": "hardbreak"}


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = {}  # Rich centres the first level; a chat has no title page


class _Markdown(Markdown):
    """Markdown of a chat: line breaks stay, HTML is shown as it is, links show their address."""

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


class ChatMarkdown:
    """Markdown without Rich's many empty lines around blocks, and without its spaces at the end of
    each line.

    The spaces would be copied with the text, and wrap lines when the window gets smaller.

    Args:
        last: how many lines, from the end, to draw; 0 draws all.
    """

    def __init__(self, text: str, last: int = 0) -> None:
        self._markdown = _Markdown(text)
        self._last = last
        self._drawn: tuple[int, list[list[Segment]]] = (
            0,
            [],
        )  # width, lines: every tick draws again

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._drawn[0] != options.max_width:
            rendered = console.render_lines(self._markdown, options.update(height=None), pad=False)
            self._drawn = options.max_width, _spaced([_trimmed(line) for line in rendered])
        for line in self._drawn[1][-self._last :]:
            yield from line
            yield Segment.line()


def _trimmed(line: list[Segment]) -> list[Segment]:
    """A line without the blanks at its end, unless they have a background colour."""
    kept = list(line)
    while kept and not (kept[-1].style and kept[-1].style.bgcolor):
        text = kept[-1].text.rstrip()
        if text:
            kept[-1] = kept[-1]._replace(text=text)
            break
        kept.pop()
    return kept


def _spaced(lines: list[list[Segment]]) -> list[list[Segment]]:
    """Without empty lines at the start and end, and with at most one between others."""
    kept = [line for line, before in zip(lines, [[], *lines], strict=False) if line or before]
    return kept if not kept or kept[-1] else kept[:-1]
