"""``get_warnings``: the weather warnings in force in a place in Japan, from the Japan
Meteorological Agency."""

from __future__ import annotations

import asyncio
from typing import Any

from toolset.jma.areas import Area, Areas
from toolset.jma.client import SOURCE, JmaTool
from toolset.jma.values import shown
from toolset.jma.warning_kinds import SEVERITIES, kind
from toolset.jma.warning_reports import Entry
from toolset.titles import language_of, words
from toolset.tool import ToolContext, ToolError
from toolset.web.json_values import filled

AREAS_CAP = 20
CHOICES_CAP = 12
STATUS_EN = {"発表": "issued", "継続": "continued"}
ADDITIONS_EN = {
    "土砂災害": "landslides",
    "浸水害": "inundation",
    "竜巻": "tornadoes",
    "突風": "gusts",
    "ひょう": "hail",
    "うねり": "swell",
}


class GetWarnings(JmaTool):
    """Answers from a one-minute cache where possible."""

    name = "get_warnings"
    description = (
        "Weather warnings and advisories (警報・注意報) now in force in a place in Japan. Use it "
        "for warnings, typhoons, heavy rain, storms, landslides or snow there, and whether it is "
        "safe to go out. An empty list: none is in force. Alert levels 2 to 5: at 4 people leave "
        "dangerous places, at 5 lives are in danger. River floods, tsunamis and evacuation orders "
        "are not included: say so where they may matter."
    )
    risk = "low"
    titles = words(en="Weather warnings", ja="気象警報")
    commands = ("warnings", "警報")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Report what is in force in ``place``.

        Raises:
            ToolError: no such place, several of its name, or no answer in time.
        """
        language = language_of(context.locale)
        areas = await self._jma.areas()
        place = await asyncio.to_thread(_resolved, areas, arguments["place"], language)
        office = place[0].offices[0]
        reports = await self._jma.warnings(office)
        parts, class10 = place, ""
        if place[0].level == "offices":
            parts = areas.parts(office)
        elif place[0].level == "class20s":
            class10 = place[0].class10
        inside = {area.code for area in parts}
        if not reports.covers(inside, class10):
            raise ToolError("the answer has no data for this place")
        found = reports.in_force(inside, class10)
        return {
            "place": ", ".join(areas.described(area, language) for area in place),
            "warnings": _warnings(found, areas, language),
            **filled({"headline": _headline(found)}),
            "source": SOURCE[language],
        }


def _resolved(areas: Areas, place: str, language: str) -> list[Area]:
    """The one area of a place, or the parts of a divided city.

    Raises:
        ToolError: none or several; the text names what may be meant.
    """
    found = areas.find(place)
    if not found:
        near = areas.similar(place, language)
        fix = "Name a prefecture or municipality of Japan."
        if near:
            fix = f"Did you mean {' or '.join(near)}?"
        raise ToolError(f"place not found in Japan: {place}. {fix}")
    offices = list(dict.fromkeys(office for area in found for office in area.offices))
    if len(offices) == 1 and len(found) <= CHOICES_CAP:
        return found
    if found[0].level == "centers":
        found = [office for code in offices if (office := areas.get(code))]
    choices = "; ".join(areas.described(area, language) for area in found[:CHOICES_CAP])
    raise ToolError(
        f"{place} is several areas. Ask for one of them, or ask the user which is meant: {choices}"
    )


def _warnings(found: list[Entry], areas: Areas, language: str) -> list[dict[str, Any]]:
    """One object for each kind, the worst first."""
    by_code: dict[str, list[Entry]] = {}
    for entry in found:
        by_code.setdefault(entry.code, []).append(entry)
    ordered = sorted(
        by_code.items(), key=lambda item: (SEVERITIES.index(kind(item[0]).severity), item[0])
    )
    return [_warning(code, entries, areas, language) for code, entries in ordered]


def _warning(code: str, entries: list[Entry], areas: Areas, language: str) -> dict[str, Any]:
    its_kind = kind(code)
    newest = entries[-1]
    additions, named = dict[str, None](), []
    for entry in entries:
        additions.update(dict.fromkeys(entry.additions))
        if area := areas.get(entry.area):
            named.append(area.named(language))
    status, dangers = newest.status, list(additions)
    if language != "ja":
        status = STATUS_EN.get(status, "changed to this level")
        dangers = [ADDITIONS_EN.get(added, added) for added in dangers]
    warning = {
        "level": its_kind.level,
        "status": status,
        "dangers": dangers[:AREAS_CAP],
        "reported": shown(newest.issued),
    }
    return {
        "name": its_kind.named(language),
        "severity": its_kind.severity,
        "areas": named[:AREAS_CAP],
        **filled(warning),
    }


def _headline(found: list[Entry]) -> str:
    """The Agency's sentence about the worst warning."""
    worst = sorted(found, key=lambda entry: SEVERITIES.index(kind(entry.code).severity))
    return next((entry.headline for entry in worst if entry.headline), "")
