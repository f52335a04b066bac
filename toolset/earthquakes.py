"""``get_earthquakes``: the newest earthquakes in and around Japan, from the Japan Meteorological
Agency."""

from __future__ import annotations

import asyncio
from typing import Any

from toolset.jma.areas import Area, Areas
from toolset.jma.client import SOURCE, JmaTool
from toolset.jma.quakes import Quake, intensity_name, rank
from toolset.jma.values import shown
from toolset.titles import language_of, words
from toolset.tool import ToolContext
from toolset.web.json_values import filled

COUNT = 5


class GetEarthquakes(JmaTool):
    """Answers from a one-minute cache where possible."""

    name = "get_earthquakes"
    description = (
        "The newest earthquakes in and around Japan, with time, epicentre, magnitude and "
        "intensity on Japan's scale (震度, 1 to 7). Use it for recent earthquakes, or whether one "
        "was felt in a place in Japan. Nothing about tsunamis or earthquakes to come; it goes "
        "back some weeks. `intensity_there` is the intensity in the `place` that was asked for."
    )
    keywords = (
        "earthquake quake tremor shaking felt epicentre magnitude seismic shindo 地震 震度 震源 "
        "揺 余震 マグニチュード 気象庁"
    )
    risk = "low"
    titles = words(en="Earthquakes", ja="地震情報")
    commands = ("earthquakes", "地震")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """List earthquakes, the newest first.

        Raises:
            ToolError: no answer in time.
        """
        language = language_of(context.locale)
        least = rank(arguments.get("min_intensity", ""))
        place = arguments.get("place", "").strip()
        if place:
            quakes, areas = await asyncio.gather(self._jma.quakes(), self._jma.areas())
            there = await asyncio.to_thread(_Place, place, areas)
        else:
            quakes, there = await self._jma.quakes(), None
        strong = []
        for quake in quakes:
            felt = _felt(quake, there)
            if felt is not None and rank(felt or quake.intensity) >= least:
                strong.append(_shown(quake, felt, language))
        count = arguments.get("count", COUNT)
        return {"earthquakes": strong[:count], "source": SOURCE[language]}


class _Place:
    """A place that earthquakes are looked for in: the codes of its areas, and its name."""

    def __init__(self, place: str, areas: Areas) -> None:
        found = areas.find(place)
        self.codes, self.names = set[str](), {place.casefold()}
        for area in found:
            # A municipality has the same code in both files; a prefecture's is the beginning of its
            # offices'.
            if area.level == "class20s":
                self.codes.add(area.code)
            else:
                self.codes.update(office[:2] for office in area.offices)
        for area in found[:1]:
            self.names.update(_names(area))


def _names(area: Area) -> list[str]:
    return [name.casefold() for name in (area.name, area.name_en) if name]


def _felt(quake: Quake, place: _Place | None) -> str | None:
    """The intensity in a place, empty where it is unknown; None for an earthquake that is not of
    that place."""
    if place is None:
        return ""
    felt = [quake.intensities[code] for code in place.codes if code in quake.intensities]
    if felt:
        return max(felt, key=rank)
    epicentre = f"{quake.epicentre}\n{quake.epicentre_en}".casefold()
    for name in place.names:
        if name in epicentre:
            return ""
    return None


def _shown(quake: Quake, felt: str, language: str) -> dict[str, Any]:
    epicentre = quake.epicentre_en or quake.epicentre
    if language == "ja":
        epicentre = quake.epicentre or quake.epicentre_en
    result: dict[str, Any] = {
        "time": shown(quake.at),
        "epicentre": epicentre,
        "magnitude": quake.magnitude,
        "max_intensity": intensity_name(quake.intensity, language),
        "intensity_there": intensity_name(felt, language),
    }
    result = filled(result)
    if quake.depth_km is not None:
        result["depth_km"] = quake.depth_km
    return result
