"""``read_web_page``: the main text of a page on the web."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpcore
import httpx
from pydantic import BaseModel

from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.json_values import filled
from toolset.web.public_address import SystemResolver
from toolset.webpage import worker
from toolset.webpage.fetch import Document, PageFetcher

TIMEOUT_S = 5.0
PART = 15_000  # characters of one result: in any script it stays below the size that a model gets
CACHE_S = 300  # for reading on
CACHE_SIZE = 16  # pages
MAX_PARSERS = 2  # processes at once; each may take some hundred megabytes
TOO_SLOW = "the page could not be read in time"
NO_TEXT = "the page has no text; it may be made of pictures, or by scripts in a browser"

Extractor = Callable[[Document, float], Awaitable[dict[str, str]]]


class ReadWebPageConfig(BaseModel):
    """Whether pages are read at all."""

    read_web_pages: bool = True


class ReadWebPage(Tool):
    """Reads pages from public addresses, and keeps their text for some minutes.

    Args:
        extract: title, date and text of a document, in so many seconds.
        limit_s: for everything: lookups, redirects, a slow body, a long text.
    """

    name = "read_web_page"
    description = (
        "The main text of one public web page, PDF or text file. Use it when the user gives an "
        "address, or to read what a search has found. Name the address in the answer."
    )
    risk = "low"
    public = True
    addresses = ("url",)
    titles = words(en="Read a web page", ja="ウェブページを読む")
    timeout_s = TIMEOUT_S + 1
    concurrency = 8
    foreign = True
    Config = ReadWebPageConfig

    def __init__(
        self, fetcher: PageFetcher, extract: Extractor = worker.extract, limit_s: float = TIMEOUT_S
    ) -> None:
        self._fetcher = fetcher
        self._extract = extract
        self._limit_s = limit_s
        self._parsers = asyncio.Semaphore(MAX_PARSERS)
        self._pages: SharedCache[dict[str, str]] = SharedCache(CACHE_S, CACHE_SIZE)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: ReadWebPageConfig) -> ReadWebPage | None:
        """Read pages if ``config`` says so; ``http`` is not used, since it connects to any
        address."""
        if not config.read_web_pages:
            return None
        return cls(PageFetcher(SystemResolver(), httpcore.AnyIOBackend()))

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """A part of the text of the page at ``url``.

        Raises:
            ToolError: the page is refused, is too large, has no text, or takes too long.
        """
        url = arguments["url"].strip()
        offset = int(arguments.get("offset", 0))
        page = await self._pages.get(url, lambda: self._read(url, context.conversation))
        text = page["text"]
        if offset >= len(text):
            raise ToolError(f"the text ends at offset {len(text)}")
        result: dict[str, Any] = {**page, "text": text[offset : offset + PART]}
        if offset + PART < len(text):
            result |= {"next_offset": offset + PART, "total_characters": len(text)}
        return filled(result)

    async def _read(self, url: str, conversation: str) -> dict[str, str]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._limit_s
        try:
            async with asyncio.timeout_at(end):
                document = await self._fetcher.fetch(url, conversation)
                async with self._parsers:
                    found = await self._extract(document, end - loop.time())
        except TimeoutError as error:
            raise ToolError(TOO_SLOW) from error
        if not found["text"]:
            raise ToolError(NO_TEXT)
        return {"url": document.url, **found}
