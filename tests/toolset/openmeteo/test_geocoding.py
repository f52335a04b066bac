"""Which place a search is for, and what is said where it may be another one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolset.openmeteo.geocoding import choose, question

FUCHU = [("府中市", "東京都", "日本", 260_000), ("府中市", "広島県", "日本", 37_000)]
PORTLAND = [
    ("Portland", "Oregon", "United States", 652_000),
    ("Portland", "Maine", "United States", 66_000),
]


def result(
    name: str, admin1: str, country: str, population: int, code: str = "XX"
) -> dict[str, Any]:
    """An entry of a response."""
    spot = {"latitude": 35.6, "longitude": 139.5, "country_code": code}
    return {"name": name, "admin1": admin1, "country": country, "population": population, **spot}


def found(
    asked: str, places: list[tuple[str, str, str, int]], language: str = ""
) -> tuple[str, str]:
    """Place and note."""
    chosen = choose(question(asked, language), [result(*place) for place in places])
    assert chosen is not None
    return str(chosen.place), chosen.note


@pytest.mark.parametrize(
    ("asked", "names", "regions"),
    [
        ("Tokyo", ("Tokyo",), ()),
        ("Portland, Oregon", ("Portland",), ("oregon",)),
        ("Portland (Oregon), USA", ("Portland",), ("oregon", "usa")),
        ("東京", ("東京", "東京市"), ()),
        ("東京都", ("東京都", "東京都市"), ()),
        ("府中市", ("府中市", "府中"), ()),
        ("府中市, 広島県", ("府中市", "府中"), ("広島県",)),
        ("広島県 府中市", ("府中市", "府中"), ("広島県",)),
        ("東京都府中市", ("府中市", "府中"), ("東京都",)),
        ("京都府京都市", ("京都市", "京都"), ("京都府",)),
        ("太宰府市", ("太宰府市", "太宰府"), ()),
        (",", (",",), ()),
    ],
)
def test_a_name_is_searched_without_what_is_written_with_it(
    asked: str, names: tuple[str, ...], regions: tuple[str, ...]
) -> None:
    """The search knows names alone; a Japanese city may be known with its 市 or without."""
    searched = question(asked, "ja")
    folded = tuple(question(f"x, {region}", "").regions[0] for region in regions)
    assert (searched.names, searched.regions) == (names, folded)


@pytest.mark.parametrize(
    ("asked", "language", "searched_in"),
    [
        ("Tokyo", "", "en"),
        ("Tokyo", "ja", "en"),
        ("東京", "", "ja"),
        ("東京", "zh-tw", "zh"),
        ("München", "de", "de"),
        ("Tokyo", "de", "de"),
    ],
)
def test_a_name_is_searched_in_its_own_language(
    asked: str, language: str, searched_in: str
) -> None:
    """As far as its letters show it; else in the user's."""
    assert question(asked, language).language == searched_in


@pytest.mark.parametrize(
    ("asked", "places", "place"),
    [
        ("府中市, 広島県", FUCHU, "府中市, 広島県, 日本"),
        ("府中, 広島", FUCHU, "府中市, 広島県, 日本"),
        ("Portland, Maine", PORTLAND, "Portland, Maine, United States"),
        (
            "Paris",
            [("Paris", "Île-de-France", "France", 2_100_000), ("Paris", "Texas", "", 25_000)],
            None,
        ),
        (
            "Tokyo",
            [("Tokyo Station", "", "Japan", 0), ("Tokyo", "", "Japan", 9_000_000)],
            "Tokyo, Japan",
        ),
    ],
)
def test_the_place_that_is_meant_needs_no_note(
    asked: str, places: list[tuple[str, str, str, int]], place: str | None
) -> None:
    """A region chooses; a name that nearly everybody means one place by does too."""
    assert found(asked, places) == (place or "Paris, Île-de-France, France", "")


def test_an_ambiguous_name_comes_with_a_question() -> None:
    """With the regions there are."""
    assert found("府中", FUCHU) == (
        "府中市, 東京都, 日本",
        "府中 may be the one in 東京都, 広島県 or elsewhere; this is for 府中市, 東京都, 日本. "
        "Unless the user has said which is meant, ask.",
    )


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ("Portland, Texas", PORTLAND),
        ("Port", PORTLAND),
    ],
)
def test_another_region_or_name_is_said_to_be_another(
    asked: str, places: list[tuple[str, str, str, int]]
) -> None:
    """The search is by similarity."""
    assert found(asked, places)[1] == (
        f"{asked} was found at Portland, Oregon, United States. "
        "If that is not in or near the place the user means, ask which is meant."
    )


def test_a_country_may_be_its_code() -> None:
    """Also the usual abbreviations."""
    places = [
        result("London", "Ontario", "Canada", 400_000, "CA"),
        result("London", "England", "", 9_000_000, "GB"),
    ]
    for asked in ("London, GB", "London, UK"):
        chosen = choose(question(asked, ""), places)
        assert chosen is not None
        assert str(chosen.place) == "London, England"


@pytest.mark.parametrize(
    "results",
    [None, 7, [], [7], [{}], [{"name": "Tokyo"}], [{"name": "", "latitude": 1, "longitude": 1}]],
)
def test_results_without_a_place_are_none(results: object) -> None:
    """A place has a name and coordinates."""
    assert choose(question("Tokyo", ""), results) is None


@given(
    asked=st.text(min_size=1, max_size=100),
    results=st.lists(
        st.dictionaries(st.sampled_from(["name", "latitude", "longitude", "admin1"]), st.text())
    ),
)
@settings(deadline=None)
def test_no_question_and_no_result_breaks_it(asked: str, results: list[dict[str, str]]) -> None:
    """Whatever people and services write."""
    chosen = choose(question(asked, "ja"), results)
    assert chosen is None or str(chosen.place)
