"""``get_news``: headlines by topic and language, from the feeds of a site run by WordPress."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any

import httpx
from pydantic import BaseModel

from toolset.rss.feed import SIZE_CAP, Headline, read
from toolset.titles import language_of, words
from toolset.tool import Tool, ToolContext
from toolset.web.cache import SharedCache
from toolset.web.json_values import filled
from toolset.web.source import BaseUrl, Source

TIMEOUT_S = 3
CACHE_S = 300
CACHE_SIZE = 128
COUNT = 5
OLD = timedelta(days=14)
EARLIEST = datetime.min.replace(tzinfo=UTC)


class NewsConfig(BaseModel):
    """The sites, one for each language."""

    news_base_url: BaseUrl = "https://globalvoices.org"
    news_ja_base_url: BaseUrl = "https://jp.globalvoices.org"


class GetNews(Tool):
    """Answers from a five-minute cache where possible.

    Args:
        sites: by language.
        now: the current moment, with its zone.
    """

    name = "get_news"
    description = (
        "Recent news headlines, newest first, all or on a topic, from one site, not the whole "
        "web. Use it for news, headlines, or what has happened in the world. Name source and link "
        "of each that you use, and how old it is where a `note` says so."
    )
    keywords = "news headline latest story world topic ニュース 報道 時事 話題 最新 出来事"
    risk = "low"
    public = True
    titles = words(en="News", ja="ニュース")
    timeout_s = TIMEOUT_S
    commands = ("news", "ニュース")
    foreign = True
    Config = NewsConfig

    def __init__(
        self, sites: dict[str, Source], now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._sites = sites
        self._now = now
        self._feeds: SharedCache[list[Headline]] = SharedCache(CACHE_S, CACHE_SIZE)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: NewsConfig) -> GetNews:
        """Use the sites of ``config`` through ``http``."""
        urls = {"en": config.news_base_url, "ja": config.news_ja_base_url}
        return cls(
            {language: Source(http, url, TIMEOUT_S, SIZE_CAP) for language, url in urls.items()}
        )

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """List headlines, the newest first.

        Raises:
            ToolError: no answer in time, or no feed.
        """
        language = arguments.get("language") or language_of(context.locale)
        topic = " ".join(unicodedata.normalize("NFKC", arguments.get("topic", "")).split())
        key = language, topic.casefold()
        headlines = await self._feeds.get(key, partial(self._read, language, topic))
        ordered = sorted(
            headlines, key=lambda headline: headline.published or EARLIEST, reverse=True
        )
        shown = [
            _shown(headline, context.zone) for headline in ordered[: arguments.get("count", COUNT)]
        ]
        return {"headlines": shown, **self._note(ordered)}

    async def _read(self, language: str, topic: str) -> list[Headline]:
        """The headlines of a site; the feed of a search is at the same address, without a
        redirection."""
        body = await self._sites[language].get("/feed/", {"s": topic} if topic else None)
        return await asyncio.to_thread(read, body)

    def _note(self, ordered: list[Headline]) -> dict[str, str]:
        newest = ordered[0].published if ordered else None
        age = self._now() - newest if newest else timedelta()
        return {"note": f"The newest of these is {age.days} days old."} if age > OLD else {}


def _shown(headline: Headline, zone: tzinfo) -> dict[str, str]:
    time = ""
    if headline.published:
        time = headline.published.astimezone(zone).isoformat(timespec="minutes")
    shown = {"title": headline.title, "link": headline.link, "source": headline.source}
    return filled({**shown, "time": time, "summary": headline.summary})
