"""Places of Japan are found by their names in both languages."""

from __future__ import annotations

import pytest

from tests.fakes.jma import AREAS
from toolset.jma.areas import Areas


@pytest.fixture(scope="module")
def areas() -> Areas:
    """The extract of the stand-in."""
    return Areas(AREAS)


@pytest.mark.parametrize(
    ("place", "codes"),
    [
        ("東京都", ["130000"]),
        ("東京", ["130000"]),
        ("Tokyo", ["130000"]),
        (" ＴＯＫＹＯ ", ["130000"]),
        ("Tokyo, Japan", ["130000"]),
        ("Tōkyō", ["130000"]),
        ("Tokyo-to", ["130000"]),
        ("Hiroshima Prefecture", ["340000"]),
        ("東京地方", ["130010"]),
        ("Izu North", ["130020"]),
        ("千代田区", ["1310100"]),
        ("千代田", ["1310100"]),
        ("Chiyoda", ["1310100"]),
        ("Chiyoda-ku", ["1310100"]),
        ("東京都千代田区", ["1310100"]),
        ("Sapporo", ["0110000"]),
        ("北海道札幌市", ["0110000"]),
        ("北海道", ["010100"]),
        ("Hokkaido", ["010100"]),
        ("横浜市", ["1410011", "1410012"]),
        ("横浜", ["1410011", "1410012"]),
        ("Yokohama", ["1410011", "1410012"]),
        ("府中市", ["1320600", "3420800"]),
        ("府中市, 広島県", ["3420800"]),
        ("広島県 府中市", ["3420800"]),
        ("広島県府中市", ["3420800"]),
        ("Fuchu, Hiroshima", ["3420800"]),
        ("Fuchu, Tokyo, Japan", ["1320600"]),
        ("府中市, 神奈川県", []),
        ("Atlantis", []),
        ("市", []),
        ("Japan", []),
        ("", []),
    ],
)
def test_a_place_is_found_as_people_write_it(areas: Areas, place: str, codes: list[str]) -> None:
    """With and without the word for what it is, alone and with its prefecture."""
    assert [area.code for area in areas.find(place)] == codes


def test_what_is_not_in_the_form_is_left_out() -> None:
    """A changed file costs some places, never a crash."""
    assert (
        len(Areas(None))
        == len(Areas([]))
        == len(Areas({"offices": [], "class20s": {"1": {}}}))
        == 0
    )
    odd = {
        "offices": {"130000": None, "x": {"name": "東京都"}, "140000": {"name": 5}},
        "class20s": {"1310100": {"name": "a"}},
    }
    assert len(Areas(odd)) == 0
    looped = {"class10s": {"130010": {"name": "a", "parent": "130010"}}}
    assert len(Areas(looped)) == 0


def test_a_name_is_described_with_its_prefecture(areas: Areas) -> None:
    """府中市 alone could be either."""
    both = areas.find("府中市")
    assert [areas.described(area, "ja") for area in both] == ["東京都 府中市", "広島県 府中市"]
    assert [areas.described(area, "en") for area in both] == [
        "Fuchu City, Tokyo",
        "Fuchu City, Hiroshima",
    ]
    assert areas.described(areas["130000"], "ja") == "東京都"
    assert areas.similar("Saporo", "en") == ["Sapporo City"]
