"""The list of earthquakes becomes one entry for each, whatever its reports lack."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolset.jma.quakes import Quake, intensity_name, rank, read
from toolset.tool import ToolError

AT = "2026-11-22T16:50:00+09:00"


def one(**fields: Any) -> dict[str, Any]:
    """A report with what every report has."""
    return {"eid": "1", "at": AT, "ift": "発表"} | fields


def parsed(*reports: Any) -> list[Quake]:
    """The earthquakes of these reports."""
    return read(json.dumps(reports).encode())


def test_the_reports_of_one_earthquake_are_put_together() -> None:
    """Intensities come first, the epicentre later, corrections last."""
    felt = [
        {
            "code": "13",
            "maxi": "5-",
            "city": [{"code": "1310100", "maxi": "5-"}, {"code": "1310200", "maxi": "4"}],
        }
    ]
    (quake,) = parsed(
        one(
            anm="東京湾",
            en_anm="Tokyo Bay",
            cod="+35.6+140.0-80000/",
            mag="5.9",
            maxi="",
            ift="訂正",
        ),
        one(
            anm="東京湾",
            en_anm="Tokyo Bay",
            cod="+35.5+140.0-70000/",
            mag="5.8",
            maxi="5-",
            int=felt,
        ),
        one(maxi="5+", int=[{"code": "13", "maxi": "5+"}]),
    )
    assert (quake.epicentre, quake.epicentre_en, quake.magnitude, quake.depth_km) == (
        "東京湾",
        "Tokyo Bay",
        "5.9",
        80,
    )
    assert (quake.intensity, quake.intensities) == (
        "5-",
        {"13": "5-", "1310100": "5-", "1310200": "4"},
    )
    assert quake.at.isoformat() == AT


def test_a_cancelled_earthquake_did_not_happen() -> None:
    """The newest report decides."""
    assert parsed(one(ift="取消"), one(maxi="4")) == []
    assert len(parsed(one(maxi="4"), one(ift="取消"))) == 1


@pytest.mark.parametrize(
    ("mag", "shown"),
    [
        ("2.4", "2.4"),
        ("4", "4.0"),
        ("NaN", ""),
        ("", ""),
        (None, ""),
        (7.1, ""),
        ("Ｍ８を超える巨大地震", "Ｍ８を超える巨大地震"),
    ],
)
def test_a_magnitude_is_a_number_or_words(mag: object, shown: str) -> None:
    """The greatest cannot be measured at once."""
    assert parsed(one(mag=mag))[0].magnitude == shown


@pytest.mark.parametrize(
    ("cod", "depth"),
    [
        ("+32.5+130.6-10000/", 10),
        ("+32.5+130.6+0/", 0),
        ("+32.5+130.6/", None),
        ("", None),
        ("+" * 5000, None),
        (5, None),
    ],
)
def test_a_depth_is_read_from_the_coordinates(cod: object, depth: int | None) -> None:
    """In metres above the sea there, in kilometres below it here."""
    assert parsed(one(cod=cod))[0].depth_km == depth


def test_what_is_not_in_the_form_is_left_out() -> None:
    """No time, no earthquake; a new intensity is none."""
    odd = parsed(
        {}, one(at="soon"), one(eid="2", maxi="9", int="x"), one(eid="3", at="2026-11-22T16:50:00")
    )
    assert [(quake.intensity, quake.intensities) for quake in odd] == [("", {})]
    for body in (
        b"{}",
        b"<html>",
        b"\xff",
        b"[1]",
        b"[" * 5000,
        b'[{"eid": "1", "at": "2026-11-22T16:50:00Z", "int": ["\xff"]}]',
    ):
        with pytest.raises(ToolError, match="no earthquake data available"):
            read(body)


def test_the_newest_is_first_and_the_list_ends() -> None:
    """By the time of the earthquake, not of its report."""
    quakes = parsed(
        *(
            one(eid=str(number), at=f"2026-11-{1 + number % 28:02}T00:00:00Z")
            for number in range(2000)
        )
    )
    assert len(quakes) == 500
    assert quakes == sorted(quakes, key=lambda quake: quake.at, reverse=True)


def test_intensities_have_an_order_and_names() -> None:
    """5弱 is less than 5強."""
    assert [rank(intensity) for intensity in ("", "1", "5-", "5+", "7")] == [0, 1, 5, 6, 9]
    assert [intensity_name("5-", language) for language in ("ja", "en")] == ["5弱", "5 Lower"]
    assert intensity_name("3", "ja") == "3"
