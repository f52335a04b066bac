"""``get_warnings``: from a place in words to what is in force there, or an error the model
understands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.jma import JmaFake
from tests.fakes.sources import FAILURES
from tests.toolset.contexts import context
from toolset.jma.warning_kinds import KINDS, kind
from toolset.tool_map import ToolMap

LATER = "2026-11-22T18:30:00+09:00"


async def warnings(tools: ToolMap, place: str, locale: str = "en") -> dict[str, Any]:
    """What is in force; an error fails the test."""
    outcome = await tools.call("get_warnings", {"place": place}, context(locale=locale))
    assert not outcome.is_error, outcome.response
    return outcome.response


async def refusal(tools: ToolMap, place: str, locale: str = "en") -> str:
    """The error's text."""
    outcome = await tools.call("get_warnings", {"place": place}, context(locale=locale))
    assert outcome.is_error
    text: str = outcome.response["error"]
    return text


async def test_a_prefecture_has_its_warnings_the_worst_first(jma: JmaFake, tools: ToolMap) -> None:
    """By kind, with the parts of the prefecture where each is in force."""
    jma.warn("130020", "14", additions=["竜巻", "ひょう"], status="継続")
    jma.warn("130010", "43", at=LATER)
    jma.warn("130020", "43", at=LATER)
    assert await warnings(tools, "Tokyo") == {
        "place": "Tokyo",
        "warnings": [
            {
                "name": "Level 4 Heavy Rain Urgent Warning",
                "severity": "urgent warning",
                "level": 4,
                "areas": ["Tokyo Region", "Izu North"],
                "status": "issued",
                "reported": "2026-11-22T18:30+09:00",
            },
            {
                "name": "Thunderstorm Advisory",
                "severity": "advisory",
                "areas": ["Izu North"],
                "status": "continued",
                "dangers": ["tornadoes", "hail"],
                "reported": "2026-11-22T17:00+09:00",
            },
        ],
        "headline": "43に警戒してください。",
        "source": "Japan Meteorological Agency",
    }


async def test_japanese_users_get_the_agencys_own_words(jma: JmaFake, tools: ToolMap) -> None:
    """Also for a warning that was worse before."""
    jma.warn("1310100", "10", status="警報から注意報", additions=["浸水害"])
    found = await warnings(tools, "千代田区", locale="ja-JP")
    assert (found["place"], found["source"]) == ("東京都 千代田区", "気象庁")
    (rain,) = found["warnings"]
    assert (rain["name"], rain["status"], rain["dangers"]) == (
        "レベル2大雨注意報",
        "警報から注意報",
        ["浸水害"],
    )
    assert rain["areas"] == ["千代田区"]
    assert (await warnings(tools, "Chiyoda"))["warnings"][0]["status"] == "changed to this level"


async def test_where_nothing_is_in_force_the_list_is_empty(jma: JmaFake, tools: ToolMap) -> None:
    """Neither what was lifted, nor what is in force elsewhere."""
    jma.warn("1320600", "03")
    jma.warn("1310100", "03", status="解除")
    assert await warnings(tools, "千代田区", "ja") == {
        "place": "東京都 千代田区",
        "warnings": [],
        "source": "気象庁",
    }
    assert (await warnings(tools, "Hiroshima"))["warnings"] == []


async def test_a_later_report_replaces_an_earlier_one(jma: JmaFake, tools: ToolMap) -> None:
    """Whatever their order in the file."""
    jma.warn("1310100", "03", status="解除", at=LATER)
    jma.warn("1310100", "03")
    assert (await warnings(tools, "Chiyoda"))["warnings"] == []


async def test_the_parts_of_a_divided_city_are_asked_for_together(
    jma: JmaFake, tools: ToolMap
) -> None:
    """There is no 横浜市 in the Agency's list."""
    jma.warn("1410012", "05")
    found = await warnings(tools, "横浜市", "ja")
    assert found["place"] == "神奈川県 横浜市北部, 神奈川県 横浜市南部"
    assert [(warning["name"], warning["areas"]) for warning in found["warnings"]] == [
        ("暴風警報", ["横浜市南部"])
    ]


async def test_a_report_without_municipalities_counts_for_their_part(
    jma: JmaFake, tools: ToolMap
) -> None:
    """Some reports name larger areas only."""
    report = {
        "reportDatetime": LATER,
        "warning": {
            "class10Items": [{"areaCode": "130010", "kinds": [{"code": "08", "status": "発表"}]}]
        },
    }
    jma.report("130000", report)
    (surge,) = (await warnings(tools, "Chiyoda"))["warnings"]
    assert (surge["name"], surge["areas"]) == ("Level 3 Storm Surge Warning", ["Tokyo Region"])


