"""Addresses in text: which are the same, where they stand, and what an answer shows of them."""

from __future__ import annotations

import random

import pytest

from bot.safe_text.addresses import is_address, key_of, keys_in, may_be_opened, unlinked
from bot.safe_text.links import LinkFilter

WITHHELD = "(link withheld)"
KNOWN = frozenset(
    keys_in("https://a.example/x, example.com and https://ja.wikipedia.org/wiki/東京")
)
SHOWN = {
    "見て：https://a.example/xをご覧。": "見て：https://a.example/x をご覧。",
    "公式は**example.com**です": "公式は **example.com** です",
    "[words](https://a.example/x) <https://a.example/x|words>": "[words](https://a.example/x) <https://a.example/x|words>",
    '[words](https://a.example/x "https://evil.example/t")': "[words](https://a.example/x)",
    "[a b](https://evil.example/b(c)) ![p](evil.example/p)": f"a b {WITHHELD} p {WITHHELD}",
    "<https://evil.example?d=1|click me>, <https://evil.example>": f"click me {WITHHELD}, {WITHHELD}",
    "[evil.example](https://evil.example/x)": WITHHELD,
    "[x](https:evil.example) [y](//2130706433/z)": f"x {WITHHELD} y {WITHHELD}",
    "https://a.example/xS https://a.example/x/../S https://a.example/x#S": " ".join([WITHHELD] * 3),
    "https://a.example/x**S** SECRET.example.com": f"{WITHHELD}** {WITHHELD}",
    "https://a.example/x[S](https://a.example/x)": "https://a.example/x [S](https://a.example/x)",
    "東京.example.com": "東京. example.com",
    "evil\\.example/S `evil`.example/S ev**il**.example/S": " ".join(
        [WITHHELD, f"`{WITHHELD}", WITHHELD]
    ),
    "https://S@a.example/x S@a.example/x": f"{WITHHELD} S@ a.example/x",
    "192.0.2.1 www.evil.example xn--r8jz45g.xn--zckzah ftp://evil.example/": " ".join(
        [WITHHELD] * 4
    ),
    "Dr.Sato, 3.14, v1.2, README.md, os.path, a@b.example.": "Dr.Sato, 3.14, v1.2, README.md, os.path, a@b.example.",
    "[x](y) [x](/y) <b> [ ] a < b": "[x](y) [x](/y) <b> [ ] a < b",
    "bad.[example/S](https://w.example)": f"bad. example/S {WITHHELD}",
    "bad.<https://w.example|example/S>": f"bad. example/S {WITHHELD}",
    "bad.[example/S](https://a.example/x)": "bad. [example/S](https://a.example/x)",
    "bad.<https://a.example/x|example/S>": "bad. <https://a.example/x|example/S>",
    "\\S.bad.example 4\\S.bad.example": f"{WITHHELD} {WITHHELD}",
    "https\u202a://evil\u202a.example/S evil\u00ad.example/S": f"{WITHHELD} {WITHHELD}",
    "[x](https&colon;//evil&period;example/S) evil&#46;example/S": f"x {WITHHELD} {WITHHELD}",
    "1.2/https://bad.example/S v1.2?S.bad.example": f"1.2/{WITHHELD} v1.2?{WITHHELD}",
    "エビル.jp/S S.エビル.jp": f"エビル{WITHHELD} S.エビル{WITHHELD}",
    "価格.com 東京.大阪 &lt;b&gt; 👩\u200d💻 1\ufe0f\u20e3": "価格.com 東京.大阪 &lt;b&gt; 👩\u200d💻 1\ufe0f\u20e3",
}
PIECES = [
    *SHOWN,
    "[",
    "](",
    ")",
    "<",
    ">",
    "|",
    "!",
    "**",
    "`",
    ".",
    ":",
    "//",
    " ",
    "\n",
    "。",
    "東京",
    "a",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://A.example", "HTTP://a.EXAMPLE:80/"),
        ("https://a.example?q", "https://a.example/?q"),
        ("https://例え.jp/東京", "https://xn--r8jz45g.jp/%E6%9D%B1%E4%BA%AC"),
        ("a.example/x", " https://a.example/x "),
    ],
)
def test_writings_of_one_address_are_the_same(one: str, other: str) -> None:
    """Where no server can read a choice between them."""
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    "other",
    [
        "https://a.example/X",
        "https://a.example/%78",
        "https://a.example/x/",
        "https://a.example/x?",
        "https://a.example/xy",
        "https://a.example:8080/x",
        "https://u@a.example/x",
        "https://b.a.example/x",
        "ftp://a.example/x",
        "https://a.example./x",
    ],
)
def test_what_a_server_can_tell_apart_is_another_address(other: str) -> None:
    """A choice of writings could carry letters of a secret."""
    assert key_of("https://a.example/x") != key_of(other)


