"""``get_news``: headlines with source, time and link."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.sources import FAILURES
from tests.fakes.wordpress import AT, WordPressFake
from tests.toolset.contexts import context, http_client
from toolset.news import TIMEOUT_S, GetNews, NewsConfig
from toolset.rss.feed import SIZE_CAP
from toolset.tool import ToolOutcome, ValidatedTool, read_schemas
from toolset.web.source import Source


@pytest.fixture
def english() -> Iterator[WordPressFake]:
    """The English site."""
    with WordPressFake("Global Voices").served() as fake:
        yield fake


@pytest.fixture
def japanese() -> Iterator[WordPressFake]:
    """The Japanese site."""
    with WordPressFake("グローバル・ボイス").served() as fake:
        yield fake


@pytest.fixture
async def get_news(english: WordPressFake, japanese: WordPressFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, an hour after the stand-in's posts."""
    async with http_client() as http:
        urls = {"en": english.base_url, "ja": japanese.base_url}
        sites = {language: Source(http, url, TIMEOUT_S, SIZE_CAP) for language, url in urls.items()}
        made = GetNews(sites, now=lambda: AT + timedelta(hours=1))
        yield ValidatedTool(made, *read_schemas("get_news"))


async def news(get_news: ValidatedTool, locale: str = "en", **arguments: Any) -> dict[str, Any]:
    """The answer; an error fails the test."""
    outcome = await get_news.call(arguments, context(locale=locale))
    assert not outcome.is_error, outcome.response
    return outcome.response


async def test_headlines_have_source_time_and_link(
    english: WordPressFake, get_news: ValidatedTool
) -> None:
    """In the user's zone, the newest first."""
    english.post("Older", at=AT - timedelta(hours=2))
    english.post("Floods &amp; storms", "https://news.example/2", "<p>Rivers <b>rose</b>.</p>")
    english.post("Oldest", at=AT - timedelta(days=9))
    assert (await news(get_news, count=2)) == {
        "headlines": [
            {
                "title": "Floods & storms",
                "link": "https://news.example/2",
                "source": "Global Voices",
                "time": "2026-11-22T17:00+09:00",
                "summary": "Rivers rose .",
            },
            {
                "title": "Older",
                "link": "https://news.example/1",
                "source": "Global Voices",
                "time": "2026-11-22T15:00+09:00",
            },
        ]
    }


async def test_a_topic_is_searched_for(english: WordPressFake, get_news: ValidatedTool) -> None:
    """Spaces and signs in it change no more than the search; without a result the list is empty."""
    english.post("Climate talks begin")
    english.post("Football")
    assert [
        one["title"] for one in (await news(get_news, topic=" climate　talks "))["headlines"]
    ] == ["Climate talks begin"]
    assert await news(get_news, topic="&feed=x#/../") == {"headlines": []}
    assert english.requests == ["/feed/?s=climate talks", "/feed/?s=%26feed%3Dx%23/../"]


async def test_the_language_is_the_users_unless_another_is_asked_for(
    english: WordPressFake, japanese: WordPressFake, get_news: ValidatedTool
) -> None:
    """Each has its own site."""
    english.post("English")
    japanese.post("日本語")
    asked = [("ja-JP", {}), ("fr", {}), ("ja", {"language": "en"}), ("en", {"language": "ja"})]
    answers = [await news(get_news, locale, **arguments) for locale, arguments in asked]
    assert [answer["headlines"][0]["title"] for answer in answers] == [
        "日本語",
        "English",
        "English",
        "日本語",
    ]
    assert answers[0]["headlines"][0]["source"] == "グローバル・ボイス"


async def test_old_news_are_said_to_be_old(english: WordPressFake, get_news: ValidatedTool) -> None:
    """A site may publish seldom; a headline without a time is last."""
    english.post("Old", at=AT - timedelta(days=30))
    answer = await news(get_news)
    assert answer["note"] == "The newest of these is 30 days old."


async def test_what_a_feed_does_not_say_is_left_out(
    english: WordPressFake, get_news: ValidatedTool
) -> None:
    """Title and link are enough, in any zone."""
    english.body = (
        b"<rss "
        b"version='2.0'><channel><item><title>A</title><link>http://a.example</link></item></channel></rss>"
    )
    outcome = await get_news.call({}, context(time_zone="Nowhere/Atlantis"))
    assert outcome == ToolOutcome({"headlines": [{"title": "A", "link": "http://a.example"}]})


async def test_the_same_question_is_answered_from_memory(
    english: WordPressFake, get_news: ValidatedTool
) -> None:
    """Whatever its case, spaces and count."""
    for arguments in (
        {"topic": "Rain"},
        {"topic": " rain ", "count": 1},
        {"topic": "ＲＡＩＮ"},
        {},
        {"topic": ""},
    ):
        await news(get_news, **arguments)
    assert english.requests == ["/feed/?s=Rain", "/feed/"]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_is_told_and_not_remembered(
    english: WordPressFake, get_news: ValidatedTool, failure: str
) -> None:
    """In time, and without a word about the server."""
    english.fail(failure)
    outcome = await get_news.call({}, context(seconds=0.5))
    assert outcome.is_error
    assert english.base_url not in str(outcome.response)
    assert "failed unexpectedly" not in str(outcome.response)
    english.recover()
    assert await news(get_news, topic="new") == {"headlines": []}


async def test_the_operators_sites_are_asked(
    english: WordPressFake, japanese: WordPressFake
) -> None:
    """NEWS_BASE_URL and NEWS_JA_BASE_URL."""
    async with http_client() as http:
        config = NewsConfig(news_base_url=english.base_url, news_ja_base_url=japanese.base_url)
        made = GetNews.create(http, config)
        await made.call({}, context(locale="en"))
        await made.call({}, context(locale="ja"))
    assert english.requests == japanese.requests == ["/feed/"]
