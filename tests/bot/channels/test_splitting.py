"""A text is parted where a reader would pause, and code is closed and opened again; lengths are
measured as LINE and Slack do."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.markdown import split_markdown
from bot.channels.replies import fits, head, split, units

FAMILY = "👨‍👩‍👧"
CLUSTERS = ["a", "東", "🍎", FAMILY, "🇯🇵", "e\u0301", "👍🏽", " ", "\n", "\n\n", ". ", "。"]
texts = st.lists(st.sampled_from(CLUSTERS), max_size=200).map("".join)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("one two.\n\nthree four. five", ["one two.\n\n", "three four. five"]),
        ("one two. three\nfour five six", ["one two. three\n", "four five six"]),
        ("One two. Three four five six", ["One two. ", "Three four five six"]),
        ("今日は晴れ。明日は雨、傘を持って", ["今日は晴れ。", "明日は雨、傘を持って"]),
        ("「本当？」と彼は聞いた、それで", ["「本当？」", "と彼は聞いた、それで"]),
        ("version 1.2.3.4 is the newest", ["version 1.2.3.4 ", "is the newest"]),
        ("see https://a.example/b?c=1 now", ["see ", "https://a.example/b?c=1 ", "now"]),
    ],
)
def test_the_best_seam_is_taken(text: str, pieces: list[str]) -> None:
    """A paragraph's end before a line's, a line's before a sentence's, a sentence's before a
    word's."""
    limit = max(map(len, pieces))
    assert list(split(text, limit)) == pieces


@given(texts, st.integers(14, 60))
def test_the_pieces_fit_and_are_the_text(text: str, limit: int) -> None:
    """Counted as LINE counts, and nothing is lost or doubled."""
    pieces = list(split(text, limit))
    assert "".join(pieces) == text
    assert all(units(piece) <= limit for piece in pieces)
    assert all(pieces) or text == ""


def test_clusters_without_a_seam_between_them_stay_whole() -> None:
    """Flags are pairs of letters; what England's flag is made of cannot be seen alone; a line's end
    is one."""
    assert list(split("🇯🇵" * 5, 6)) == ["🇯🇵"] * 5
    england = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert list(split(england * 2, 20)) == [england] * 2
    assert list(split("ab\r\ncd", 3)) == ["ab", "\r\n", "cd"]


@given(texts, st.integers(14, 60))
def test_no_character_is_torn(text: str, limit: int) -> None:
    """Families, flags, skin tones and accents stay whole, where one is not longer than a
    message."""
    for piece in list(split(text, limit))[1:]:
        assert not unicodedata.combining(piece[0])
        assert piece[0] != "\u200d"
        assert not "\U0001f3fb" <= piece[0] <= "\U0001f3ff"
    for piece in list(split(text, limit))[:-1]:
        assert not piece.endswith("\u200d")
        assert len(re.findall("[\U0001f1e6-\U0001f1ff]", piece)) % 2 == 0


@given(
    st.lists(st.sampled_from(["word", "東京。", "https://a.example/b?c=d.e!f", "\n"]), max_size=80)
)
def test_no_address_is_torn(words: list[str]) -> None:
    """An address that fits into a message goes whole into one."""
    text = " ".join(words)
    url = "https://a.example/b?c=d.e!f"
    pieces = list(split(text, 40))
    assert sum(piece.count(url) for piece in pieces) == text.count(url)


def test_what_cannot_be_kept_whole_is_cut() -> None:
    """An address or a cluster longer than a message must go on somewhere."""
    url = "https://a.example/" + "x" * 100
    assert "".join(split(url, 30)) == url
    accents = "e" + "\u0301" * 100
    assert "".join(split(accents, 30)) == accents
    assert "".join(split("x\r\ny" * 20, 30)) == "x\r\ny" * 20


PROSE = st.text(alphabet="ab .!?。！\n日🗾", max_size=400)
CODE = st.builds(
    lambda lines, mark, kind: "\n".join((f"{mark}{kind}", *lines, mark, "")),
    st.lists(st.text(alphabet="xy =🗾", max_size=90), max_size=12),
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python"]),
)
MARKDOWN = st.lists(PROSE.map(lambda text: f"{text}\n") | CODE, max_size=6).map("".join)


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(text=MARKDOWN, limit=st.integers(60, 200))
def test_every_piece_closes_the_code_it_opens(text: str, limit: int) -> None:
    """A fence that stays open would swallow the rest of the answer, and the next message would
    begin in the middle."""
    pieces = split_markdown(text, limit)
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
    for text in ("Hi\n\nthere", "x" * 12, "", " \n"):
        assert split_markdown(text, 12) == [text]


def test_code_that_fits_stays_whole() -> None:
    """It moves to the next message rather than being cut."""
    code = "```python\nprint(1)\n\nprint(2)\n```"
    assert split_markdown(f"Words before it.\n\n{code}\n\nafter", 45) == [
        "Words before it.",
        f"{code}\n\nafter",
    ]


def test_code_that_fits_nowhere_is_closed_and_opened_again() -> None:
    """In the language it has."""
    lines = [f"line_{n} = {n}" for n in range(6)]
    pieces = split_markdown("```python\n" + "\n".join(lines) + "\n```", 50)
    assert len(pieces) == 2
    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in pieces)
    assert [line for piece in pieces for line in piece.splitlines()[1:-1]] == lines


def test_a_line_of_code_that_fits_nowhere_is_cut() -> None:
    """Anywhere: code has no pauses."""
    pieces = split_markdown("```\n" + "x" * 100 + "\n```", 40)
    assert all(
        piece.startswith("```\n") and piece.endswith("\n```") and len(piece) <= 40
        for piece in pieces
    )
    assert "".join(line for piece in pieces for line in piece.splitlines()[1:-1]) == "x" * 100


def test_a_code_block_with_an_essay_for_a_language_is_prose() -> None:
    """It would leave no room for the code."""
    text = f"```{'x' * 60}\ncode\n```"
    pieces = split_markdown(text, 40)
    assert all(len(piece) <= 40 for piece in pieces)
    assert bare("".join(pieces)) == bare(text)


@pytest.mark.parametrize(
    ("limit", "beginning"), [(0, ""), (1, "天"), (2, "天"), (3, "天😀"), (9, "天😀!")]
)
def test_a_beginning_cuts_no_character(limit: int, beginning: str) -> None:
    """What would be cut is left out."""
    assert head("天😀!", limit) == beginning


@pytest.mark.parametrize("text", ["\ud83d" * 9, "😀" * 9, "a😀" * 9, "\ud83d\udc4d" * 9])
@pytest.mark.parametrize("limit", [1, 4, 5, 9, 99])
def test_a_beginning_is_the_longest_that_fits(text: str, limit: int) -> None:
    """Also of what is no whole character: nobody waits for ever for a beginning that does not
    come."""
    beginning = head(text, limit)
    assert text.startswith(beginning)
    assert fits(beginning, limit)
    assert beginning == text or not fits(text[: len(beginning) + 1], limit)