@pytest.mark.parametrize(("text", "shown"), SHOWN.items())
def test_only_known_addresses_are_shown(text: str, shown: str) -> None:
    """Others become their words and a remark; nothing can be joined to those that stay."""
    assert LinkFilter(KNOWN.__contains__, WITHHELD).text(text) == shown


@pytest.mark.long
def test_a_streamed_text_is_shown_as_a_whole_one() -> None:
    """However it comes in pieces, no link is shown before it is whole."""
    chance = random.Random(7)  # noqa: S311 -- samples, no secrets
    for _ in range(3_000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 6)))
        links, out, at = LinkFilter(KNOWN.__contains__, WITHHELD), "", 0
        while at < len(text):
            step = chance.randint(1, 7)
            out += links.feed(text[at : at + step])
            assert "evil" not in out
            at += step
        assert out + links.end() == LinkFilter(KNOWN.__contains__, WITHHELD).text(text)


def test_words_are_not_held() -> None:
    """Text without an address streams as it comes, but for a word that may become one."""
    links = LinkFilter(KNOWN.__contains__, WITHHELD)
    assert [links.feed(piece) for piece in ("Good ", "morn", "ing. It is ", "朝です", "ね")] == [
        "Good ",
        "",
        "morning. It is ",
        "朝です",
        "ね",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.example/x", True),
        ("a.example", True),
        ("www.thing", True),
        ("src/main.py", False),
        ("main.py", False),
        ("a@b.example", False),
        ("see https://a.example", False),
    ],
)
def test_an_argument_is_an_address_or_none(text: str, expected: bool) -> None:
    """The whole of it."""
    assert is_address(text) is expected


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("https://a.example/?d=my secret", True),
        ("https://a.example/花子。です", True),
        (' "https://a.example/x"', True),
        ("<https://a.example/x|y>", True),
        ("\u200bht\u200btps://a.example/x", True),
        ("//a.example/x", True),
        ("a.example/x", True),
        ("see https://a.example", False),
        ("12:30 at // the door", False),
    ],
)
def test_a_server_may_open_what_begins_like_an_address(argument: str, expected: bool) -> None:
    """Whatever comes behind it: many a server encodes it."""
    assert may_be_opened(argument) is expected


def test_a_stream_that_stops_shows_nothing_from_a_composed_link_on() -> None:
    """What comes before is shown as it is."""
    links = LinkFilter(KNOWN.__contains__, WITHHELD, stops=True)
    pieces = ("見て：https://a.example/xを。See ", "https://evil.exam", "ple/S or ", "not.")
    assert [*map(links.feed, pieces), links.end()] == [pieces[0], "", "", "", ""]


def test_a_question_has_no_links() -> None:
    """All of an address can be read, and nothing in it is a link."""
    assert unlinked("url: https://b.a.example/x?q=1.2, a.example/y") == (
        "url: https[:]//b[.]a[.]example/x?q=1.2, a[.]example/y"
    )
    assert unlinked("main.py at 12:30") == "main.py at 12:30"
    assert unlinked("https://a.example/?q=b.example/https://c.example/") == (
        "https[:]//a[.]example/?q=b[.]example/https[:]//c[.]example/"
    )
    assert unlinked("4\\S.evil.example 1.2/a.example") == "4\\S[.]evil[.]example 1.2/a[.]example"
    assert unlinked("エビル.jp/x") == "エビル[.]jp/x"


def test_a_name_outside_of_ascii_is_compared_whole() -> None:
    """With all names below it."""
    links = LinkFilter(frozenset(keys_in("見て エビル.jp/x")).__contains__, WITHHELD)
    assert links.text("エビル.jp/x S.エビル.jp/x") == f"エビル.jp/x S.エビル{WITHHELD}"
