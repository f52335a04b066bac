"""Markdown becomes plain text, and a text as few messages as LINE takes, parted where a reader
would pause."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.line.text import MAX_MESSAGES, plain_text, split, split_messages
from bot.channels.utf16 import units

CASES = [
    ("Hello", "Hello"),
    ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
    ("one\r\n\r\n\r\n\r\ntwo\n", "one\n\ntwo"),
    ("# Title\ntext\n### Part ###", "Title\ntext\nPart"),
    ("#hashtag and C# stay", "#hashtag and C# stay"),
    (
        "**bold** *italic* ***both*** __bold__ _italic_ ~~gone~~",
        "bold italic both bold italic gone",
    ),
    ("**bold with *italic* inside**", "bold with italic inside"),
    ("これは**「重要」**です。**東京**も。", "これは「重要」です。東京も。"),
    ("2*3*4, 2**3 and 4**5, a * b * c", "2*3*4, 2**3 and 4**5, a * b * c"),
    ("snake_case_name and *.py, *.txt", "snake_case_name and *.py, *.txt"),
    ("1 ~ 2 ~~ 3", "1 ~ 2 ~~ 3"),
    (r"\*not italic\* and 5 \> 3", "*not italic* and 5 > 3"),
    ("- one\n* two\n+ three\n  - nested", "・one\n・two\n・three\n  ・nested"),
    ("1. one\n2. two", "1. one\n2. two"),
    ("- [x] done\n- [ ] open", "・[x] done\n・[ ] open"),
    ("-5 degrees, 3 - 2", "-5 degrees, 3 - 2"),
    ("> quoted\n>> twice", "quoted\ntwice"),
    ("above\n\n---\n\nbelow\n***\nend", "above\n\nbelow\nend"),
    ("Title\n=====\ntext", "Title\ntext"),
    ("run `pip install *x*` now", "run pip install *x* now"),
    ("``a ` b``", "a ` b"),
    ("a ` b", "a ` b"),
    (
        "```python\nx = 2 ** 3  # **not bold**\n- no list\n```\nend",
        "x = 2 ** 3  # **not bold**\n- no list\nend",
    ),
    ("~~~\n**a**\n~~~", "**a**"),
    ("```\ncut off **here**", "cut off **here**"),
    ("| a | b |\n|---|:-:|\n| **1** | 2 |\n| 3 | `x|y` |\nend", "a | b\n1 | 2\n3 | x|y\nend"),
    ("a | b\n--|--\n1 | 2", "a | b\n1 | 2"),
    ("x | y is or", "x | y is or"),
    ("one<br>two<br />three", "one\ntwo\nthree"),
    ("[docs](https://a.b/c_d_e)", "docs https://a.b/c_d_e"),
    ("[**docs**](https://a.b 'title'), then", "docs https://a.b, then"),
    ("[天気](https://a.b)です", "天気 https://a.b です"),
    ("（[天気](https://a.b)）", "（天気 https://a.b ）"),
    ("[https://a.b/x](https://a.b/x)", "https://a.b/x"),
    ("[a.b](https://a.b)", "https://a.b"),
    ("[![cat](https://a.b/c.png)](https://a.b)", "cat https://a.b/c.png https://a.b"),
    ("![cat](https://a.b/c.png)", "cat https://a.b/c.png"),
    (
        "[wiki](https://en.wikipedia.org/wiki/A_(b)) end",
        "wiki https://en.wikipedia.org/wiki/A_(b) end",
    ),
    ("<https://a.b/*x*>", "https://a.b/*x*"),
    ("see https://a.b/c_d_e*f*g and **https://x.y**", "see https://a.b/c_d_e*f*g and https://x.y"),
    ("(https://a.b/c_(d)), https://a.b/?q=1.", "(https://a.b/c_(d)), https://a.b/?q=1."),
    (r"https://a.b/c\_d", "https://a.b/c_d"),
    ("[call](tel:+81-3-1234) www.a.b/_x_", "call tel:+81-3-1234 www.a.b/_x_"),
    ("f[0](x) and [1]: note", "f[0](x) and [1]: note"),
    ("a < b > c", "a < b > c"),
    ("\ufdd00\ufdd1 made up", "0 made up"),
    ("", ""),
    ("---", ""),
]

words = st.text(
    st.characters(categories=["Lu", "Ll", "Lo"], exclude_characters="\ufdd0\ufdd1"),
    min_size=1,
    max_size=8,
)
letters = st.text("abcXYZ019", min_size=1, max_size=6)
urls = st.builds(
    "https://{}.example/{}".format,
    letters,
    st.text("abc019_*~-.()=&?/%", max_size=12).map(lambda path: path + "z"),
).filter(
    lambda url: (
        url.count("(") == url.count(")") and "()" not in url and not re.search(r"\)[^(]*\(", url)
    )
)
mark = st.sampled_from(["**", "*", "__", "_", "~~", "***"])


@pytest.mark.parametrize(("markdown", "shown"), CASES)
def test_it_is_shown_so(markdown: str, shown: str) -> None:
    """Lines stay as they were written; only marks go."""
    assert plain_text(markdown) == shown


@given(st.lists(st.tuples(mark, words), min_size=1, max_size=6))
def test_marked_words_lose_their_marks_and_nothing_else(pieces: list[tuple[str, str]]) -> None:
    """Whatever the words, between spaces."""
    markdown = " ".join(f"{mark}{word}{mark}" for mark, word in pieces)
    assert plain_text(markdown) == " ".join(word for _, word in pieces)


@given(st.lists(words, min_size=1, max_size=20))
def test_plain_words_pass_unchanged(said: list[str]) -> None:
    """Most answers have no marks at all."""
    text = "\n".join(said)
    assert plain_text(text) == text


@given(words, urls, words)
def test_an_address_comes_through_whole(before: str, url: str, after: str) -> None:
    """Bare, in angle brackets, or behind a link's words, with all that looks like marks in it."""
    for markdown in (
        f"{before} {url} {after}",
        f"{before} <{url}> {after}",
        f"{before} [{after}]({url}) x",
    ):
        assert url in plain_text(markdown).split()


@given(st.text("*_~`[]()<>#|-:\\ \nab東https://.\ufdd0", max_size=60))
def test_no_text_breaks_it(markdown: str) -> None:
    """Every letter survives, in order, whatever stands around it."""
    shown = plain_text(markdown)
    assert "\ufdd0" not in shown
    assert re.sub("[^ab東]", "", shown) == re.sub("[^ab東]", "", _without_info_strings(markdown))


def _without_info_strings(markdown: str) -> str:
    """The text without what stands beside a fence: a language's name is no word of the answer."""
    return re.sub(r"(?m)^([ \t]*(?:`{3,}|~{3,}))[^\n`]*$", r"\1", markdown)


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
    assert "".join(list(split(url, 30))) == url
    accents = "e" + "\u0301" * 100
    assert "".join(list(split(accents, 30))) == accents
    assert "".join(list(split("x\r\ny" * 20, 30))) == "x\r\ny" * 20


@given(texts, st.integers(30, 60))
def test_at_most_three_bubbles_go_out(text: str, limit: int) -> None:
    """None empty, each within the limit; the last says that there is more exactly where there
    is."""
    said = split_messages(text, MORE, limit)
    assert len(said) <= MAX_MESSAGES
    assert all(bubble.strip() and units(bubble) <= limit for bubble in said)
    pieces = [piece for piece in list(split(text, limit)) if piece.strip()]
    assert (bool(said) and said[-1].endswith(MORE)) == (len(pieces) > MAX_MESSAGES)
