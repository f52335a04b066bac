"""The stand-in for the European Central Bank has its two feeds, and nothing else."""

from __future__ import annotations

import pytest

from tests.fakes.ecb import DAILY, HISTORY, EcbFake
from tests.fakes.sources import serve_source
from tests.toolset.contexts import http_client
from toolset.ecb.rates import read


@pytest.mark.parametrize(("path", "days"), [(DAILY, 1), (HISTORY, 3)])
async def test_its_feeds_differ_in_their_days(path: str, days: int) -> None:
    """The daily one has the newest."""
    async with serve_source(EcbFake()) as fake, http_client() as http:
        answer = await http.get(fake.base_url + path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/xml")
    assert [f"{day}" for day in read(answer.content)] == sorted(fake.days, reverse=True)[:days]


async def test_there_is_nothing_else() -> None:
    """Any other path is unknown."""
    async with serve_source(EcbFake()) as fake, http_client() as http:
        assert (
            await http.get(f"{fake.base_url}/stats/eurofxref/eurofxref.json")
        ).status_code == 404