async def test_an_office_without_a_file_is_in_its_neighbours(jma: JmaFake, tools: ToolMap) -> None:
    """十勝's warnings are in the file of 釧路・根室."""
    jma.warn("014031", "06")
    (snow,) = (await warnings(tools, "十勝", "ja"))["warnings"]
    assert snow["name"] == "大雪警報"
    assert [path.rpartition("/")[2] for path in jma.requests] == [
        "area.json",
        "014030.json",
        "014100.json",
    ]


async def test_a_code_of_the_future_is_told_as_it_is(jma: JmaFake, tools: ToolMap) -> None:
    """What is unknown is said to be unknown, never left out; what is no code is."""
    jma.warn("130010", "97")
    jma.warn("130010", "<b>evil</b>")
    jma.report("130000", "text")
    (unknown,) = (await warnings(tools, "東京都"))["warnings"]
    assert (unknown["name"], unknown["severity"]) == (
        "Warning or advisory of an unknown kind (code 97)",
        "unknown",
    )


async def test_data_for_another_place_is_no_all_clear(jma: JmaFake, tools: ToolMap) -> None:
    """An empty answer would be taken for safety."""
    jma.report(
        "130000",
        {
            "reportDatetime": LATER,
            "warning": {"class10Items": [{"areaCode": "140010", "kinds": [{}]}]},
        },
    )
    assert await refusal(tools, "Tokyo") == "the answer has no data for this place"


async def test_data_for_a_neighbour_is_no_all_clear(jma: JmaFake, tools: ToolMap) -> None:
    """Reports that have municipalities, but not this one."""
    none = [{"status": "発表警報・注意報はなし"}]
    items = {
        "class10Items": [{"areaCode": "130010", "kinds": none}],
        "class20Items": [{"areaCode": "1320600", "kinds": none}],
    }
    jma.report("130000", {"reportDatetime": LATER, "warning": items})
    assert await refusal(tools, "Chiyoda") == "the answer has no data for this place"
    assert (await warnings(tools, "府中市, 東京都"))["warnings"] == []


@pytest.mark.parametrize(
    ("place", "locale", "text"),
    [
        ("Saporo", "en", "place not found in Japan: Saporo. Did you mean Sapporo City?"),
        (
            "Zürich",
            "en",
            "place not found in Japan: Zürich. Name a prefecture or municipality of Japan.",
        ),
        (
            "府中市",
            "ja",
            "府中市 is several areas. Ask for one of them, or ask the user which is meant: "
            "東京都 府中市; 広島県 府中市",
        ),
        (
            "Hokkaido",
            "en",
            "Hokkaido is several areas. Ask for one of them, or ask the user which is meant: "
            "Tokachi; Ishikari Sorachi Shiribeshi",
        ),
    ],
)
@pytest.mark.usefixtures("jma")
async def test_a_place_that_is_not_one_is_explained(
    tools: ToolMap, place: str, locale: str, text: str
) -> None:
    """The model can ask again, or the user."""
    assert await refusal(tools, place, locale) == text


async def test_the_same_question_is_answered_from_memory(jma: JmaFake, tools: ToolMap) -> None:
    """For a minute; the list of areas for a day."""
    for place in ("Tokyo", "東京都", "Chiyoda", "Hiroshima"):
        await warnings(tools, place)
    assert [path.rpartition("/")[2] for path in jma.requests] == [
        "area.json",
        "130000.json",
        "340000.json",
    ]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_is_told_and_not_remembered(
    jma: JmaFake, tools: ToolMap, failure: str
) -> None:
    """In time, and without a word about the server."""
    jma.fail(failure)
    outcome = await tools.call("get_warnings", {"place": "Tokyo"}, context(seconds=0.5))
    assert outcome.is_error
    assert jma.base_url not in str(outcome.response)
    assert "failed unexpectedly" not in str(outcome.response)


async def test_the_next_call_after_a_failure_is_asked_afresh(jma: JmaFake, tools: ToolMap) -> None:
    """A second attempt is made at once."""
    jma.fail("status 429", times=1)
    assert await refusal(tools, "Tokyo") == "API error: status 429"
    jma.fail("status 500", times=1)
    assert (await warnings(tools, "Tokyo"))["warnings"] == []


def test_every_kind_has_both_names() -> None:
    """33 codes, as on the Agency's page."""
    assert len(KINDS) == 33
    assert {known.level for known in KINDS.values()} == {0, 2, 3, 4, 5}
    assert kind("39").named("ja") == "レベル5土砂災害特別警報"
    assert kind("39").named("en") == "Level 5 Landslide Emergency Warning"
