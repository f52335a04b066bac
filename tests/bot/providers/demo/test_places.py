"""Cities find their time zones, whoever spells them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from bot.providers.demo.places import CITIES, zone_of


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("London", "Europe/London"),
        ("new york", "America/New_York"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("Osaka", "Asia/Tokyo"),
        ("東京", "Asia/Tokyo"),
        ("神戸市", "Asia/Tokyo"),
        ("バンコク", "Asia/Bangkok"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("UTC", "UTC"),
        ("Europe", ""),
        ("Springfield", ""),
        ("../../etc/passwd", ""),
        ("", ""),
    ],
)
def test_a_city_has_a_zone(place: str, zone: str) -> None:
    """In English or Japanese, with accents or without; empty where nothing is known."""
    assert zone_of(place) == zone


@pytest.mark.parametrize("zone", CITIES)
def test_every_listed_zone_exists(zone: str) -> None:
    """A misspelt zone would be called and refused."""
    assert ZoneInfo(zone).key == zone
