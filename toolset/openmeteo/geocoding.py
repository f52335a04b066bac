"""Search of a place: what to ask Open-Meteo's geocoding API for, and which of its results is meant.

The API searches the English names and those of one language, by the name alone: region and country,
which people write with it, choose among the results. https://open-meteo.com/en/docs/geocoding-api
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolset.forecast.report import Place, ambiguous_note, dissimilar_note, pieces_of
from toolset.forecast.values import integer, reading
from toolset.web.json_values import entries
from toolset.web.text import folded, line

COUNT = 10  # results asked for
RIVAL = (
    20  # another place of the name is well-known enough to ask about with a 20th of the inhabitants
)
REGIONS_SHOWN = 4

PREFECTURE = r"東京都|北海道|京都府|大阪府|[^都道府県]{2,3}県"
WITH_PREFECTURE = re.compile(rf"({PREFECTURE})(.+)")
KANA_OR_KANJI = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
EAST_ASIAN = frozenset({"ja", "ko", "zh"})
MUNICIPALITY = "市区町村"
ABBREVIATIONS = {"uk": "gb", "usa": "us"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for: ``names`` one after the other, until one is found; ``regions`` are
    folded."""

    asked: str
    names: tuple[str, ...]
    regions: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Found:
    """The place, and a note where it may be another than the one that is meant."""

    place: Place
    latitude: str
    longitude: str
    note: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: Place
    areas: tuple[str, ...]
    country_code: str
    latitude: str
    longitude: str
    population: int


def question(asked: str, language: str) -> Question:
    """The search for a place in words; ``language`` is the user's, empty for English."""
    pieces = pieces_of(asked) or [asked]
    pieces.sort(
        key=lambda piece: bool(re.fullmatch(PREFECTURE, piece))
    )  # also written first: 広島県 府中市
    name, *regions = pieces
    if joined := WITH_PREFECTURE.fullmatch(name):
        name, regions = joined[2], [joined[1], *regions]
    return Question(asked, _spellings(name), tuple(map(folded, regions)), _language(name, language))


def choose(searched: Question, results: object) -> Found | None:
    """The place that is meant among the results, which are sorted by relevance; None where there is
    none."""
    found = [candidate for entry in entries(results)[:COUNT] if (candidate := _candidate(entry))]
    if not found:
        return None
    fitting = [one for one in found if all(_lies_in(one, region) for region in searched.regions)]
    names = set(map(_plain, searched.names))
    named = [one for one in fitting if _plain(one.place.area) in names]
    best = (named or fitting or found)[0]
    return Found(
        best.place, best.latitude, best.longitude, _note(searched, best, named, bool(fitting))
    )


def _spellings(name: str) -> tuple[str, ...]:
    """The API knows 府中市 under this name only, others without 市."""
    if not KANA_OR_KANJI.search(name):
        return (name,)
    if len(name) > 2 and name[-1] in MUNICIPALITY:
        return name, name[:-1]
    return name, f"{name}市"


def _language(name: str, language: str) -> str:
    """The language that the name may be in; else the user's."""
    code = language.partition("-")[0] or "en"
    if KANA_OR_KANJI.search(name):
        return code if code in EAST_ASIAN else "ja"
    return "en" if code in EAST_ASIAN and name.isascii() else code


def _candidate(entry: dict[str, Any]) -> _Candidate | None:
    latitude, longitude, name = (
        reading(entry.get("latitude")),
        reading(entry.get("longitude")),
        line(entry.get("name")),
    )
    if not (latitude and longitude and name):
        return None
    areas = tuple(
        line(entry.get(level)) for level in ("admin1", "admin2", "admin3", "admin4", "country")
    )
    return _Candidate(
        Place(name, areas[0], areas[-1]),
        tuple(folded(area) for area in areas if area),
        folded(line(entry.get("country_code"))),
        latitude=latitude,
        longitude=longitude,
        population=integer(entry.get("population")) or 0,
    )


def _lies_in(candidate: _Candidate, region: str) -> bool:
    """Whether a folded region is one of the place: whole, its beginning (広島), or its country's
    code."""
    code = ABBREVIATIONS.get(region, region)
    return code == candidate.country_code or any(
        area.startswith(region) or region.startswith(area) for area in candidate.areas
    )


def _plain(name: str) -> str:
    """The folded name without the kind of municipality or prefecture."""
    plain = folded(name)
    return plain[:-1] if len(plain) > 2 and plain[-1] in "都道府県市区町村" else plain


def _note(searched: Question, best: _Candidate, named: list[_Candidate], fits: bool) -> str:
    rivals = [one for one in named if one.population * RIVAL >= best.population]
    regions = list(dict.fromkeys(one.place.region or one.place.country for one in (best, *rivals)))
    if best in named and len(regions) > 1:
        return ambiguous_note(searched.asked, ", ".join(regions[:REGIONS_SHOWN]), best.place)
    is_other = searched.names[0].isascii() and best.place.area.isascii() and best not in named
    return dissimilar_note(searched.asked, best.place) if is_other or not fits else ""
