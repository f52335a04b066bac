"""Markdown as it is drawn on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bot.terminal.markdown import ChatMarkdown


def drawn(text: str, last: int = 0, *, colour: bool = False) -> str:
    """The text as it comes out, 40 cells wide."""
    file = io.StringIO()
    console = Console(
        file=file, width=40, force_terminal=colour, color_system="standard" if colour else None
    )
    console.print(ChatMarkdown(text, last))
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title\ntext", "Title\n\ntext\n"),
        ("one\ntwo", "one\ntwo\n"),
        ("Vec<T> and <b>bold</b>", "Vec<T> and <b>bold</b>\n"),
        ("<div>\nblock\n</div>\n", "<div>\nblock\n</div>\n"),
        ("[here](https://example.com)", "here (https://example.com)\n"),
        ("- a\n- b", " • a\n • b\n"),
        ("3. c\n4. d", " 3 c\n 4 d\n"),
        ("| a |\n|---|", " a\n ─\n"),
        ("> " * 50 + "deep", f"{'> ' * 19}>\n" * 2 + f"{'> ' * 10}deep\n"),
        ("**「東京」**です", "「東京」です\n"),
        ("2*3*4", "2*3*4\n"),
        ("", ""),
    ],
)
def test_what_is_written_is_what_is_read(text: str, expected: str) -> None:
    """No word is lost, line breaks count, and no line ends in blanks."""
    assert drawn(text) == expected


def test_the_colour_behind_code_reaches_to_the_edge() -> None:
    """Blanks that have a colour are seen, so they stay."""
    lines = drawn("```\nx\n```", colour=True).splitlines()
    assert len(lines) == 3
    assert all(" " * 38 in line for line in lines[::2])


def test_only_the_last_lines_are_drawn_where_room_is_short() -> None:
    """The newest words are at the end."""
    assert drawn("- a\n- b\n- c", last=2) == " • b\n • c\n"
