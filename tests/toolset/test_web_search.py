"""``web_search``: from a few words to pages, whichever provider has a key."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.fakes import brave, tavily
from tests.fakes.brave import BraveFake
from tests.fakes.sources import FAILURES
from tests.fakes.tavily import TavilyFake
from tests.toolset.contexts import UsesInMemory, context, http_client
from toolset.tool import USED_UP, ToolOutcome, ValidatedTool, read_schemas
from toolset.web_search import WebSearch, WebSearchConfig
from toolset.websearch import NO_QUOTA, SNIPPET_CAP, TITLE_CAP, WRONG_KEY

Fake = BraveFake | TavilyFake
SOURCES = {BraveFake: "Brave Search", TavilyFake: "Tavily"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """What all tools share."""
    async with http_client() as http:
        yield http


@pytest.fixture(params=[BraveFake, TavilyFake], ids=["brave", "tavily"])
def fake(request: pytest.FixtureRequest) -> Iterator[Fake]:
    """Each provider."""
    with request.param().served() as fake:
        yield fake


def offered(http: httpx.AsyncClient, fake: Fake, key: str = "") -> ValidatedTool:
    """The tool with that provider's key, as the model gets it."""
    settings: dict[str, Any]
    if isinstance(fake, BraveFake):
        settings = {"brave_base_url": fake.base_url, "brave_api_key": key or brave.KEY}
    else:
        settings = {"tavily_base_url": fake.base_url, "tavily_api_key": key or tavily.KEY}
    made = WebSearch.create(http, WebSearchConfig(**settings))
    assert made is not None
    return ValidatedTool(made, *read_schemas("web_search"))


@pytest.fixture
def web_search(http: httpx.AsyncClient, fake: Fake) -> ValidatedTool:
    """The tool with that provider."""
    return offered(http, fake)


def page(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A result with the fields of both providers."""
    text = "Leaves turn red in\u200b late\n November. "
    found = {
        "title": f"Autumn {number}",
        "url": f"https://kyoto.example/{number}",
        "description": text,
        "content": text,
    }
    return {
        **found,
        "page_age": "2026-11-01T09:00:00",
        "published_date": "2026-11-01",
        "score": 0.9,
        **fields,
    }


async def test_pages_are_found(fake: Fake, web_search: ValidatedTool) -> None:
    """With the provider's name, in its order."""
    fake.results = [page(1), page(2, page_age=None, published_date=None)]
    found = await web_search.call({"query": " 京都　紅葉\n見頃 "}, context())
    first = {
        "title": "Autumn 1",
        "url": "https://kyoto.example/1",
        "snippet": "Leaves turn red in late November.",
    }
    second = {**first, "title": "Autumn 2", "url": "https://kyoto.example/2"}
    results = [first | {"date": "2026-11-01"}, second]
    assert found == ToolOutcome({"source": SOURCES[type(fake)], "results": results})
    assert [request.get("q", request.get("query")) for request in fake.requests] == [
        "京都 紅葉 見頃"
    ]


async def test_nothing_found_is_a_result(fake: Fake, web_search: ValidatedTool) -> None:
    """The model is not told of an error."""
    found = await web_search.call({"query": "qwertyuiop"}, context())
    assert found == ToolOutcome({"source": SOURCES[type(fake)], "results": []})


@pytest.mark.parametrize(("asked", "given"), [({}, 5), ({"count": 1}, 1), ({"count": 10}, 10)])
async def test_the_model_says_how_many(
    fake: Fake, web_search: ValidatedTool, asked: dict[str, int], given: int
) -> None:
    """Ten at most."""
    fake.results = [page(number) for number in range(30)]
    found = await web_search.call({"query": "autumn", **asked}, context())
    assert len(found.response["results"]) == given


async def test_what_pages_say_of_themselves_is_bounded(
    fake: Fake, web_search: ValidatedTool
) -> None:
    """Long texts are cut; what has no address of the web is left out."""
    endless = "x" * 100_000
    fake.results = [
        page(1, title=endless, description=endless, content=endless),
        page(2, url="javascript:alert(1)"),
        page(3, url="https://kyoto.example/" + endless),
        page(4, url=None),
        page(5, title=None, description=7, content=7),
        page(6, url="https://kyoto.example/a b?by=<me>@home"),
    ]
    found = await web_search.call({"query": "autumn", "count": 10}, context())
    long, untitled, spaced = found.response["results"]
    assert (len(long["title"]), len(long["snippet"])) == (TITLE_CAP, SNIPPET_CAP)
    assert (untitled["title"], untitled["snippet"]) == ("https://kyoto.example/5", "")
    assert spaced["url"] == "https://kyoto.example/a b?by=<me>@home"


async def test_long_and_empty_queries(fake: Fake, web_search: ValidatedTool) -> None:
    """A provider takes fifty words; none are refused before anything is sent."""
    empty = await web_search.call({"query": " \n "}, context())
    assert empty == ToolOutcome.error("invalid parameters: query: write what to search for")
    assert fake.requests == []
    assert not (await web_search.call({"query": "a " * 200}, context())).is_error
    assert not (await web_search.call({"query": "京" * 400}, context())).is_error


async def test_a_person_searches_a_hundred_times_a_day(
    fake: Fake, web_search: ValidatedTool
) -> None:
    """Searches are paid for: the provider does not get the next one."""
    uses = UsesInMemory()
    for number in range(100):
        await uses.take("web_search", 100, f"earlier {number}")
    last = replace(context(), find_store=uses.find, idempotency_key="earlier 99")
    assert not (await web_search.call({"query": "autumn"}, last)).is_error
    beyond = replace(context(), find_store=uses.find, idempotency_key="one more")
    refused = await web_search.call({"query": "autumn"}, beyond)
    assert refused == ToolOutcome.error(USED_UP.format(name="web_search", limit=100))
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    "failure", [failure for failure in FAILURES if failure not in ("stalled", "dripping")]
)
async def test_a_failure_is_an_error_without_secrets(
    fake: Fake, web_search: ValidatedTool, failure: str
) -> None:
    """In every way in which a service fails."""
    fake.fail(failure)
    outcome = await web_search.call({"query": "autumn"}, context())
    assert outcome.is_error
    assert "secret" not in str(outcome.response)
    assert "failed unexpectedly" not in str(outcome.response)


