"""``get_earthquakes``: the newest earthquakes, of all Japan or of a place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.jma import JmaFake
from tests.fakes.sources import FAILURES
from tests.toolset.contexts import context
from toolset.tool_map import ToolMap

CHIYODA = [
    {
        "code": "13",
        "maxi": "4",
        "city": [{"code": "1310100", "maxi": "3"}, {"code": "1310200", "maxi": "4"}],
    }
]


async def earthquakes(tools: ToolMap, locale: str = "en", **arguments: Any) -> list[dict[str, Any]]:
    """The list; an error fails the test."""
    outcome = await tools.call("get_earthquakes", arguments, context(locale=locale))
    assert not outcome.is_error, outcome.response
    found: list[dict[str, Any]] = outcome.response["earthquakes"]
    return found


async def test_the_newest_are_told_in_the_users_language(jma: JmaFake, tools: ToolMap) -> None:
    """Epicentre and intensity have names in both."""
    jma.quake("東京湾", "Tokyo Bay", maxi="5-")
    english = {
        "time": "2026-11-22T16:00+09:00",
        "epicentre": "Tokyo Bay",
        "magnitude": "4.1",
        "max_intensity": "5 Lower",
        "depth_km": 30,
    }
    assert await earthquakes(tools) == [english]
    assert await earthquakes(tools, "ja") == [
        english | {"epicentre": "東京湾", "max_intensity": "5弱"}
    ]
    assert (await tools.call("get_earthquakes", {}, context(locale="ja"))).response[
        "source"
    ] == "気象庁"


async def test_what_is_not_yet_known_is_left_out(jma: JmaFake, tools: ToolMap) -> None:
    """The first report has intensities only."""
    jma.quake("", maxi="4", mag="", cod="")
    assert await earthquakes(tools) == [{"time": "2026-11-22T16:00+09:00", "max_intensity": "4"}]


async def test_there_are_as_many_as_asked_for(jma: JmaFake, tools: ToolMap) -> None:
    """Five by default, the newest first."""
    for number in range(8):
        jma.quake(f"震源{number}")
    assert [quake["epicentre"] for quake in await earthquakes(tools, count=2)] == ["震源7", "震源6"]
    assert len(await earthquakes(tools)) == 5


async def test_weak_ones_can_be_left_out(jma: JmaFake, tools: ToolMap) -> None:
    """5弱 is less than 5強; what nobody felt is less than 1."""
    for maxi in ("1", "5-", "5+", "7", ""):
        jma.quake("震源", maxi=maxi)
    found = await earthquakes(tools, "ja", min_intensity="5+")
    assert [quake["max_intensity"] for quake in found] == ["7", "5強"]
    assert len(await earthquakes(tools, min_intensity="1")) == 4


@pytest.mark.parametrize(
    ("place", "there"),
    [("東京", "4"), ("Tokyo", "4"), ("千代田区", "3"), ("Chiyoda, Tokyo", "3")],
)
async def test_of_a_place_there_are_those_felt_there(
    jma: JmaFake, tools: ToolMap, place: str, there: str
) -> None:
    """With the intensity in that place."""
    jma.quake("相模湾", "Sagami Bay", maxi="5+", int=CHIYODA)
    jma.quake("石狩湾", "Ishikari Bay", int=[{"code": "01", "maxi": "3"}])
    (quake,) = await earthquakes(tools, "ja", place=place)
    assert (quake["epicentre"], quake["intensity_there"], quake["max_intensity"]) == (
        "相模湾",
        there,
        "5強",
    )
    assert await earthquakes(tools, place=place, min_intensity="5-") == []


@pytest.mark.parametrize(
    ("place", "found"), [("三陸沖", 1), ("sanriku", 1), ("北海道", 1), ("広島", 0), ("Atlantis", 0)]
)
async def test_of_a_place_there_are_those_with_their_epicentre_there(
    jma: JmaFake, tools: ToolMap, place: str, found: int
) -> None:
    """Also where the sea has a name that is no area; a region has all its prefectures."""
    jma.quake("三陸沖", "Off the Coast of Sanriku", int=[{"code": "01", "maxi": "1"}])
    assert len(await earthquakes(tools, place=place)) == found


async def test_the_list_is_read_once_a_minute(jma: JmaFake, tools: ToolMap) -> None:
    """And without a place the areas are not read at all."""
    await earthquakes(tools)
    await earthquakes(tools, count=1)
    assert jma.requests == ["/bosai/quake/data/list.json"]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_is_told(jma: JmaFake, tools: ToolMap, failure: str) -> None:
    """In time, and without a word about the server."""
    jma.fail(failure)
    outcome = await tools.call("get_earthquakes", {"place": "Tokyo"}, context(seconds=0.5))
    assert outcome.is_error
    assert jma.base_url not in str(outcome.response)
    assert "failed unexpectedly" not in str(outcome.response)
