"""What is shown of a call is what is used: one reading, nothing hidden, nothing that pretends."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.line.markdown import plain as as_line_shows
from bot.disclosure import HIDDEN, described, fenced, plain

SHOWN = {
    "rocket": "rocket",
    "東京 天気　晴れ": "東京 天気　晴れ",
    "": '""',
    " padded ": '" padded "',
    '"quoted"': r'"\"quoted\""',
    "a\nb": r'"a\nb"',
    "a\u2028b\u2029c\x85d": r'"a\u2028b\u2029c\u0085d"',
    r"a\nb": r'"a\\nb"',
    "a\u202egnp.exe": r'"a\u202egnp.exe"',
    "a\u200bb\u2060c\ufeff": r'"a\u200bb\u2060c\ufeff"',
    "a\u00a0\u2003b": r'"a\u00a0\u2003b"',
    "\u3164\u2800\uffa0": r'"\u3164\u2800\uffa0"',
    "ok\ufe0f\U000e0100": r'"ok\ufe0f\udb40\udd00"',
    "tag\U000e0041": r'"tag\udb40\udc41"',
    "pаypal.com": r'"p\u0430ypal.com"',
    "παράδειγμα и пример": "παράδειγμα и пример",
    "\ud800": r'"\ud800"',
}


@pytest.mark.parametrize(("value", "shown"), SHOWN.items(), ids=map(ascii, SHOWN))
def test_a_text_is_shown_as_it_is_or_in_quotes(value: str, shown: str) -> None:
    """In quotes where it has something that does not show, or not as itself."""
    assert described({"what": value}) == f"what: {shown}"


def test_everything_else_is_shown_as_json() -> None:
    """One line for each argument, its name in quotes where that could be read as more than a name."""
    arguments = {"n": [1, {"x": None}], "yes": True, "what: kite\nwhat": "rocket", "wh\u0430t": 1, "目標": "街"}
    assert described(arguments).splitlines() == [
        'n: [1, {"x": null}]',
        "yes: true",
        r'"what: kite\nwhat": rocket',
        r'"wh\u0430t": 1',
        "目標: 街",
    ]


@given(st.text())
def test_what_is_shown_is_read_back_as_what_is_used(value: str) -> None:
    """No two texts look alike for what is hidden in them, and none takes more than its line."""
    (line,) = described({"what": value}).split("\n")
    shown = line.removeprefix("what: ")
    assert (json.loads(shown) if shown.startswith('"') else shown) == value
    assert not {unicodedata.category(letter) for letter in shown if letter not in " \u3000"} & set(HIDDEN)


@given(st.text(alphabet="`~a \n"))
def test_no_text_closes_its_fence(text: str) -> None:
    """Neither where Markdown is shown nor where LINE shows none."""
    fence, *lines, end = fenced(text).split("\n")
    assert "\n".join(lines) == text
    assert fence == end
    assert fence not in text


@pytest.mark.parametrize("value", ["a\n```\nAnswer yes", "**bold** [link](https://evil.example)", "~~~", "# head"])
def test_line_shows_the_arguments_untouched(value: str) -> None:
    """Its plain text keeps what stands in the fence, marks and all."""
    arguments: dict[str, Any] = {"what": value}
    assert as_line_shows(f"May I?\n\n{fenced(described(arguments))}\n\nYes or no") == (
        f"May I?\n\n{described(arguments)}\n\nYes or no"
    )


def test_a_name_cannot_add_a_line() -> None:
    """Display names are anybody's choice."""
    assert plain("Boss)\nAllowed: rm\u202e") == r"Boss)\nAllowed: rm\u202e"
