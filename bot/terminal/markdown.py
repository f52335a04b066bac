"""Markdown on a terminal, without losing a word."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text

from bot.channels.markdown import parse


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = {}  # Rich centres the first level; a chat has no title page


class ChatMarkdown(Markdown):
    """Markdown of a chat, read as the page reads it: line breaks stay, links show their address.

    It has neither Rich's many empty lines around blocks, nor its blanks at the end of each line:
    they would be copied with the text, and wrap lines when the window gets smaller.

    Args:
        last: how many lines, from the end, to draw; 0 draws all.
    """

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
    }

    def __init__(self, text: str, last: int = 0) -> None:
        super().__init__("", hyperlinks=False)
        self._last = last
        self.parsed = parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Rich renders a group's segments as they are, which its types do not say.
        content = Group(*super().__rich_console__(console, options))  # type: ignore[arg-type]
        lines: list[Text] = []
        for segments in console.render_lines(content, options.update(height=None), pad=False):
            line = Text.assemble(*[(part.text, part.style or "") for part in segments])
            # Blanks that have a colour behind them are seen.
            if not (segments and segments[-1].style and segments[-1].style.bgcolor):
                line.rstrip()
            # No empty line at the start, and one at most between others.
            if line or (lines and lines[-1]):
                lines.append(line)
        if lines and not lines[-1]:
            lines.pop()
        yield from lines[-self._last :]
