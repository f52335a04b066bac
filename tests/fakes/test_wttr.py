"""The stand-in for wttr.in refuses what the real one refuses, and answers in its shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.fakes.wttr import WttrFake, wttr_fake
from tests.project import ROOT
from tests.toolset.contexts import http_client

FIELDS = ROOT / "tests" / "facts" / "wttr_fields.txt"


@pytest.fixture
async def fake() -> AsyncIterator[WttrFake]:
    """The fake, knowing 東京 and New York."""
    async with wttr_fake() as fake:
        fake.place("東京")
        fake.place("New York", wrapped=True)
        yield fake


async def get(fake: WttrFake, target: str, method: str = "GET") -> httpx.Response:
    """One request, its path and query as written."""
    async with http_client() as http:
        return await http.request(method, fake.base_url + target)


def fields(answer: Any, name: str = "") -> Iterator[str]:
    """The paths of all fields that hold a value; of a list the first entry's."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from fields(value, f"{name}.{key}".lstrip("."))
    elif isinstance(answer, list):
        yield from fields(answer[0], name)
    else:
        yield name


async def test_its_answers_have_no_field_the_real_one_lacks(fake: WttrFake) -> None:
    """The service's own fields, as they were in April 2026."""
    known = set(FIELDS.read_text("utf-8").split())
    assert set(fields((await get(fake, "/東京?format=j1")).json())) <= known
    assert set(fields((await get(fake, "/new%20york?format=j1")).json()["data"])) <= known


async def test_its_days_begin_today(fake: WttrFake) -> None:
    """For whoever asks about tomorrow."""
    answer = (await get(fake, "/東京?format=j1")).json()
    observed = datetime.strptime(
        answer["current_condition"][0]["localObsDateTime"], "%Y-%m-%d %I:%M %p"
    )
    assert abs((datetime.now(UTC).replace(tzinfo=None) - observed).total_seconds()) < 120
    assert answer["weather"][0]["date"] == f"{observed:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("/Atlantis?format=j1", 500, "location not found: location not found\n"),
        ("/東京?format=j1&units=m", 500, "unknown option\n"),
        ("/東京", 500, "unknown option\n"),
        ("/東京/forecast?format=j1", 400, "Bad Request\n"),
        ("/東%2F京?format=j1", 400, "Bad Request\n"),
    ],
)
async def test_it_refuses_what_it_does_not_know(
    fake: WttrFake, target: str, status: int, text: str
) -> None:
    """Places, options and paths alike."""
    answer = await get(fake, target)
    assert (answer.status_code, answer.text) == (status, text)


async def test_it_is_only_for_reading(fake: WttrFake) -> None:
    """There is nothing to post to."""
    assert (await get(fake, "/東京?format=j1", method="POST")).status_code == 400


@pytest.mark.parametrize("place", ["LA", "de", "Page", "v2"])
async def test_it_takes_two_letters_for_a_language(fake: WttrFake, place: str) -> None:
    """And then reports the place of its caller's address, as the real one does."""
    answer = (await get(fake, f"/{place}?format=j1")).json()
    assert answer["nearest_area"][0]["areaName"] == [{"value": "Berlin"}]


async def test_it_fails_as_often_as_told(fake: WttrFake) -> None:
    """So many times first, then for good, until it recovers."""
    fake.fail("rate_limit", times=2)
    fake.fail("capacity")
    statuses = [(await get(fake, "/東京?format=j1")).status_code for _ in range(4)]
    fake.recover()
    assert [*statuses, (await get(fake, "/東京?format=j1")).status_code] == [
        429,
        429,
        503,
        503,
        200,
    ]
    assert [request.place for request in fake.requests] == ["東京"] * 5


async def test_its_redirection_leads_somewhere(fake: WttrFake) -> None:
    """Whoever follows it is seen to do so."""
    fake.fail("redirect", times=1)
    async with http_client() as http:
        await http.get(fake.base_url + "/東京?format=j1", follow_redirects=True)
    assert [request.place for request in fake.requests] == ["東京", "elsewhere"]
