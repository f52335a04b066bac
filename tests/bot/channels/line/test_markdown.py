"""Markdown becomes plain text in LINE, and small tables cards."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels import Reply
from bot.channels.line.formatting import MOST_SIGNS, Rows, pieces, plain_text
from bot.channels.markdown import DEEPEST
from tests.bot.channels.line.rig import Rig
from tests.fakes.line import LineFake

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
    ("above\n\n---\n\nbelow\n***\nend", "above\n\nbelow\n\nend"),
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
    ("[wiki](https://a.b/((0))z)", "wiki https://a.b/((0))z"),
    ("<https://a.b/*x*>", "https://a.b/*x*"),
    ("see https://a.b/c_d_e*f*g and **https://x.y**", "see https://a.b/c_d_e*f*g and https://x.y"),
    ("(https://a.b/c_(d)), https://a.b/?q=1.", "(https://a.b/c_(d)), https://a.b/?q=1."),
    (r"https://a.b/c\_d", "https://a.b/c_d"),
    ("[call](tel:+81-3-1234) www.a.b/_x_", "call tel:+81-3-1234 www.a.b/_x_"),
    ("f[0](x) and [1]: note", "f[0](x) and [1]: note"),
    ("a < b > c", "a < b > c"),
    ("- a\n\n  more\n- \n- - b", "・a\n\n  more\n・\n・・b"),
    ("1. a\n   lazy\n\n   ```\n   code\n   ```", "1. a\n   lazy\n\n   code"),
    ("a*b*c, **「東京」**です、*東京*", "a*b*c, 「東京」です、東京"),
    ("**two\nlines** `of\ncode`", "two\nlines of code"),
    ("&amp; <b>x</b> [[1]](https://a.b)", "&amp; <b>x</b> [1] https://a.b"),
    ("[a](https://a.b)[b](https://c.d)", "a https://a.b b https://c.d"),
    ("a | b\n-|-\n1 | 2 | 3", "a | b\n1 | 2 | 3"),
    ("> a | b\n> -|-\n> 1 | 2", "a | b\n1 | 2"),
    ("", ""),
    ("---", ""),
]

words = st.text(st.characters(categories=["Lu", "Ll", "Lo"]), min_size=1, max_size=8)
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
def test_marked_words_lose_their_marks_and_nothing_else(marked: list[tuple[str, str]]) -> None:
    """Whatever the words, between spaces."""
    markdown = " ".join(f"{mark}{word}{mark}" for mark, word in marked)
    assert plain_text(markdown) == " ".join(word for _, word in marked)


@given(st.lists(words, min_size=1, max_size=20))
def test_words_without_marks_pass_unchanged(lines: list[str]) -> None:
    """Most answers have no marks at all; a parser would change nothing in them."""
    text = "\n".join(lines)
    assert plain_text(text) == text
    assert plain_text(f"{text} `x`") == f"{text} x"


@given(words, urls, words)
def test_an_address_comes_through_whole(before: str, url: str, after: str) -> None:
    """Bare, in angle brackets, or behind a link's words, with all that looks like marks in it."""
    for markdown in (
        f"{before} {url} {after}",
        f"{before} <{url}> {after}",
        f"{before} [{after}]({url}) x",
    ):
        assert url in plain_text(markdown).split()


@given(st.text("*_~`[]()<>#|-:\\ \nab東https://.", max_size=60))
def test_no_text_breaks_it(markdown: str) -> None:
    """Every letter survives, in order, whatever stands around it; but the name of a language beside
    a fence."""
    shown = re.sub("[^ab東]", "", plain_text(markdown))
    if not re.search("`{3}|~{3}", markdown):
        assert shown == re.sub("[^ab東]", "", markdown)


def test_what_nobody_reads_is_shown_as_it_is() -> None:
    """Quotes in quotes, lists in lists, and thousands of marks."""
    for markdown in ("> " * DEEPEST + "deep", "- " * DEEPEST + "deep", "*a* " * MOST_SIGNS):
        assert plain_text(markdown) == markdown.rstrip()
    assert plain_text("> " * 9 + "deep") == "deep"


HEAD = "| City | **High** |\n|---|:-:|"
TABLE = f"{HEAD}\n| Tokyo | 24 °C |\n| Osaka | |"
ROWS = (("City", "High"), ("Tokyo", "24 °C"), ("Osaka", ""))


def tables(markdown: str) -> list[Rows]:
    return [piece.rows for piece in pieces(markdown)]


def test_a_table_stands_between_its_texts() -> None:
    """Cells are plain text; a row that is too short is filled up, and one that is too long keeps
    what it has."""
    assert tables(f"Above\n\n{TABLE}\nBelow") == [(), ROWS, ()]
    assert tables(f"{HEAD}\n| Tokyo |") == [(("City", "High"), ("Tokyo", ""))]
    assert tables(f"{HEAD}\n| a | `b|c` |") == [(("City", "High"), ("a", "b|c"))]
    assert tables(f"```\ncode\n````\n{TABLE}") == [(), ROWS]


@pytest.mark.parametrize(
    "markdown",
    [
        "no | table",
        HEAD,
        "| a |\n|---|\n| b |",
        f"{HEAD}\n" + "| a | b |\n" * 16,
        f"{HEAD}\n| a | {'b' * 61} |",
        "|a|b|c|d|e|\n|-|-|-|-|-|\n|1|2|3|4|5|",
        f"```\n{TABLE}\n```",
        "> " + TABLE.replace("\n", "\n> "),
    ],
)
def test_what_fits_no_card_stays_text(markdown: str) -> None:
    """Too many rows or columns, too long a cell, code, a quote, or no table at all."""
    assert tables(markdown) == [()]


async def test_a_table_is_a_card_with_its_rows_in_notifications(fake: LineFake, rig: Rig) -> None:
    """LINE refuses an empty cell, which becomes a dash."""
    await rig.say(Reply(f"Here:\n\n{TABLE}\n\nBye."), rig.address(fake.token()))
    [sent] = fake.sent
    assert [message["type"] for message in sent.messages] == ["text", "flex", "text"]
    assert sent.texts == ["Here:", "City | High\nTokyo | 24 °C\nOsaka | –", "Bye."]
    assert sent.messages[1]["altText"] == "City | High\nTokyo | 24 °C\nOsaka | "


async def test_tables_that_find_no_room_are_text(fake: LineFake, rig: Rig) -> None:
    """LINE takes five messages."""
    await rig.say(Reply("\n\nAnd:\n\n".join([TABLE] * 3)), rig.address(fake.token()))
    await rig.say(Reply("\n\nAnd:\n\n".join([TABLE] * 4)), rig.address(fake.token()))
    assert [[message["type"] for message in sent.messages] for sent in fake.sent] == [
        ["flex", "text", "flex", "text", "flex"],
        ["text"],
    ]
    assert fake.texts[1][0].count("Tokyo | 24 °C") == 4
