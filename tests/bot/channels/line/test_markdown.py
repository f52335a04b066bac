"""Markdown becomes what LINE shows: no marks left, no word and no address lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.line.text import plain_text

CASES = [
    ("Hello", "Hello"),
    ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
    ("one\r\n\r\n\r\n\r\ntwo\n", "one\n\ntwo"),
    ("# Title\ntext\n### Part ###", "Title\ntext\nPart"),
    ("#hashtag and C# stay", "#hashtag and C# stay"),
    ("**bold** *italic* ***both*** __bold__ _italic_ ~~gone~~", "bold italic both bold italic gone"),
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
    ("```python\nx = 2 ** 3  # **not bold**\n- no list\n```\nend", "x = 2 ** 3  # **not bold**\n- no list\nend"),
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
    ("[wiki](https://en.wikipedia.org/wiki/A_(b)) end", "wiki https://en.wikipedia.org/wiki/A_(b) end"),
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

words = st.text(st.characters(categories=["Lu", "Ll", "Lo"], exclude_characters="\ufdd0\ufdd1"), min_size=1, max_size=8)
letters = st.text("abcXYZ019", min_size=1, max_size=6)
urls = st.builds(
    "https://{}.example/{}".format, letters, st.text("abc019_*~-.()=&?/%", max_size=12).map(lambda path: path + "z")
).filter(lambda url: url.count("(") == url.count(")") and "()" not in url and not re.search(r"\)[^(]*\(", url))
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
    for markdown in (f"{before} {url} {after}", f"{before} <{url}> {after}", f"{before} [{after}]({url}) x"):
        assert url in plain_text(markdown).split()


@given(st.text("*_~`[]()<>#|-:\\ \nab東https://.\ufdd0", max_size=60))
def test_no_text_breaks_it(markdown: str) -> None:
    """Every letter survives, in order, whatever stands around it."""
    shown = plain_text(markdown)
    assert "\ufdd0" not in shown
    assert re.sub("[^ab東]", "", shown) == re.sub("[^ab東]", "", _without_info_strings(markdown))


@pytest.mark.parametrize(
    "piece", ["*", "**a", "`", "``` ", "[", "[a](", "_a ", "~~", "|-", "> ", "http://", "<br", "-"]
)
def test_long_nonsense_takes_no_long_time(piece: str) -> None:
    """A model that stutters must not stop the house."""
    started = time.process_time()
    plain_text(piece * (10_000 // len(piece)))
    assert time.process_time() - started < 1


def _without_info_strings(markdown: str) -> str:
    """The text without what stands beside a fence: a language's name is no word of the answer."""
    return re.sub(r"(?m)^([ \t]*(?:`{3,}|~{3,}))[^\n`]*$", r"\1", markdown)
