"""How the work of a function grows with its text: nasty shapes of any size, and the CPU time of one
thread."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

SMALLER, LARGER = 6_250, 25_000  # characters: both more than a message of LINE holds
SLOWEST = 8.0  # growth of work while a text grows fourfold: 4 is linear, 16 quadratic
# Less is not told from noise, nor from the step that a text takes which fits no single message.
FLOOR_S = 0.08
REPEATS = 12  # of a measurement that looks bad

Shape = Callable[[int], str]
T = TypeVar("T")


def _repeated(piece: str) -> Shape:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def _nested(opening: str, closing: str) -> Shape:
    return lambda size: (
        opening * (size // 2 // len(opening)) + closing * (size // 2 // len(closing))
    )


def _between(head: str, piece: str, tail: str) -> Shape:
    return lambda size: head + _repeated(piece)(size - len(head) - len(tail)) + tail


def _fences_of_all_lengths(size: int) -> str:
    """Runs of one backtick, two, three …: none closes another."""
    runs, length = ["a"], 1
    while size > 0:
        runs.append("`" * length)
        size -= length + 1
        length += 1
    return " ".join(runs)


def _families(size: int) -> str:
    return "👨‍👩‍👧‍👦" * (size // 7)


_PIECES = (
    *(
        "w",
        "9",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        "a\n",
        "a\n\n",
        "。",
        "日本語",
        "あ。",
        "a. ",
        "x y ",
        "a1",
        "\n \n",
        "\n\t",
    ),
    *(
        "*",
        "*a ",
        "a* ",
        "**a ",
        "_",
        "_a ",
        "~~",
        "~~a ",
        "~",
        "`",
        "` ",
        "``` ",
        "```\n",
        "~~~\n",
        "\n`",
    ),
    *(
        "[sticker:",
        "[",
        "](",
        "[a](",
        "![",
        "[a](http://x",
        "[](a://x)",
        "(",
        ")",
        "((1)",
        "[1,",
        "{",
        "}",
        '{"a":',
        "0,",
        "-(",
    ),
    *("http://a)", "https://a.example/b?c ", "a://", "a://、", "www.", "mailto:", "<http://a"),
    *("<", "<@U", "<@U1|", "<!", "<!subteam^A", "<br ", "&amp;", "</", "<U1>"),
    *("\\", "\\*", '"', '\\"', '"\\u', "\\ud83d", '["', '{"reply":"', "'", "’"),
    *(
        "|",
        "| a | b |\n",
        "|---|---|\n",
        "a|\n-|\n",
        "- ",
        "- a\n",
        "-",
        "1. a\n",
        "> ",
        "#",
        "# ",
        "=\n",
    ),
    *(
        "🍎",
        "🇯🇵",
        "👍🏽",
        "\u0301",
        "e\u0301",
        "\u200d",
        "\u202e",
        "א ",
        "\x00",
        "\x1b[",
        "\ufdd00\ufdd1",
    ),
    *("data: ", "data: a", "data: {}\n\n", ":\n\n", "\r", "/weather ", "@"),
)

SHAPES: dict[str, Shape] = {
    **{repr(piece): _repeated(piece) for piece in _PIECES},
    "a heading that ends late": _between("# a", " ", "x"),
    "a heading with closing marks": _between("# a", " #", "x"),
    "spaces before a word": _between("", " ", "x"),
    "a table with a rule that ends late": _between("a|b\n", " ", "-x"),
    "a table with a rule of spaces": _between("a|b\n-", " ", "x"),
    "a table with many cells": lambda size: "|a" * (size // 5) + "\n" + "|-:" * (size // 5),
    "emphasis within emphasis": _nested("*a ", "a* "),
    "strong within strong": _nested("**a ", "a** "),
    "all marks within each other": _nested("*_~~a ", "a~~_* "),
    "underscores within each other": _nested("_a ", "a_ "),
    "brackets within each other": _nested("[", "]"),
    "links within each other": _nested("[", "](http://a)"),
    "parentheses in an address": _between("http://a", "(", ")"),
    "parentheses that close too much": _between("http://a", ")", "."),
    "parentheses and full stops": _between("http://a", ").", "x"),
    "a link with an open end": _between("[a](http://a", "(b)", ""),
    "a link with a late quote": _between("[a](http://a ", " ", "'"),
    "base64": _repeated("aGVsbG8gd29ybGQ+/0123456789"),
    "an address without end": _between("https://a.example/", "a%20b", ""),
    "a code block without end": _between("```python\n", "x = 1\n", ""),
    "a code block of one line": _between("```\n", "x", "\n```"),
    "fences of all lengths": _fences_of_all_lengths,
    "tildes before a backtick": _between("", "~", "`"),
    "families": _families,
    "flags after a joiner": _between("\u200d", "🇯", ""),
    "quotes within quotes": _between("", "> ", "a"),
    "a reply": _between('{"reply": "', "a", '"}'),
    "a reply of escapes": _between('{"reply": "', "\\u3042", '"}'),
    "objects that never close": _repeated('{"a": [1, '),
    "a list in a list that never closes": _between("[" * 900, "1,", ""),
    "lists within lists": _nested("[", "]"),
    "objects within objects": lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6),
    "a long word and an address": _between("", "w", "://a"),
}


# For work that goes letter by letter, whatever stands beside it.
LETTERS = {
    repr(piece): SHAPES[repr(piece)]
    for piece in ("w", " ", "日本語", "`", "🍎", "\u0301", "\u202e", "א ", "\x00", "a1")
}


def assert_linear(work: Callable[[str], object], shapes: Mapping[str, Shape] = SHAPES) -> None:
    """Do the work with every shape and size, and compare what the sizes took."""
    assert_grows(work, shapes)


def assert_grows(work: Callable[[T], object], shapes: Mapping[str, Callable[[int], T]]) -> None:
    """The same with anything that comes in sizes."""
    complaints = {name: _complaint(work, shape) for name, shape in shapes.items()}
    bad = [f"{name}: {complaint}" for name, complaint in complaints.items() if complaint]
    assert not bad, "\n".join(bad)


def _complaint(work: Callable[[T], object], shape: Callable[[int], T]) -> str:
    larger = shape(LARGER)
    took = _seconds(work, larger)
    if took <= FLOOR_S:
        return ""
    smaller = shape(SMALLER)
    before = _seconds(work, smaller)
    if not _is_steep(before, took):
        return ""
    for _ in range(REPEATS):  # in turn: a machine is slow for seconds, and both must have the same
        before = min(before, _seconds(work, smaller))
        took = min(took, _seconds(work, larger))
        if not _is_steep(before, took):
            return ""
    times = took / before
    return (
        f"{times:.1f} times the work for 4 times the text ({took:.2f} s for {LARGER:,} characters)"
    )


def _is_steep(before: float, took: float) -> bool:
    return took > FLOOR_S and took > SLOWEST * before


def _seconds(work: Callable[[T], object], given: T) -> float:
    """Of this thread's CPU time, so that other processes count as little as they can."""
    gc.collect(0)
    gc.disable()
    try:
        started = time.thread_time()
        work(given)
        return time.thread_time() - started
    finally:
        gc.enable()
