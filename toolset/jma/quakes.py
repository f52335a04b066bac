"""Parser of the list of earthquakes (``/bosai/quake/data/list.json``), the newest report first.

Several reports have the same earthquake (``eid``): intensities first, then the epicentre, then
both, then corrections.

    {"ctt": "20260521011147", "eid": "20260521010824", "rdt": "2026-05-21T01:11:00+09:00", "ttl":
    "震源・震度情報",
     "ift": "発表", "ser": "1", "at": "2026-05-21T01:08:00+09:00", "anm": "京都府南部", "acd":
     "511", "cod": "+35.0+135.5-10000/", "mag": "2.4", "maxi": "1", "json": "….json", "en_anm":
     "Southern Kyoto Prefecture", "en_ttl": "…", "int": [{"code": "27", "maxi": "1", "city":
     [{"code": "2732200", "maxi": "1"}]}]}

``cod`` is ISO 6709: latitude, longitude, metres above sea level. ``ift`` is 発表, 訂正 (corrected)
or 取消 (cancelled).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from toolset.jma.values import moment
from toolset.tool import ToolError
from toolset.web.decoding import decode_json
from toolset.web.json_values import entries
from toolset.web.text import line

SCALE = ("1", "2", "3", "4", "5-", "5+", "6-", "6+", "7")  # the Agency's intensities (震度)
NAMES = {
    "5-": ("5弱", "5 Lower"),
    "5+": ("5強", "5 Upper"),
    "6-": ("6弱", "6 Lower"),
    "6+": ("6強", "6 Upper"),
}
COORDINATES = re.compile(r"[+-][0-9.]{1,8}[+-][0-9.]{1,8}([+-][0-9]{1,7})?/?")
QUAKES_CAP = 500
CANCELLED = "取消"


@dataclass(frozen=True, slots=True)
class Quake:
    """One earthquake; texts are empty and ``depth_km`` is None where unknown.

    Attributes:
        intensity: the highest, one of ``SCALE``.
        intensities: by codes of prefectures (two digits) and municipalities (seven).
    """

    at: datetime
    epicentre: str
    epicentre_en: str
    magnitude: str
    intensity: str
    depth_km: int | None
    intensities: dict[str, str]


class _Report(msgspec.Struct):
    """What is read of a report; the rest is skipped while decoding."""

    eid: Any = None
    ift: Any = None
    at: Any = None
    anm: Any = None
    en_anm: Any = None
    cod: Any = None
    mag: Any = None
    maxi: Any = None
    int: msgspec.Raw = msgspec.Raw(b"[]")  # long: decoded where it is used


def read(body: bytes) -> list[Quake]:
    """The earthquakes of the list, the newest first.

    Raises:
        ToolError: it is not such a list.
    """
    try:
        quakes = _quakes(decode_json(body, list[_Report]))
    except ValueError as error:
        raise ToolError("no earthquake data available") from error
    return sorted(quakes, key=lambda quake: quake.at, reverse=True)


def rank(intensity: str) -> int:
    """The place of an intensity on the scale; 0 where it is unknown."""
    return SCALE.index(intensity) + 1 if intensity in SCALE else 0


def intensity_name(intensity: str, language: str) -> str:
    """An intensity as people write it: 5弱, 5 Lower."""
    japanese, english = NAMES.get(intensity, (intensity, intensity))
    return japanese if language == "ja" else english


def _quakes(reports: list[_Report]) -> list[Quake]:
    by_quake: dict[str, list[_Report]] = {}
    for report in reports:
        if eid := line(report.eid):
            by_quake.setdefault(eid, []).append(report)
    newest = list(by_quake.values())[:QUAKES_CAP]
    return [quake for same in newest if (quake := _quake(same))]


def _quake(reports: list[_Report]) -> Quake | None:
    """One earthquake of its reports: of each field the newest value there is."""
    at = next((found for report in reports if (found := moment(report.at))), None)
    if at is None or reports[0].ift == CANCELLED:
        return None
    located = next((report for report in reports if line(report.anm)), reports[0])
    felt = next((report for report in reports if rank(line(report.maxi))), reports[0])
    intensity = line(felt.maxi)
    if not rank(intensity):
        intensity = ""
    return Quake(
        at=at,
        epicentre=line(located.anm),
        epicentre_en=line(located.en_anm),
        magnitude=_first(_magnitude(report.mag) for report in reports),
        intensity=intensity,
        depth_km=_depth_km(located.cod),
        intensities=_intensities(decode_json(bytes(felt.int))),
    )


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _magnitude(value: object) -> str:
    """``2.4``; the words for one that cannot be measured (Ｍ８を超える巨大地震) as they are."""
    try:
        number = float(line(value, 20))
    except ValueError:
        return line(value, 20)
    return f"{number:.1f}" if math.isfinite(number) else ""


def _depth_km(value: object) -> int | None:
    found = COORDINATES.fullmatch(line(value))
    return max(0, round(-int(found[1]) / 1000)) if found and found[1] else None


def _intensities(prefectures: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for prefecture in entries(prefectures):
        for place in (prefecture, *entries(prefecture.get("city"))):
            code, intensity = line(place.get("code")), line(place.get("maxi"))
            if code and rank(intensity):
                found[code] = intensity
    return found
