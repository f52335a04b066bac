"""Fetching from a hostile server by a hostile resolver: what is asked, where it connects, and how
much it takes."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator

import pytest

from tests.fakes.pages import PUBLIC, HostileSite, Write, hostile_site
from toolset.tool import ToolError
from toolset.web.public_address import NOT_PUBLIC
from toolset.webpage.fetch import BODY_CAP, MAX_REDIRECTS, READ_SIZE, Document, PageFetcher

HTML = "text/html; charset=utf-8"
SITE = "page.example"

# fmt: off
LOCAL = [
    "http://169.254.169.254/latest/meta-data/", "http://[::ffff:127.0.0.1]/", "http://0x7f000001/",
    "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/",
    "http://１２７.0.0.1/", "http://localhost/", "http://127.0.0.1/", "http://[::1]/",
    "http://[::]/", "http://0/",
    "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
    "http://metadata.google.internal/", "//127.0.0.1/", "http://127.0.0.1:80/",
    "http:\\\\127.0.0.1\\",
]
NO_PAGES = [
    "", "Tokyo", "page.example", "//page.example/", "ftp://page.example/", "file:///etc/passwd", "gopher://a.b/",
    "javascript:alert(1)", "data:text/html,x", "http://", "http:///x", "https:page.example",
    "http://[", "http://a b/",
    "http://page.example:8080/", "http://page.example:443/", "https://page.example:80/", "http://page.example:22/",
    "http://user:password@page.example/", "http://user@page.example/", "http://page.example@127.0.0.1/",
    "http://page.example\r\nX: y/", "http://page.example/\r\nX: y", "http://page.example:99999/", "http://a%00.example",
]
# fmt: on


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    """It has one harmless page."""
    async with hostile_site() as site:
        site.page(SITE, "/", b"<p>hello", HTML)
        site.name("metadata.google.internal", ["169.254.169.254"])
        yield site


@pytest.fixture
def fetcher(site: HostileSite) -> PageFetcher:
    """What is tested, with the site for the internet."""
    return PageFetcher(site.resolve, site.network)


async def refusal(fetcher: PageFetcher, url: str) -> str:
    """The error that comes of an address."""
    with pytest.raises(ToolError) as error:
        await fetcher.fetch(url)
    return str(error.value)


async def test_a_page_is_fetched_with_few_words(site: HostileSite, fetcher: PageFetcher) -> None:
    """Nothing identifies who asks: no cookie, no referrer; compression is not wanted; the fragment
    stays here."""
    site.page(
        SITE,
        "/a?b=%20c",
        b"<p>hello",
        'Text/HTML; Charset="Shift_JIS"',
        headers=["Set-Cookie: a=b"],
    )
    document = await fetcher.fetch(f"http://{SITE}/a?b= c#d")
    assert document == Document(f"http://{SITE}/a?b=%20c#d", "html", "Shift_JIS", b"<p>hello")
    await fetcher.fetch(f"http://{SITE}/a?b= c")
    for request in site.requests:
        assert request.headers.keys() == {
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "connection",
        }
        assert request.headers["accept-encoding"] == "identity"
    assert site.connections == [(PUBLIC, 80)] * 2


@pytest.mark.parametrize("url", NO_PAGES)
async def test_what_is_no_plain_address_is_refused(
    site: HostileSite, fetcher: PageFetcher, url: str
) -> None:
    """Other schemes, ports, passwords and control characters; nothing is looked up or sent."""
    await refusal(fetcher, url)
    assert (site.lookups, site.connections) == ([], [])


@pytest.mark.parametrize("url", LOCAL)
async def test_nothing_local_is_connected_to(
    site: HostileSite, fetcher: PageFetcher, url: str
) -> None:
    """In any form of writing."""
    await refusal(fetcher, url)
    assert site.connections == []


@pytest.mark.parametrize(
    "url", [*LOCAL, "ftp://a.example/", f"http://{SITE}:22/", f"http://u:p@{SITE}/", "http://["]
)
async def test_a_redirect_is_checked_like_any_address(
    site: HostileSite, fetcher: PageFetcher, url: str
) -> None:
    """The connection to the public address is the only one."""
    site.redirect("a.example", "/", url)
    await refusal(fetcher, "http://a.example/")
    assert set(site.connections) == {(PUBLIC, 80)}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed(site: HostileSite, fetcher: PageFetcher, status: int) -> None:
    """Also a relative one, to the end; the answer says where that is."""
    site.redirect("a.example", "/", "b?c", status)
    site.redirect("a.example", "/b?c", f"http://{SITE}/", status)
    assert (await fetcher.fetch("http://a.example/")).url == f"http://{SITE}/"
    assert site.lookups == ["a.example", "a.example", SITE]


async def test_redirects_come_to_an_end(site: HostileSite, fetcher: PageFetcher) -> None:
    """Five at most."""
    site.redirect("a.example", "/", "/")
    assert await refusal(fetcher, "http://a.example/") == "the page redirects too often"
    assert len(site.requests) == MAX_REDIRECTS + 1


async def test_a_redirect_to_nowhere_is_no_page(site: HostileSite, fetcher: PageFetcher) -> None:
    """Without an address there is nothing to follow."""
    site.page("a.example", "/", b"", HTML, 302)
    assert await refusal(fetcher, "http://a.example/") == "the website answers with status 302"


async def test_a_rebound_name_has_no_effect(site: HostileSite, fetcher: PageFetcher) -> None:
    """The checked address is connected to; the name is not looked up a second time for the
    connection."""
    site.name("rebind.example", [PUBLIC], ["127.0.0.1"])
    site.page("rebind.example", "/", b"<p>hello", HTML)
    await fetcher.fetch("http://rebind.example/")
    assert site.lookups == ["rebind.example"]
    assert site.connections == [(PUBLIC, 80)]


async def test_a_name_rebound_before_a_redirect_is_refused(
    site: HostileSite, fetcher: PageFetcher
) -> None:
    """A redirect to the same name is a new lookup, and a new check."""
    site.name("rebind.example", [PUBLIC], ["127.0.0.1"])
    site.redirect("rebind.example", "/", "/again")
    assert await refusal(fetcher, "http://rebind.example/") == NOT_PUBLIC
    assert site.connections == [(PUBLIC, 80)]


async def test_the_next_address_is_tried(site: HostileSite, fetcher: PageFetcher) -> None:
    """Three of them; a host whose first address is dead is not lost."""
    site.name(SITE, ["2606:4700::1", "1.1.1.1", "1.0.0.1", PUBLIC])
    site.dead = {"2606:4700::1", "1.1.1.1"}
    assert (await fetcher.fetch(f"http://{SITE}/")).body == b"<p>hello"
    site.dead |= {"1.0.0.1"}
    assert (
        await refusal(fetcher, f"http://{SITE}/")
        == "the website cannot be reached, or has no valid certificate"
    )
    assert [address for address, _ in site.connections] == [
        "2606:4700::1",
        "1.1.1.1",
        "1.0.0.1",
    ] * 2


async def test_a_page_of_two_megabytes_is_read_and_no_byte_more(
    site: HostileSite, fetcher: PageFetcher
) -> None:
    """By its own word, and by what comes."""
    site.page(SITE, "/2", b"a" * BODY_CAP, "text/plain")
    assert len((await fetcher.fetch(f"http://{SITE}/2")).body) == BODY_CAP
    site.page(SITE, "/more", b"a" * (BODY_CAP + 1), "text/plain")
    site.raw(
        SITE,
        "/unsaid",
        b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n",
        b"a" * (BODY_CAP + 1),
    )
    for path in ("more", "unsaid"):
        assert await refusal(fetcher, f"http://{SITE}/{path}") == "the page is larger than 2 MB"


async def test_a_body_without_end_is_left(site: HostileSite, fetcher: PageFetcher) -> None:
    """After two megabytes."""
    sent = 0

    async def endless(write: Write) -> None:
        nonlocal sent
        await write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await write(b"a" * 65_536)
            sent += 65_536

    site.talk(SITE, "/endless", endless)
    assert await refusal(fetcher, f"http://{SITE}/endless") == "the page is larger than 2 MB"
    assert sent < 20 * BODY_CAP


async def test_tiny_chunks_do_not_occupy_the_loop(site: HostileSite, fetcher: PageFetcher) -> None:
    """Each is an event to the parser; in between, others get their turn."""
    chunks = b"1\r\na\r\n" * 100_000
    head = b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    site.raw(SITE, "/chunks", head, chunks, b"0\r\n\r\n")
    fetching = asyncio.ensure_future(fetcher.fetch(f"http://{SITE}/chunks"))
    turns = 0
    while not fetching.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(fetching.result().body) == 100_000
    assert turns > len(chunks) / READ_SIZE


async def test_a_gzip_bomb_is_not_even_read(site: HostileSite, fetcher: PageFetcher) -> None:
    """Compressed bodies are refused, whatever the method."""
    bomb = gzip.compress(b"\0" * 10_000_000)
    for encoding in ("gzip", "br", "deflate, gzip", "GZIP"):
        site.page(SITE, "/bomb", bomb, HTML, headers=[f"Content-Encoding: {encoding}"])
        reported = "the website sends this page only in compressed form, which is not read"
        assert await refusal(fetcher, f"http://{SITE}/bomb") == reported
    site.page(SITE, "/plain", b"<p>hello", HTML, headers=["Content-Encoding: Identity"])
    assert (await fetcher.fetch(f"http://{SITE}/plain")).body == b"<p>hello"


@pytest.mark.parametrize(
    "content_type", ["", "image/png", "application/octet-stream", "text", "video/mp4; a=text/html"]
)
async def test_what_is_no_text_is_not_read(
    site: HostileSite, fetcher: PageFetcher, content_type: str
) -> None:
    """By the type that the server names."""
    site.page(SITE, "/x", b"x", content_type)
    reported = "this is no page: only HTML, PDF and plain text can be read"
    assert await refusal(fetcher, f"http://{SITE}/x") == reported


@pytest.mark.parametrize("status", [204, 206, 300, 304, 403, 404, 429, 500, 503])
async def test_a_refusal_of_the_website_is_told(
    site: HostileSite, fetcher: PageFetcher, status: int
) -> None:
    """By its number, not in its words."""
    site.page(SITE, "/x", b"" if status in (204, 304) else b"secret", HTML, status)
    assert await refusal(fetcher, f"http://{SITE}/x") == f"the website answers with status {status}"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: 5\r\nContent-Type: text/html\r\n\r\nab",
        b"HTTP/1.1 200 X\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 X\r\nX: " + b"a" * 1_000_000,
        b"HTTP/1.1 200 X\r\n" + b"X: y\r\n" * 100_000,
    ],
    ids=["nothing", "not HTTP", "cut short", "two lengths", "long header", "many headers"],
)
async def test_what_is_no_answer_is_an_error(
    site: HostileSite, fetcher: PageFetcher, answer: bytes
) -> None:
    """The text names no address."""
    site.raw(SITE, "/x", answer)
    reported = "the website cannot be reached, or has no valid certificate"
    assert await refusal(fetcher, f"http://{SITE}/x") == reported


async def test_a_redirect_in_any_bytes_is_followed_or_refused(
    site: HostileSite, fetcher: PageFetcher
) -> None:
    """Many servers write addresses in UTF-8, as they must not."""
    site.raw(
        "a.example", "/", b"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: /\xe4\xba\xac\r\n\r\n"
    )
    site.page("a.example", "/%E4%BA%AC", b"<p>hello", HTML)
    assert (await fetcher.fetch("http://a.example/")).body == b"<p>hello"
    site.raw("b.example", "/", b"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: //\xff/\r\n\r\n")
    site.redirect("c.example", "/", "/" + "a" * 2000)
    for host in ("b.example", "c.example"):
        await refusal(fetcher, f"http://{host}/")


async def test_names_in_other_scripts_are_those_of_the_protocol(
    site: HostileSite, fetcher: PageFetcher
) -> None:
    """Looked up and asked for in ASCII."""
    site.page("xn--wgv71a119e.jp", "/", b"<p>hello", HTML)
    await fetcher.fetch("http://日本語.jp/")
    assert site.lookups == ["xn--wgv71a119e.jp"]


async def test_no_proxy_is_used(
    site: HostileSite, fetcher: PageFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would resolve the name by itself, past the check."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://10.0.0.1:3128")
    await fetcher.fetch(f"http://{SITE}/")
    assert site.connections == [(PUBLIC, 80)]


async def test_a_cancelled_fetch_ends_at_once(site: HostileSite, fetcher: PageFetcher) -> None:
    """A server that drips does not keep it."""

    async def drip(write: Write) -> None:
        await write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await write(b"a")
            await asyncio.sleep(0.01)

    site.talk(SITE, "/drip", drip)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fetcher.fetch(f"http://{SITE}/drip"), 0.2)
    assert time.monotonic() - started < 2
