"""The stand-in for Wikipedia refuses what the real one refuses, and answers in its shape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.fakes.sources import serve_source
from tests.fakes.wikipedia import WikipediaFake
from tests.toolset.contexts import http_client

SEARCH = {
    **{
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "generator": "search",
        "gsrsearch": "fuji",
    },
    **{
        "gsrlimit": "5",
        "prop": "extracts|info",
        "inprop": "url",
        "explaintext": "1",
        "exintro": "1",
    },
    **{"exchars": "100", "exlimit": "5"},
}


@pytest.fixture
async def fake() -> AsyncIterator[WikipediaFake]:
    """The fake with two articles for every language it does not know."""
    async with serve_source(WikipediaFake()) as fake:
        fake.page("", "Mount Fuji", "A volcano.", sections="Its height.")
        fake.page("", "Fuji", "A name.", is_disambiguation=True)
        yield fake


async def get(
    fake: WikipediaFake, params: dict[str, str], agent: str = "Kaiwa (test)"
) -> httpx.Response:
    """One request."""
    async with http_client() as http:
        return await http.get(
            f"{fake.base_url}/w/api.php", params=params, headers={"User-Agent": agent}
        )


async def test_pages_come_by_their_ids_with_the_rank_beside(fake: WikipediaFake) -> None:
    """As the real one orders them."""
    pages = (await get(fake, SEARCH)).json()["query"]["pages"]
    assert [(page["pageid"], page["index"], page["title"], page["extract"]) for page in pages] == [
        (1, 2, "Fuji", "A name."),
        (2, 1, "Mount Fuji", "A volcano."),
    ]


async def test_nothing_found_is_an_answer_without_a_query(fake: WikipediaFake) -> None:
    """It is complete all the same."""
    assert (await get(fake, SEARCH | {"gsrsearch": "atlantis"})).json() == {"batchcomplete": True}


async def test_an_article_is_found_by_its_id(fake: WikipediaFake) -> None:
    """With its sections, where no beginning is asked for."""
    params = {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "prop": "extracts",
        "pageids": "2",
    }
    answer = (await get(fake, params | {"exchars": "100", "exlimit": "1"})).json()
    assert answer["query"]["pages"] == [
        {"pageid": 2, "ns": 0, "title": "Mount Fuji", "extract": "A volcano.\n\nIts height."}
    ]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"api_key": "x"}, "unrecognized_api_key"),
        ({"action": "edit"}, "badvalue_action"),
        ({"format": "xml"}, "badvalue_format"),
        ({"pageids": "1"}, "invalidparammix"),
        ({"gsrsearch": " "}, "missingparam"),
        ({"prop": "secrets"}, "badvalue_prop"),
        ({"exchars": "1201"}, "badinteger"),
        ({"gsrlimit": "501"}, "badinteger"),
    ],
)
async def test_it_refuses_what_it_does_not_know(
    fake: WikipediaFake, changed: dict[str, Any], code: str
) -> None:
    """With a code, in an answer whose status is 200."""
    answer = await get(fake, SEARCH | changed)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)


async def test_whole_articles_come_one_at_a_time(fake: WikipediaFake) -> None:
    """Only beginnings come in numbers."""
    params = {name: value for name, value in SEARCH.items() if name != "exintro"}
    assert (await get(fake, params)).json()["error"]["code"] == "toomanyvalues"


@pytest.mark.parametrize("agent", ["", "python-httpx/0.28", "curl/8"])
async def test_whoever_does_not_say_who_asks_is_refused(fake: WikipediaFake, agent: str) -> None:
    """By Wikimedia's policy."""
    assert (await get(fake, SEARCH, agent)).status_code == 403


async def test_other_paths_and_methods_are_refused(fake: WikipediaFake) -> None:
    """There is one path, for reading."""
    async with http_client() as http:
        agent = {"User-Agent": "Kaiwa (test)"}
        assert (await http.get(f"{fake.base_url}/api.php", headers=agent)).status_code == 404
        assert (await http.post(f"{fake.base_url}/w/api.php", headers=agent)).status_code == 405
