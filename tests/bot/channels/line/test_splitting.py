"""Long answers are parted where a reader would pause, and never in the middle of a character or an address."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.line.text import MAX_MESSAGES, split, split_messages
from bot.channels.utf16 import units

FAMILY = "👨‍👩‍👧"
CLUSTERS = ["a", "東", "🍎", FAMILY, "🇯🇵", "e\u0301", "👍🏽", " ", "\n", "\n\n", ". ", "。"]
texts = st.lists(st.sampled_from(CLUSTERS), max_size=200).map("".join)
MORE = "More?"


def test_a_short_text_is_one_bubble() -> None:
    """Most answers are."""
    assert split_messages(" Hello.\n", MORE) == ["Hello."]
    assert split_messages("a" * 5_000, MORE) == ["a" * 5_000]
    assert split_messages(" \n ", MORE) == []


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
    """A paragraph's end before a line's, a line's before a sentence's, a sentence's before a word's."""
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
    """Flags are pairs of letters; what England's flag is made of cannot be seen alone; a line's end is one."""
    assert list(split("🇯🇵" * 5, 6)) == ["🇯🇵"] * 5
    england = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert list(split(england * 2, 20)) == [england] * 2
    assert list(split("ab\r\ncd", 3)) == ["ab", "\r\n", "cd"]


@given(texts, st.integers(14, 60))
def test_no_character_is_torn(text: str, limit: int) -> None:
    """Families, flags, skin tones and accents stay whole, where one is not longer than a message."""
    for piece in list(split(text, limit))[1:]:
        assert not unicodedata.combining(piece[0])
        assert piece[0] != "\u200d"
        assert not "\U0001f3fb" <= piece[0] <= "\U0001f3ff"
    for piece in list(split(text, limit))[:-1]:
        assert not piece.endswith("\u200d")
        assert len(re.findall("[\U0001f1e6-\U0001f1ff]", piece)) % 2 == 0


@given(st.lists(st.sampled_from(["word", "東京。", "https://a.example/b?c=d.e!f", "\n"]), max_size=80))
def test_no_address_is_torn(words: list[str]) -> None:
    """An address that fits into a message goes whole into one."""
    text = " ".join(words)
    url = "https://a.example/b?c=d.e!f"
    pieces = list(split(text, 40))
    assert sum(piece.count(url) for piece in pieces) == text.count(url)


def test_what_cannot_be_kept_whole_is_cut() -> None:
    """An address or a cluster longer than a message must go on somewhere."""
    url = "https://a.example/" + "x" * 100
    assert "".join(list(split(url, 30))) == url
    accents = "e" + "\u0301" * 100
    assert "".join(list(split(accents, 30))) == accents
    assert "".join(list(split("x\r\ny" * 20, 30))) == "x\r\ny" * 20


@given(texts, st.integers(30, 60))
def test_at_most_three_bubbles_go_out(text: str, limit: int) -> None:
    """None empty, each within the limit; the last says that there is more exactly where there is."""
    said = split_messages(text, MORE, limit)
    assert len(said) <= MAX_MESSAGES
    assert all(bubble.strip() and units(bubble) <= limit for bubble in said)
    pieces = [piece for piece in list(split(text, limit)) if piece.strip()]
    assert (bool(said) and said[-1].endswith(MORE)) == (len(pieces) > MAX_MESSAGES)


@pytest.mark.parametrize(("text", "length"), [("", 0), ("a東", 2), ("🍎", 2), (FAMILY, 8)])
def test_length_is_counted_in_utf_16_units(text: str, length: int) -> None:
    """As LINE's limit is."""
    assert units(text) == length
