"""The sources of data, asked by the tools as in operation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from bot.ops.call_tool import call_by_hand
from bot.plugins import open_tools
from bot.settings import Settings, tool_config
from tests.project import NO_OPEN_METEO, NOWHERE
from toolset.currency import CurrencyConfig
from toolset.jma.client import JmaConfig
from toolset.news import NewsConfig
from toolset.weather import WeatherConfig
from toolset.wikipedia import WikipediaConfig

RequireReachable = Callable[[str], None]


async def ask(config: Settings, name: str, **arguments: Any) -> dict[str, Any]:
    """What a model would get; an error fails the test."""
    async with open_tools(config) as tools:
        outcome = await call_by_hand(tools, name, arguments, config)
    assert not outcome.is_error, outcome.response
    return outcome.response


async def test_wttr_in(
    config: Settings, require_reachable: RequireReachable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone: the weather now and three days."""
    require_reachable(tool_config(WeatherConfig).wttr_base_url)
    for name, address in NO_OPEN_METEO.items():
        monkeypatch.setenv(name, address)
    monkeypatch.setenv("WEATHER_TIMEOUT_S", "15")
    weather = await ask(config, "get_weather", location="Tokyo")
    assert "wttr.in" in weather["source"]
    assert [day["day"] for day in weather["days"]] == ["today", "tomorrow", "day after tomorrow"]
    assert -30 < Decimal(weather["current_temp_c"]) < 50


async def test_open_meteo(
    config: Settings, require_reachable: RequireReachable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone: its search for places, 24 hours and seven days."""
    addresses = tool_config(WeatherConfig)
    require_reachable(addresses.open_meteo_base_url)
    require_reachable(addresses.open_meteo_geocoding_base_url)
    monkeypatch.setenv("WTTR_BASE_URL", NOWHERE)
    weather = await ask(config, "get_weather", location="京都市", detail="week")
    assert "Open-Meteo" in weather["source"]
    assert len(weather["days"]) == 7
    assert len((await ask(config, "get_weather", location="Kyoto", detail="hourly"))["hours"]) > 0


async def test_japan_meteorological_agency(
    config: Settings, require_reachable: RequireReachable
) -> None:
    """Earthquakes of the last weeks, and warnings of a prefecture and of a city."""
    require_reachable(tool_config(JmaConfig).jma_base_url)
    quakes = (await ask(config, "get_earthquakes", count=20))["earthquakes"]
    assert quakes
    assert datetime.fromisoformat(quakes[0]["time"]) > datetime.now(UTC) - timedelta(days=30)
    for place in ("東京都", "Sapporo"):
        assert (await ask(config, "get_warnings", place=place))["place"]


async def test_european_central_bank(config: Settings, require_reachable: RequireReachable) -> None:
    """The latest rates, and those of a day some weeks ago."""
    require_reachable(tool_config(CurrencyConfig).ecb_base_url)
    latest = await ask(config, "convert_currency", **{"amount": 100, "from": "USD", "to": "JPY"})
    assert Decimal(latest["result"]) > 1_000
    day = (datetime.now(UTC) - timedelta(days=30)).date()
    earlier = await ask(
        config, "convert_currency", **{"from": "EUR", "to": "CHF", "date": f"{day}"}
    )
    assert day - timedelta(days=7) <= datetime.fromisoformat(earlier["rate_date"]).date() <= day


@pytest.mark.parametrize(
    ("language", "words", "title"), [("ja", "富士山", "富士山"), ("en", "Mount Fuji", "Mount Fuji")]
)
async def test_wikipedia(
    config: Settings, require_reachable: RequireReachable, language: str, words: str, title: str
) -> None:
    """An article in each language."""
    require_reachable(
        tool_config(WikipediaConfig).wikipedia_base_url.replace("{language}", language)
    )
    article = await ask(config.model_copy(update={"language": language}), "wikipedia", query=words)
    assert (article["title"], article["language"]) == (title, language)


@pytest.mark.parametrize(
    ("language", "address"), [("en", "news_base_url"), ("ja", "news_ja_base_url")]
)
async def test_news(
    config: Settings, require_reachable: RequireReachable, language: str, address: str
) -> None:
    """Headlines of each site."""
    require_reachable(getattr(tool_config(NewsConfig), address))
    assert (await ask(config, "get_news", language=language))["headlines"]


async def test_a_web_page(config: Settings, require_reachable: RequireReachable) -> None:
    """The page that is there for such tests."""
    require_reachable("https://example.com")
    assert (
        "Example Domain"
        in (await ask(config, "read_web_page", url="https://example.com/"))["title"]
    )


@pytest.mark.parametrize(
    ("key", "other", "url"),
    [
        ("BRAVE_API_KEY", "TAVILY_API_KEY", "https://api.search.brave.com"),
        ("TAVILY_API_KEY", "BRAVE_API_KEY", "https://api.tavily.com"),
    ],
    ids=["brave", "tavily"],
)
async def test_web_search(
    config: Settings,
    require_reachable: RequireReachable,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    other: str,
    url: str,
) -> None:
    """Each provider that has a key: a search of three pages."""
    monkeypatch.setenv(other, "")
    async with open_tools(config) as tools:
        if "web_search" not in tools:
            pytest.skip(f"{key} is not set")
    require_reachable(url)
    found = await ask(config, "web_search", query="Japan Meteorological Agency", count=3)
    assert 0 < len(found["results"]) <= 3
