"""What a channel makes a link of has been allowed, however brackets and marks stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from markdown_it.token import Token

from bot.channels.markdown import parse
from bot.safe_text.addresses import key_of
from bot.safe_text.links import LinkFilter

KNOWN = {key_of(f"https://ok.example{path}") for path in ("/", "/a", "/((0))")}
MARKS = ("", "」evil", "、evil", "。evil.com/", "|evil", "\\evil", "[evil", "]evil", "@evil.com/")
BRACKETS = ("", "(0)", "((0))", "(a(b(c)))", "(" * 32 + ")" * 32)
FORMS = ("[A]({})", "[A b]({})", "[A](<{}>)", "[A]({} 't')")


def links(tokens: Sequence[Token]) -> Iterator[str]:
    """Where the links of a text lead."""
    for token in tokens:
        if token.type == "link_open":
            yield str(token.attrs["href"])
        yield from links(token.children or ())


@pytest.mark.parametrize("mark", MARKS)
def test_only_what_was_allowed_becomes_a_link(mark: str) -> None:
    """In a whole text and in one that streams."""
    for path, brackets, form in product(("", "/", "/a"), BRACKETS, FORMS):
        for ending in (mark + brackets, brackets + mark):
            text = form.format(f"https://ok.example{path}{ending}")
            stream = LinkFilter(KNOWN.__contains__, "(withheld)")
            streamed = [stream.feed(letter) for letter in text]
            whole = LinkFilter(KNOWN.__contains__, "(withheld)").text(text)
            for shown in (whole, "".join(streamed) + stream.end()):
                assert [url for url in links(parse(shown)) if key_of(url) not in KNOWN] == [], text


def test_an_allowed_link_with_brackets_stays_a_link() -> None:
    """As it is written."""
    text = "[A b](https://ok.example/((0)))"
    stream = LinkFilter(KNOWN.__contains__, "(withheld)")
    assert "".join(stream.feed(letter) for letter in text) + stream.end() == text
    assert list(links(parse(text))) == ["https://ok.example/((0))"]
