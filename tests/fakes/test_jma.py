"""The stand-in for the Japan Meteorological Agency has its files, in their form, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.jma import AREAS, JmaFake, jma_fake
from tests.toolset.contexts import http_client

ENTRY = [
    "acd",
    "anm",
    "at",
    "cod",
    "ctt",
    "eid",
    "en_anm",
    "en_ttl",
    "ift",
    "int",
    "json",
    "mag",
    "maxi",
    "rdt",
    "ser",
    "ttl",
]


@pytest.fixture
def fake() -> Iterator[JmaFake]:
    """The fake."""
    with jma_fake() as fake:
        yield fake


async def get(fake: JmaFake, path: str) -> httpx.Response:
    """One file."""
    async with http_client() as http:
        return await http.get(f"{fake.base_url}/bosai/{path}")


async def test_an_offices_file_has_its_areas_and_no_others(fake: JmaFake) -> None:
    """Each in every report, with or without a warning."""
    fake.warn("1310100", "03")
    (report,) = (await get(fake, "warning/data/r8/130000.json")).json()
    assert [item["areaCode"] for item in report["warning"]["class10Items"]] == ["130010", "130020"]
    kinds = {item["areaCode"]: item["kinds"] for item in report["warning"]["class20Items"]}
    assert kinds == {
        "1310100": [{"code": "03", "status": "発表"}],
        "1320600": [{"status": "発表警報・注意報はなし"}],
    }


async def test_areas_have_their_parents(fake: JmaFake) -> None:
    """Up to the centers."""
    areas = (await get(fake, "common/const/area.json")).json()
    assert areas == AREAS
    parents = {
        "class20s": "class15s",
        "class15s": "class10s",
        "class10s": "offices",
        "offices": "centers",
    }
    for level, above in parents.items():
        assert {entry["parent"] for entry in areas[level].values()} <= set(areas[above])


async def test_the_newest_earthquake_is_first(fake: JmaFake) -> None:
    """With the fields of the file."""
    fake.quake("東京湾")
    fake.quake("三陸沖")
    listed = (await get(fake, "quake/data/list.json")).json()
    assert [entry["anm"] for entry in listed] == ["三陸沖", "東京湾"]
    assert sorted(listed[0]) == ENTRY


@pytest.mark.parametrize(
    "path",
    [
        "warning/data/r8/014030.json",
        "warning/data/r8/990000.json",
        "warning/data/warning/130000.json",
        "x",
    ],
)
async def test_other_files_are_not_there(fake: JmaFake, path: str) -> None:
    """Also the one of an office whose warnings are in another's file."""
    assert (await get(fake, path)).status_code == 404
