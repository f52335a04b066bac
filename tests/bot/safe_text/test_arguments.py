"""What is shown of a call is what is used: one reading, nothing hidden, nothing that pretends."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.line.formatting import plain_text as as_line_shows
from bot.safe_text.arguments import (
    SHOWN,
    code_block,
    render_arguments,
    render_within_limit,
)
from bot.safe_text.glyphs import BULLET, LEFT_TO_RIGHT, RTL_RUN, SPACE
from bot.transcript import encode
from tests.bot.safe_text.corpus import ATTACKS, BLANKS, IGNORABLE, LEGIBLE, MASKS

WRITTEN = {
    "rocket": "rocket",
    "": '""',
    "two words": '"two words"',
    " padded ": '"␣padded␣"',
    "a  b": '"a␣␣b"',
    "def f():\n    pass": r'"def f():\n␣␣␣␣pass"',
    "␣": r'"\u2423"',
    '"quoted"': r'"\"quoted\""',
    'say "hi"': r'"say \"hi\""',
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
    "pаypal.com и пример": r'"p\u0430ypal.com и пример"',
    "\ud800": r'"\ud800"',
    "true": '"true"',
    "-1.5e3": '"-1.5e3"',
    "2026-11-22": '"2026-11-22"',
    "▸ b: c": r'"\u25b8 b: c"',
    "o\u0301\u0301\u0301": '"o\u0301\u0301\\u0301"',
    "א 1 ב": '"\u200eא\u200e 1 \u200eב\u200e"',
    "שלום, עולם": '"\u200eשלום, עולם\u200e"',
}


def back(shown: str) -> object:
    """What a value stands for."""
    shown = shown.replace(LEFT_TO_RIGHT, "").replace(SPACE, " ")
    try:
        return json.loads(shown)
    except ValueError:
        return shown


@pytest.mark.parametrize(("value", "shown"), WRITTEN.items(), ids=map(ascii, WRITTEN))
def test_a_text_is_shown_as_it_is_or_in_quotes(value: str, shown: str) -> None:
    """In quotes where it is more than a word, or has something that does not show as itself."""
    assert render_arguments({"what": value}) == f"▸ what: {shown}"


def test_everything_else_is_shown_as_json() -> None:
    """One line for each argument, its name in quotes where that could be read as more than a
    name."""
    arguments = {
        "n": [1, {"x": None}, 1e400, -1e400],
        "yes": True,
        "what: kite\nwhat": "rocket",
        "wh\u0430t": 1,
        "目標": "街",
    }
    assert render_arguments(arguments).splitlines() == [
        '▸ n: [1, {"x": null}, null, null]',
        "▸ yes: true",
        r'▸ "what: kite\nwhat": rocket',
        r'▸ "wh\u0430t": 1',
        "▸ 目標: 街",
    ]


@pytest.mark.parametrize("text", LEGIBLE)
def test_what_people_write_stays_legible(text: str) -> None:
    """No escape in everyday text of any language, nor in emoji, paths and addresses."""
    shown = render_arguments({"what": text}).replace(LEFT_TO_RIGHT, "")
    assert shown in (f"▸ what: {text}", f'▸ what: "{text.replace(chr(34), chr(92) + chr(34))}"')


@pytest.mark.parametrize("arguments", ATTACKS.values(), ids=ATTACKS)
def test_nothing_pretends(arguments: dict[str, Any]) -> None:
    """A line an argument, each begun by what no value has; nothing unseen but our own marks; all of
    it read back."""
    lines = render_arguments(arguments).split("\n")
    assert len(lines) == len(arguments)
    for line, value in zip(lines, arguments.values(), strict=True):
        assert line.startswith(f"{BULLET} ")
        assert line.count(BULLET) == 1
        assert not re.search(r"[ \u3000]{2}|\s\Z", line)
        stored = (
            json.loads(encode(value)) if value != "\ud800" else value
        )  # numbers beyond JSON's are null on record
        assert json.dumps(stored) in (
            json.dumps(back(line.split(": ", at)[-1])) for at in range(1, line.count(": ") + 1)
        )
        bare = RTL_RUN.sub("", line)
        assert bare.count(LEFT_TO_RIGHT) == 2 * len(RTL_RUN.findall(line))
        assert not {unicodedata.bidirectional(letter) for letter in bare} & {"R", "AL", "AN"}


@pytest.mark.parametrize("text", MASKS.values(), ids=MASKS)
def test_no_letter_poses_as_another(text: str) -> None:
    """Whatever alphabet it is from, it is an escape where it can be taken for a Latin letter or a
    sign."""
    assert re.search(r"\\u[0-9a-f]{4}", render_arguments({"a": text}))


def test_nothing_is_shown_that_shows_nothing() -> None:
    """No code point that Unicode calls ignorable, and none that fonts leave blank."""
    points = [chr(point) for at, end in IGNORABLE for point in range(at, end + 1)]
    for letter in (*points, *BLANKS):
        assert render_arguments({"a": f"x{letter}y"}) == f'▸ a: "x{json.dumps(letter)[1:-1]}y"'


@given(st.text())
def test_what_is_shown_is_read_back_as_what_is_used(value: str) -> None:
    """No two texts look alike for what is hidden in them, and none takes more than its line."""
    (line,) = render_arguments({"what": value}).split("\n")
    shown = line.removeprefix("▸ what: ")
    assert (back(shown) if shown.startswith('"') else shown.replace(LEFT_TO_RIGHT, "")) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda of: st.lists(of) | st.dictionaries(st.text(), of),
    )
)
def test_types_can_be_told_apart(value: object) -> None:
    """A number, a list or an object never looks like a text of the same letters."""
    shown = render_arguments({"what": value}).removeprefix("▸ what: ")
    assert back(shown) == value
    assert isinstance(value, str) or shown != render_arguments({"what": shown}).removeprefix(
        "▸ what: "
    )


def test_what_is_too_long_is_not_described() -> None:
    """The limit counts what is shown, escapes and all."""
    assert render_within_limit({"a": "x" * (SHOWN - len("▸ a: "))}) is not None
    assert render_within_limit({"a": "x" * (SHOWN + 1 - len("▸ a: "))}) is None
    assert render_within_limit({"a": "\u202e" * 333}) is None
    assert render_within_limit({"a": " " * 10**6}) is None
    many = {str(number): 1 for number in range(200)}
    assert render_within_limit(many) == render_arguments(many)


@given(st.text(alphabet="`~a \n"))
def test_no_text_closes_its_fence(text: str) -> None:
    """Neither where Markdown is shown nor where LINE shows none."""
    fence, *lines, end = code_block(text).split("\n")
    assert "\n".join(lines) == text
    assert fence == end
    assert fence not in text


@pytest.mark.parametrize("arguments", ATTACKS.values(), ids=ATTACKS)
def test_line_shows_the_arguments_untouched(arguments: dict[str, Any]) -> None:
    """Its plain text keeps what stands in the fence, marks and all."""
    assert as_line_shows(f"May I?\n\n{code_block(render_arguments(arguments))}\n\nYes or no") == (
        f"May I?\n\n{render_arguments(arguments)}\n\nYes or no"
    )


def test_a_label_never_takes_a_names_place() -> None:
    """An argument of that name cannot pass for the labelled one."""
    arguments = {"path": "a", "File": "b", "File (path)": "c"}
    assert render_arguments(arguments, {"path": "File", "File": ""}).splitlines() == [
        "▸ File (path): a",
        "▸ File: b",
        '▸ "File (path)": c',
    ]
