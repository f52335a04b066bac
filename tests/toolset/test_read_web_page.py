"""``read_web_page``: from an address to a text in parts, or an error the model understands."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest

from tests.fakes.pages import HostileSite, Write, hostile_site
from tests.toolset.contexts import context, http_client
from tests.toolset.webpage.documents import ARTICLE, PARAGRAPHS, pdf
from toolset.read_web_page import (
    MAX_PARSERS,
    NO_TEXT,
    PART,
    TOO_SLOW,
    ReadWebPage,
    ReadWebPageConfig,
)
from toolset.tool import OUTPUT_CAP, ToolOutcome, ValidatedTool, read_schemas
from toolset.web.public_address import NOT_PUBLIC
from toolset.webpage.extract import extract
from toolset.webpage.fetch import Document, PageFetcher

SITE = "http://page.example"


async def extract_here(document: Document, seconds: float) -> dict[str, str]:
    """The extraction without a process of its own."""
    title, date, text = extract(
        document.body, document.kind, document.charset, time.monotonic() + seconds
    )
    return {"title": title, "date": date, "text": text}


def validated(tool: ReadWebPage) -> ValidatedTool:
    """The tool between its schemas, as the model gets it."""
    return ValidatedTool(tool, *read_schemas("read_web_page"))


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    """The internet."""
    async with hostile_site() as site:
        yield site


@pytest.fixture
def read_web_page(site: HostileSite) -> ValidatedTool:
    """The tool on that internet."""
    return validated(ReadWebPage(PageFetcher(site.resolve, site.network), extract_here))


async def test_a_page_is_read(site: HostileSite, read_web_page: ValidatedTool) -> None:
    """Main text, title and date, and where it was found."""
    site.page("page.example", "/uji", ARTICLE.encode(), "text/html")
    site.redirect("page.example", "/", "/uji")
    assert await read_web_page.call({"url": f" {SITE}/ "}, context()) == ToolOutcome(
        {
            "url": f"{SITE}/uji",
            "title": "Tea of Uji",
            "date": "2026-03-01",
            "text": "\n".join(["Tea of Uji", *PARAGRAPHS]),
        }
    )


async def test_a_pdf_and_a_plain_text_are_read(
    site: HostileSite, read_web_page: ValidatedTool
) -> None:
    """What is not known is left out."""
    site.page("page.example", "/a.pdf", pdf("Sencha"), "application/pdf")
    site.page("page.example", "/a.txt", "お茶".encode(), "text/plain; charset=utf-8")
    outcome = await read_web_page.call({"url": f"{SITE}/a.pdf"}, context())
    assert (outcome.response["title"], outcome.response["text"]) == ("Tea in figures", "Sencha")
    outcome = await read_web_page.call({"url": f"{SITE}/a.txt"}, context())
    assert outcome.response == {"url": f"{SITE}/a.txt", "text": "お茶"}


@pytest.mark.parametrize("letter", ["a", "京", "𠮷", '"'])
async def test_a_long_text_comes_in_parts(
    site: HostileSite, read_web_page: ValidatedTool, letter: str
) -> None:
    """Each is below what a model gets of a result, and the page is fetched once."""
    site.page("page.example", "/", (letter * 40_000).encode(), "text/plain")
    text = ""
    offset: int | None = 0
    while offset is not None:
        outcome = await read_web_page.call({"url": f"{SITE}/", "offset": offset}, context())
        assert len(json.dumps(outcome.response, ensure_ascii=False).encode()) < OUTPUT_CAP
        text += outcome.response["text"]
        assert outcome.response.get("total_characters", 40_000) == 40_000
        offset = outcome.response.get("next_offset")
    assert text == letter * 40_000
    assert len(site.requests) == 1
    assert 2 * PART < 40_000


async def test_beyond_the_text_there_is_nothing(
    site: HostileSite, read_web_page: ValidatedTool
) -> None:
    """The model is told where it ends."""
    site.page("page.example", "/", b"hello", "text/plain")
    outcome = await read_web_page.call({"url": f"{SITE}/", "offset": 5}, context())
    assert outcome == ToolOutcome.error("the text ends at offset 5")


async def test_a_page_without_text_is_an_error(
    site: HostileSite, read_web_page: ValidatedTool
) -> None:
    """The model does not guess what stood there."""
    site.page(
        "page.example", "/", b"<html><body><script>draw()</script></body></html>", "text/html"
    )
    assert await read_web_page.call({"url": f"{SITE}/"}, context()) == ToolOutcome.error(NO_TEXT)


async def test_a_failure_is_not_remembered(site: HostileSite, read_web_page: ValidatedTool) -> None:
    """The next call asks again."""
    assert (await read_web_page.call({"url": f"{SITE}/"}, context())).is_error
    site.page("page.example", "/", b"hello", "text/plain")
    assert not (await read_web_page.call({"url": f"{SITE}/"}, context())).is_error


@pytest.mark.parametrize("slow", ["drip", "stall", "name", "text"])
async def test_everything_together_takes_five_seconds(site: HostileSite, slow: str) -> None:
    """Here less: a body that drips, one that never comes, a name, a text."""

    async def talk(write: Write) -> None:
        await write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\n")
        while slow != "text":
            await asyncio.sleep(0.01 if slow == "drip" else 30)
            await write(b"a")

    async def resolve(name: str, _conversation: str) -> list[str]:
        return (
            list(await site.resolve(name))
            if slow != "name"
            else await asyncio.Event().wait() and []
        )

    async def extract_never(document: Document, seconds: float) -> dict[str, str]:
        assert seconds <= 0.3
        await asyncio.Event().wait()
        return {}

    site.talk("page.example", "/", talk)
    tool = validated(ReadWebPage(PageFetcher(resolve, site.network), extract_never, limit_s=0.3))
    assert await tool.call({"url": f"{SITE}/"}, context()) == ToolOutcome.error(TOO_SLOW)


async def test_few_documents_are_parsed_at_once(site: HostileSite) -> None:
    """Also if the calls that asked for them have been stopped: each takes memory."""
    parsing = most = 0

    async def extract_slowly(document: Document, seconds: float) -> dict[str, str]:
        nonlocal parsing, most
        parsing += 1
        most = max(most, parsing)
        await asyncio.sleep(0.02)
        parsing -= 1
        return await extract_here(document, seconds)

    tool = validated(ReadWebPage(PageFetcher(site.resolve, site.network), extract_slowly))
    for number in range(8):
        site.page("page.example", f"/{number}", b"hello", "text/plain")
    urls = [f"{SITE}/{number}" for number in range(8)]
    outcomes = await asyncio.gather(*(tool.call({"url": url}, context()) for url in urls))
    assert [outcome.response["url"] for outcome in outcomes] == urls
    assert most == MAX_PARSERS


async def test_kaiwas_own_tool_reads_nothing_local() -> None:
    """As it is built from settings, without anything of a test; no setting opens it."""
    async with http_client() as http:
        tool = ReadWebPage.create(http, ReadWebPageConfig())
        assert tool is not None
        for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "127.1"):
            outcome = await validated(tool).call({"url": f"http://{host}/"}, context())
            assert outcome == ToolOutcome.error(NOT_PUBLIC)
    assert ReadWebPageConfig.model_fields.keys() == {"read_web_pages"}


async def test_an_operator_can_switch_it_off() -> None:
    """READ_WEB_PAGES=0."""
    async with http_client() as http:
        assert ReadWebPage.create(http, ReadWebPageConfig(read_web_pages=False)) is None
