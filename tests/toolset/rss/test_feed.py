"""Feeds of any form become headlines; hostile ones become an error, soon."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from toolset.rss.feed import Headline, plain, read
from toolset.tool import ToolError

SIZE = 500_000
NOT_A_FEED = "no news available: the answer is not a feed"


def rss(content: str) -> bytes:
    """An RSS feed with this in its channel."""
    return f'<rss version="2.0"><channel><title>Times</title>{content}</channel></rss>'.encode()


def item(title: str = "A", link: str = "https://news.example/1", more: str = "") -> str:
    """An entry, written as it is."""
    return f"<item><title>{title}</title><link>{link}</link>{more}</item>"


def repeated(unit: str) -> str:
    """As much as a feed may have."""
    return unit * (SIZE // len(unit))


def test_rss_and_atom_are_read() -> None:
    """With what each entry says of itself, or the feed of all."""
    date = "<pubDate>Sun, 22 Nov 2026 17:00:00 +0900</pubDate>"
    source = '<source url="https://other.example">Other</source>'
    expected = Headline(
        "A", "https://news.example/1", "Times", datetime(2026, 11, 22, 8, tzinfo=UTC), ""
    )
    assert read(rss(item(more=date) + item(more=source))) == [
        expected,
        Headline("A", "https://news.example/1", "Other", None, ""),
    ]
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Times</title><entry>'
        '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b>A</b></div></title>'
        '<link rel="edit" href="https://news.example/edit"/><link href="https://news.example/1"/>'
        "<updated>2026-11-22T08:00:00Z</updated><summary>&lt;p>All</summary></entry></feed>"
    )
    assert read(atom.encode()) == [
        Headline(expected.title, expected.link, "Times", expected.published, "All")
    ]


def test_texts_are_plain_and_short() -> None:
    """No tags, not even those escaped twice, no invisible characters."""
    (headline,) = read(
        rss(
            item(
                "&lt;b>A&lt;/b>&amp;lt;script>&#x202e;x " + "y" * 900,
                more="<description>z</description>",
            )
        )
    )
    assert headline.title.startswith("A x yyy")
    assert len(headline.title) == 200
    assert headline.summary == "z"
    assert plain(None, 10) == ""
    assert plain("<<<a\x00\n  b> &lt;c&gt; d", 10) == "<< d"


@pytest.mark.parametrize(
    "link",
    [
        *(
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://news.example/1",
            "/1",
            "https://",
        ),
        *(
            "https://user@news.example/1",
            "https://news.example/ 1",
            "http://[",
            "https://news.example/" + "x" * 500,
            "",
        ),
    ],
)
def test_only_web_addresses_are_links(link: str) -> None:
    """An entry without one is left out."""
    assert read(rss(item(link=link))) == []


def test_an_entry_without_a_title_is_left_out() -> None:
    """And so are those beyond a hundred."""
    assert read(rss(item(title=" "))) == []
    assert len(read(rss(item() * 150))) == 100


@pytest.mark.parametrize("date", ["soon", "Sun, 99 Nov 2026 99:00:00 +9999", ""])
def test_an_unreadable_time_is_none(date: str) -> None:
    """Such an entry is still one."""
    assert read(rss(item(more=f"<pubDate>{date}</pubDate>")))[0].published is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Maintenance</html>",
        b"<html>",
        b"{}",
        b"\x00",
        b"\xff\xfe<",
        b"/etc/passwd",
        b"https://news.example/feed/",
        rss("").decode().encode("utf-16"),
        b'<!DOCTYPE rss SYSTEM "https://news.example/x.dtd">' + rss(item()),
        b'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + rss("&b;"),
        rss("&undefined;"),
        rss("<x:y/>"),
        rss("<a>" * 60 + "</a>" * 60),
        rss("<a/>" * 21_000),
        rss("<title/>" * 2100),
        rss(f'<a xmlns="{"x" * 600}"/>'),
    ],
)
def test_what_is_no_feed_is_refused(body: bytes) -> None:
    """Nothing is opened, nothing expanded."""
    with pytest.raises(ToolError, match=f"^{NOT_A_FEED}$"):
        read(body)


def test_a_large_feed_is_refused() -> None:
    """Above 512 KiB."""
    with pytest.raises(ToolError, match=r"^no news available: the feed is too large$"):
        read(b" " * (512 * 1024 + 1))


HOSTILE = [
    *(item(repeated(unit)) for unit in ("&lt;", "&amp;#", "&lt;/a", "&lt;a ")),
    *(
        "<item>" + repeated(unit) + "</item>"
        for unit in ("<author>a@b.cc (x)</author>", "<category>a</category>")
    ),
    *(item(more=f"<author>{repeated(unit)}</author>") for unit in ("a", "a.", "(")),
    *(item(more=f"<pubDate>{unit * 2000}</pubDate>") * 100 for unit in ("1 ", "1:", "  ")),
    *(
        item(more=f"<description>{unit * 1000}</description>") * 100
        for unit in ("&lt;", "a@", "&amp;")
    ),
    item(link="https://" + repeated("a/")),
    f"<!--{repeated('- ')}-->",
    repeated("<?a?>"),
    item(f"<![CDATA[{repeated('<!ENTITY ')}]]>"),
    item(f"<![CDATA[{repeated('<!DOCTYPE ')}]]>"),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_feed_takes_no_long_time(number: int) -> None:
    """feedparser alone takes minutes for some of these."""
    started = time.process_time()
    with suppress(ToolError):  # too large, or too much of something
        read(rss(HOSTILE[number]))
    assert time.process_time() - started < 1.5