@pytest.mark.parametrize("status", ["401", "403"])
async def test_a_wrong_key_is_for_the_operator(
    fake: Fake, web_search: ValidatedTool, status: str
) -> None:
    """The model can do nothing about it."""
    fake.fail(f"status {status}")
    assert await web_search.call({"query": "autumn"}, context()) == ToolOutcome.error(WRONG_KEY)


async def test_a_used_up_quota_is_told(fake: Fake, web_search: ValidatedTool) -> None:
    """By each provider's own numbers."""
    for status in ("402", "429") if isinstance(fake, BraveFake) else ("429", "432", "433"):
        fake.fail(f"status {status}")
        assert await web_search.call({"query": "autumn"}, context()) == ToolOutcome.error(NO_QUOTA)


async def test_the_key_is_never_told_or_logged(
    http: httpx.AsyncClient, fake: Fake, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in errors, not in representations, not in what is logged from INFO on."""
    caplog.set_level(logging.INFO)
    tool = offered(http, fake, "wrong-sk-secret")
    assert await tool.call({"query": "autumn"}, context()) == ToolOutcome.error(WRONG_KEY)
    fake.fail("stalled")
    await tool.call({"query": "autumn"}, context(seconds=0.1))
    assert "sk-secret" not in caplog.text
    assert "sk-secret" not in repr(WebSearchConfig(brave_api_key=SecretStr("sk-secret")))


async def test_japanese_questions_get_japanese_pages(http: httpx.AsyncClient) -> None:
    """Brave wants to know the country, and has its own code for the language."""
    with BraveFake().served() as fake:
        tool = offered(http, fake)
        for locale in ("ja-JP", "en", "de", ""):
            assert not (await tool.call({"query": "autumn"}, context(locale=locale))).is_error
    languages = [(request.get("country"), request.get("search_lang")) for request in fake.requests]
    assert languages == [("JP", "jp"), (None, None), (None, None), (None, None)]


async def test_it_is_offered_only_with_a_key(http: httpx.AsyncClient) -> None:
    """With both, Brave searches."""
    assert WebSearch.create(http, WebSearchConfig()) is None
    with BraveFake().served() as fake, TavilyFake().served() as other:
        both = WebSearchConfig(
            brave_base_url=fake.base_url,
            brave_api_key=SecretStr(brave.KEY),
            tavily_base_url=other.base_url,
            tavily_api_key=SecretStr(tavily.KEY),
        )
        made = WebSearch.create(http, both)
        assert made is not None
        assert (await made.call({"query": "autumn"}, context()))["source"] == "Brave Search"
    assert (len(fake.requests), other.requests) == (1, [])
