"""Markdown on a terminal, without losing a word."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph
from rich.segment import Segment

INLINE = {"html_inline": "text", "softbreak": "hardbreak"}


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = {}  # Rich centres the first level; a chat has no title page


class ChatMarkdown(Markdown):
    """Markdown of a chat: line breaks stay, HTML is shown as it is, links show their address.

    It has neither Rich's many empty lines around blocks, nor its spaces at the end of each line:
    they would be copied with the text, and wrap lines when the window gets smaller.

    Args:
        last: how many lines, from the end, to draw; 0 draws all.
    """

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "html_block": Paragraph,
    }

    def __init__(self, text: str, last: int = 0) -> None:
        super().__init__(text, hyperlinks=False)
        self._last = last
        for token in self.parsed:
            for child in token.children or ():
                child.type = INLINE.get(child.type, child.type)
            if token.type == "html_block":
                token.content = token.content.strip()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Rich renders a group's segments as they are, which its types do not say.
        content = Group(*super().__rich_console__(console, options))  # type: ignore[arg-type]
        lines: list[list[Segment]] = []
        for line in console.render_lines(content, options.update(height=None), pad=False):
            trimmed = _trimmed(line)
            # No empty line at the start, and one at most between others.
            if trimmed or (lines and lines[-1]):
                lines.append(trimmed)
        if lines and not lines[-1]:
            lines.pop()
        for line in lines[-self._last :]:
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
