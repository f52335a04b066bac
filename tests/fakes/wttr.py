"""A stand-in for wttr.in on loopback: gives its answers, refuses what it refuses, and fails in the
ways it fails.

with WttrFake().served() as fake:
    fake.place("東京", temp=21)
    fake.fail("quota")
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.sources import ANSWERS, SourceAnswer, SourceFake, SourceRequest
from tests.fakes.wttr_bodies import KNOWN, Weather, report

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
HTML = "text/html"
UNKNOWN_LOCATION = SourceAnswer(500, b"location not found: location not found\n", TEXT)

# Texts as the server is known to write them, before and after its rewrite of May 2026.
OWN_FAILURES = {
    "unknown_location": UNKNOWN_LOCATION,
    "data_source_down": SourceAnswer(500, b"weather data source not available\n", TEXT),
    "panic": SourceAnswer(500, b"Internal Server Error\n", TEXT),
    "quota": SourceAnswer(200, b"Unknown location; please try ~35.6828387,139.7594549", JSON),
    "capacity": SourceAnswer(
        503, b"Sorry, we processed more than 1M requests today and we ran out.\n", HTML
    ),
    "default_city": SourceAnswer(
        200, b"Sorry, we are running out of queries to the weather service.\nOymyakon\n", TEXT
    ),
    "rate_limit": SourceAnswer(
        429, b"Not so fast! Number of queries per min is limited to 300", TEXT
    ),
}

# A first path component the server takes for a language or a view: then it reports its caller's own
# place.
NO_PLACES = {"files", "page", "line", "v1", "v2", "v2d", "v2n", "p1", "j1", "j2", "subprocess"}
BERLIN = Weather("Berlin", "Berlin", "Germany")


class WttrFake(SourceFake):
    """The server; ``base_url`` is what WTTR_BASE_URL must be."""

    answers = ANSWERS | OWN_FAILURES

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, Weather] = {}

    def place(self, name: str, **fields: Any) -> None:
        """Know a place, with fields of ``Weather``; a well-known one gets the service's names,
        another its own."""
        area, region, country = KNOWN.get(name.casefold(), (name, "", ""))
        named = {"area": area, "region": region, "country": country}
        self._places[name.casefold()] = Weather(**(named | fields))

    def answer(self, request: SourceRequest) -> SourceAnswer:
        place, language = place_of(request), request.params.get("lang", "")
        if "/" in place:
            return SourceAnswer(400, b"Bad Request\n", TEXT)
        if request.params.get("format") != "j1" or set(request.params) - {"format", "lang"}:
            return SourceAnswer(500, b"unknown option\n", TEXT)
        weather = self._places.get(place.casefold())
        if len(place.encode()) == 2 or place.lower() in NO_PLACES:
            weather = BERLIN
        if weather is None:
            return UNKNOWN_LOCATION
        return SourceAnswer(200, json.dumps(report(weather, language)).encode(), JSON)


def place_of(request: SourceRequest) -> str:
    """The place that a request is for, as the server reads it."""
    return request.path.strip("/").replace("+", " ").removeprefix("~")
