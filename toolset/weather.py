"""``get_weather``: the weather now and for three days, from wttr.in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import date
from typing import Annotated, Any, ClassVar

import httpx
from pydantic import BaseModel, Field

from toolset.tool import Risk, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.source import BaseUrl
from toolset.wttr import places
from toolset.wttr.client import WttrClient
from toolset.wttr.report import Day, Report, Slot

CACHE_S = 600
CACHE_SIZE = 256  # reports

RELATIVE_DAYS = ("today", "tomorrow", "day after tomorrow")
PARTS_OF_DAY = {"night": range(6), "morning": range(6, 12), "afternoon": range(12, 18), "evening": range(18, 24)}
FAHRENHEIT = frozenset({"BS", "BZ", "KY", "PR", "PW", "US"})  # regions that use it, by CLDR

# The service's languages. https://github.com/chubin/wttr.in/blob/master/share/defs/options/options.yaml
# fmt: off
LANGUAGES = frozenset({
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "eo", "es", "et", "eu", "fa",
    "fi", "fr", "fy", "ga", "gl", "he", "hi", "hr", "hu", "hy", "ia", "id", "is", "it", "ja", "jv", "ka", "kk", "ko",
    "ky", "lt", "lv", "mg", "mk", "ml", "mr", "nb", "nl", "nn", "oc", "pa", "pl", "pt", "pt-br", "ro", "ru", "sk",
    "sl", "sr", "sv", "sw", "ta", "te", "th", "tr", "uk", "uz", "vi", "zh", "zh-cn", "zh-tw", "zu",
})
# fmt: on

# The place is one component of the path. The service takes these for something else, and two letters for a language.
NO_PLACES = frozenset({"files", "j1", "j2", "line", "moon", "p1", "page", "subprocess", "v1", "v2", "v2d", "v2n"})
REFUSED = frozenset("@:/\\~?#%")


class WeatherConfig(BaseModel):
    """The service and its time limit."""

    wttr_base_url: BaseUrl = "https://wttr.in"
    weather_timeout_s: Annotated[float, Field(gt=0, le=25)] = 3


class GetWeather:
    """Answers from a ten-minute cache where possible."""

    name: ClassVar[str] = "get_weather"
    description: ClassVar[str] = (
        "Current weather and the forecast for today, tomorrow and the day after, anywhere on earth. Use it for every "
        "question about weather, temperature, rain, snow or wind, and whether to take an umbrella or a coat. "
        "`location` in the result is the place that was found: name it in the answer, and if it is not the one the "
        "user meant, or a `note` says it is unclear, ask. Rain chances are in percent; night is 0 to 6 o'clock."
    )
    risk: ClassVar[Risk] = "low"
    commands: ClassVar[tuple[str, ...]] = ("weather", "天気")
    Config: ClassVar[type[BaseModel]] = WeatherConfig

    def __init__(self, wttr: WttrClient) -> None:
        self._wttr = wttr
        self._reports: SharedCache[Report] = SharedCache(CACHE_S, CACHE_SIZE)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WeatherConfig) -> GetWeather:
        """Use the service of ``config`` through ``http``."""
        return cls(WttrClient(http, config.wttr_base_url, config.weather_timeout_s))

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Report the weather at ``location``.

        Raises:
            ToolError: no such place, or no answer in time.
        """
        asked = _place(arguments["location"])
        language = _language(context.locale)
        key = asked.casefold(), language
        report = await self._reports.get(key, lambda: self._wttr.report(asked, language))
        return _result(report, asked, _measures_in_fahrenheit(context.locale))


def _place(location: str) -> str:
    """The place as it is sent: NFKC, single spaces, no invisible characters.

    Raises:
        ToolError: the service could take it for something other than a place.
    """
    spaced = " ".join(unicodedata.normalize("NFKC", location).split())
    place = "".join(character for character in spaced if character.isprintable())
    if not any(map(str.isalnum, place)) or REFUSED.intersection(place) or ".." in place:
        raise ToolError("invalid parameters: location: write the name of a place, such as Tokyo or Portland, Oregon")
    if len(place.encode()) <= 2 or place.casefold() in NO_PLACES:
        raise ToolError(f"location not found (write the full name of {place}, with its region or country)")
    return place


def _language(locale: str) -> str:
    """The service's code for the user's language; empty for English and for languages it lacks."""
    tag = locale.replace("_", "-").lower()
    return next((code for code in (tag, tag.partition("-")[0]) if code in LANGUAGES), "")


def _measures_in_fahrenheit(locale: str) -> bool:
    return not FAHRENHEIT.isdisjoint(locale.replace("_", "-").upper().split("-")[1:])


def _result(report: Report, asked: str, fahrenheit: bool) -> dict[str, Any]:
    readings = {
        "location": str(report.place) or asked,
        "note": places.note(asked, report.place),
        "local_observation_time": report.observed.isoformat(timespec="minutes") if report.observed else "",
        "condition": report.condition,
        "current_temp_c": report.temp_c,
        "current_temp_f": report.temp_f if fahrenheit else "",
        "feels_like_c": report.feels_like_c,
        "feels_like_f": report.feels_like_f if fahrenheit else "",
        "humidity_percent": report.humidity,
        "wind_kmh": report.wind_kmh,
        "wind_mph": report.wind_mph if fahrenheit else "",
        "wind_direction": report.wind_direction,
    }
    return _filled(readings) | {"days": [_day(day, name, fahrenheit) for name, day in _coming(report)]}


def _coming(report: Report) -> Iterable[tuple[str, Day]]:
    """Today to the day after tomorrow, by the local date of the place.

    Today is the later of the observation's date and the forecast's first date: an observation may be from before
    midnight, and a forecast may be outdated.
    """
    known = [day.date for day in report.days[:1]] + ([report.observed.date()] if report.observed else [])
    today = max(known, default=date.min)
    for day in report.days:
        ahead = (day.date - today).days
        if 0 <= ahead < len(RELATIVE_DAYS):
            yield RELATIVE_DAYS[ahead], day


def _day(day: Day, name: str, fahrenheit: bool) -> dict[str, Any]:
    rain = {
        part: _highest(slot.rain for slot in day.slots if slot.hour in hours) for part, hours in PARTS_OF_DAY.items()
    }
    snow = {
        part: _highest(slot.snow for slot in day.slots if slot.hour in hours) for part, hours in PARTS_OF_DAY.items()
    }
    return _filled(
        {
            "day": name,
            "date": day.date.isoformat(),
            "weekday": f"{day.date:%A}",
            "condition": _midday(day.slots),
            "high_c": day.high_c,
            "low_c": day.low_c,
            "high_f": day.high_f if fahrenheit else "",
            "low_f": day.low_f if fahrenheit else "",
            "rain_chance": _filled(rain),
            "snow_chance": _filled(snow) if set(snow.values()) - {"", "0"} else "",
        }
    )


def _midday(slots: tuple[Slot, ...]) -> str:
    described = [slot for slot in slots if slot.condition]
    return min(described, key=lambda slot: abs(slot.hour - 12)).condition if described else ""


def _highest(chances: Iterable[int | None]) -> str:
    return str(max((chance for chance in chances if chance is not None), default=""))


def _filled(readings: dict[str, Any]) -> dict[str, Any]:
    """The readings without empty ones."""
    return {name: value for name, value in readings.items() if value not in ("", {})}
