"""Long answers reach Slack in pieces of its size."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels import Reply
from bot.channels.slack import Config
from bot.channels.slack.channel import Slack
from bot.channels.slack.formatting import LIMIT, split
from bot.channels.slack.live_answer import TextBuffer
from tests.bot.channels.slack.rig import Inbox, slack_host
from tests.fakes.kv import LocalKeyValue

PROSE = st.text(alphabet="ab .!?。！\n日🗾", max_size=400)
CODE = st.builds(
    lambda lines, mark, kind: "\n".join((f"{mark}{kind}", *lines, mark, "")),
    st.lists(st.text(alphabet="xy =🗾", max_size=90), max_size=12),
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python"]),
)
MARKDOWN = st.lists(PROSE.map(lambda text: f"{text}\n") | CODE, max_size=6).map("".join)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(text=PROSE, limit=st.integers(20, 120))
def test_prose_loses_nothing_but_space_at_the_seams(text: str, limit: int) -> None:
    """Whatever the text, whatever the limit."""
    pieces = split(text, limit)
    assert pieces
    assert all(units(piece) <= limit for piece in pieces)
    assert bare("".join(pieces)) == bare(text)
    assert len(pieces) == 1 or all(piece.strip() for piece in pieces)


@given(text=MARKDOWN, limit=st.integers(60, 200))
def test_every_piece_closes_the_code_it_opens(text: str, limit: int) -> None:
    """A fence that stays open would swallow the rest of the answer, and the next message would
    begin in the middle."""
    pieces = split(text, limit)
    assert all(units(piece) <= limit for piece in pieces)
    for piece in pieces:
        opened = ""
        for line in piece.splitlines():
            if match := re.match(r" {0,3}(`{3,}|~{3,})([^`]*)$", line):
                if not opened:
                    opened = match[1]
                elif match[1].startswith(opened) and not match[2].strip():
                    opened = ""
        assert not opened, piece
    fences = re.compile(r"(`{3,4}|~~~)(python)?")
    assert bare(fences.sub("", "\n".join(pieces))) == bare(fences.sub("", text))


def test_a_short_answer_is_one_message() -> None:
    """As it is."""
    assert split("Hello\n\nthere") == ["Hello\n\nthere"]
    assert split("x" * LIMIT) == ["x" * LIMIT]
    assert split("") == [""]
    assert split(" \n") == [" \n"]


def test_a_seam_falls_between_paragraphs() -> None:
    """Where a reader pauses, with nothing of the one in the other."""
    assert split("first paragraph\n\nsecond one\nof two lines\n\nthird", 35) == [
        "first paragraph",
        "second one\nof two lines\n\nthird",
    ]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("one two three. four five six", ["one two three. ", "four five six"]),
        ("今日は晴れです。明日は雨でしょう。傘を", ["今日は晴れです。明日は", "雨でしょう。傘を"]),
        ("x" * 25, ["x" * 20, "x" * 5]),
        ("🗾" * 15, ["🗾" * 10, "🗾" * 5]),
    ],
)
def test_a_long_paragraph_is_cut_where_a_reader_pauses(text: str, pieces: list[str]) -> None:
    """At a sentence's end or a word's, else anywhere but within a character."""
    got = split(text, 20)
    assert [units(piece) <= 20 for piece in got] == [True] * len(got)
    assert bare("".join(got)) == bare("".join(pieces))
    if text.isascii():
        assert [piece.strip() for piece in got] == [piece.strip() for piece in pieces]


def test_code_that_fits_stays_whole() -> None:
    """It moves to the next message rather than being cut."""
    code = "```python\nprint(1)\n\nprint(2)\n```"
    assert split(f"Words before it.\n\n{code}\n\nafter", 45) == [
        "Words before it.",
        f"{code}\n\nafter",
    ]


def test_code_that_fits_nowhere_is_closed_and_opened_again() -> None:
    """In the language it has."""
    lines = [f"line_{n} = {n}" for n in range(6)]
    pieces = split("```python\n" + "\n".join(lines) + "\n```", 50)
    assert len(pieces) == 2
    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in pieces)
    assert [line for piece in pieces for line in piece.splitlines()[1:-1]] == lines


def test_a_line_of_code_that_fits_nowhere_is_cut() -> None:
    """Anywhere: code has no pauses."""
    pieces = split("```\n" + "x" * 100 + "\n", 40)
    assert all(
        piece.startswith("```\n") and piece.endswith("\n```") and len(piece) <= 40
        for piece in pieces
    )
    assert "".join(line for piece in pieces for line in piece.splitlines()[1:-1]) == "x" * 100


def test_a_code_block_with_an_essay_for_a_language_is_prose() -> None:
    """It would leave no room for the code."""
    text = f"```{'x' * 60}\ncode\n```"
    pieces = split(text, 40)
    assert all(len(piece) <= 40 for piece in pieces)
    assert bare("".join(pieces)) == bare(text)


def test_a_reply_becomes_portions_with_its_other_marks() -> None:
    """Each is a delivery of its own."""
    slack = Slack(Config(), slack_host(Inbox(), LocalKeyValue()))
    split = slack.split(Reply("a" * LIMIT + "\n\nb", failed=True, note="why"))
    assert split == [Reply("a" * LIMIT, True, "why"), Reply("b", True, "why")]


@pytest.mark.parametrize("label", ["", "|here", f"|{'x' * 300}", "|two\nlines"])
@pytest.mark.parametrize("name", ["channel", "here", "everyone", f"subteam^S{'1' * 200}"])
@pytest.mark.parametrize("size", [1, 7, 120])
def test_no_pieces_of_a_stream_make_a_mention_of_everybody(
    name: str, label: str, size: int
) -> None:
    """However long its label is, and wherever the pieces end; what is no mention is shown at
    once."""
    text, buffer, shown = f"Hi <!{name}{label}> <b <!-- x", TextBuffer(), ""
    for start in range(0, len(text), size):
        buffer.add(text[start : start + size])
        shown += buffer.take()
    assert shown == f"Hi @{name.partition('^')[0]} <b <!-- x"
