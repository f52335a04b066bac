"""Whether the place that was found is the one that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolset.forecast.report import Place
from toolset.wttr.places import note

USA, UK = "United States of America", "United Kingdom"

TOKYO = Place("Tokyo", "Tokyo", "Japan")
FUCHU_TOKYO = Place("Fuchu", "Tokyo", "Japan")
FUCHU_HIROSHIMA = Place("Fuchu", "Hiroshima", "Japan")
HEIDECK = Place("Heideck", "Bayern", "Germany")
BERLIN = Place("Berlin", "Berlin", "Germany")
LONDON = Place("London", "City of London, Greater London", UK)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Tokyo", TOKYO),
        ("東京", TOKYO),
        ("東京都", Place("Shinjuku", "Tokyo", "Japan")),
        ("東京都新宿区", Place("Shinjuku", "Tokyo", "Japan")),
        ("東京都府中市", FUCHU_TOKYO),
        ("府中市, 東京都", FUCHU_TOKYO),
        ("府中市(広島県)", FUCHU_HIROSHIMA),
        ("広島県府中市", FUCHU_HIROSHIMA),
        ("府中 広島", FUCHU_HIROSHIMA),
        ("Fuchu, Hiroshima", FUCHU_HIROSHIMA),
        ("北海道伊達市", Place("Date", "Hokkaido", "Japan")),
        ("札幌", Place("Sapporo", "Hokkaido", "Japan")),
        ("大阪市北区", Place("Umeda", "Osaka", "Japan")),
        ("川崎", Place("Kawasaki", "Kanagawa", "Japan")),
        ("三島市", Place("Mishima", "Shizuoka", "Japan")),
        ("京都タワー", Place("Kyoto", "Kyoto", "Japan")),
        ("群馬県前橋市", Place("Maebashi", "Gumma", "Japan")),
        ("兵庫県", Place("Kobe", "Hyōgo", "Japan")),
        ("ニューヨーク", Place("New York", "New York", USA)),
        ("New York", Place("New York", "New York", USA)),
        ("new york city", Place("Oakland Gardens", "New York", USA)),
        ("Brooklyn", Place("Brooklyn Heights", "New York", USA)),
        ("Shinjuku, Tokyo", Place("Shinjuku", "Tokyo", "Japan")),
        ("London", LONDON),
        ("London, UK", Place("Cubitt Town", "Tower Hamlets, Greater London", UK)),
        ("London, Ontario", Place("London", "Ontario", "Canada")),
        ("Paris", Place("Paris", "Ile-de-France", "France")),
        ("Portland, Maine", Place("Portland", "Maine", USA)),
        ("Portland, ME", Place("South Portland", "Maine", USA)),
        ("Cambridge, England", Place("Cambridge", "Cambridgeshire", UK)),
        ("Vienna", Place("Wien", "Wien", "Austria")),
        ("Prague", Place("Praha", "Hlavni Mesto Praha", "Czech Republic")),
        ("München", Place("Munich", "Bayern", "Germany")),
        ("São Paulo", Place("Sao Paulo", "Sao Paulo", "Brazil")),
        ("Łódź", Place("Lodz", "", "Poland")),
        ("Germany", HEIDECK),
        ("NRT", Place("Narita", "Chiba", "Japan")),
        ("10001", Place("Manhattan", "New York", USA)),
        ("35.68, 139.76", TOKYO),
        ("北京", Place("Beijing", "Beijing", "China")),
    ],
)
def test_the_place_itself_its_parts_and_its_other_names_raise_no_question(
    asked: str, found: Place
) -> None:
    """Suburbs, local names and other scripts are no reason to doubt."""
    assert note(asked, found) == ""


@pytest.mark.parametrize(
    ("asked", "found", "candidates"),
    [
        ("府中", FUCHU_TOKYO, "Tokyo, Hiroshima"),
        ("府中市", FUCHU_HIROSHIMA, "Tokyo, Hiroshima"),
        ("Fuchu", FUCHU_TOKYO, "Tokyo, Hiroshima"),
        ("伊達市", Place("Date", "Fukushima", "Japan"), "Hokkaido, Fukushima"),
        ("Springfield", Place("Springfield", "Missouri", USA), "Illinois, Massachusetts, Missouri"),
        ("portland", Place("Portland", "Oregon", USA), "Oregon, Maine"),
        ("Cambridge", Place("Cambridge", "Massachusetts", USA), "United Kingdom, Massachusetts"),
        ("川崎", Place("Kawasaki", "Fukuoka", "Japan"), "Kanagawa, Fukuoka, Miyagi"),
        ("London", Place("London", "Ontario", "Canada"), "United Kingdom, Ontario"),
        ("Paris", Place("Paris", "Texas", USA), "France, Texas"),
        ("Paris", HEIDECK, "France, Texas"),
    ],
)
def test_a_name_of_several_places_asks_which(asked: str, found: Place, candidates: str) -> None:
    """Where nearly everybody means one of them, only when it is another that was found."""
    assert note(asked, found) == (
        f"{asked} may be the one in {candidates} or elsewhere; this is for {found}. "
        "Unless the user has said which is meant, ask."
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("東京", HEIDECK),
        ("東京", BERLIN),
        ("大阪市", TOKYO),
        ("広島県府中市", FUCHU_TOKYO),
        ("府中市, 広島県", FUCHU_TOKYO),
        ("府中 広島", FUCHU_TOKYO),
        ("北海道伊達市", Place("Date", "Fukushima", "Japan")),
        ("Fuchu, Hiroshima", FUCHU_TOKYO),
        ("Portland, Maine", Place("Portland", "Oregon", USA)),
        ("London, Ontario", LONDON),
    ],
)
def test_a_place_in_another_region_than_asked_is_said_to_be_another(
    asked: str, found: Place
) -> None:
    """The region was part of the question."""
    assert (
        note(asked, found)
        == f"This is for {found}, not for {asked}. Tell the user so, or ask which place is meant."
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Tokyo", HEIDECK),
        ("New York", BERLIN),
        ("Sapporo", Place("Ban Not", "", "Vietnam")),
        ("los angeles", Place("Hillgrove", "California", USA)),
    ],
)
def test_names_without_any_likeness_are_for_the_model_to_judge(asked: str, found: Place) -> None:
    """The service names the nearest spot on its map, which may be a village nobody has heard of."""
    assert note(asked, found) == (
        f"{asked} was found at {found}. If that is not in or near the place the user means, ask "
        "which is meant."
    )


def test_an_unnamed_place_is_said_to_be_unnamed() -> None:
    """The model must not pretend to know."""
    assert note("Tokyo", Place()) == "The service does not say which place this is for."


@settings(deadline=None)
@given(st.text(max_size=100), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_names_can_be_compared(asked: str, area: str, region: str, country: str) -> None:
    """What is said of them names what was found, or nothing."""
    found = Place(area, region, country)
    assert note(asked, found) == "" or str(found) in note(asked, found) or not str(found)
