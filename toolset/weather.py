"""``get_weather``: the weather now, by the hour and for seven days, from wttr.in or Open-Meteo,
with a chart if asked.

The usual answer comes from wttr.in, or from Open-Meteo where wttr.in fails or is slow. Hours and
seven days come from Open-Meteo, which alone has them.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Coroutine
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import httpx
from pydantic import BaseModel, Field

from toolset.charts.worker import ChartDrawer
from toolset.forecast.card import card_of
from toolset.forecast.chart import chart_of, words_of
from toolset.forecast.report import Report
from toolset.forecast.result import Detail, result
from toolset.openmeteo.client import OpenMeteo, OpenMeteoClient, UnknownPlace
from toolset.shown import Shown, ToolFile
from toolset.titles import Words
from toolset.tool import Risk, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.race import BothFailed, first_answer
from toolset.web.source import BaseUrl
from toolset.web.text import one_line
from toolset.wttr import places
from toolset.wttr.client import NOT_FOUND, WttrClient
from toolset.wttr.report import SOURCE as WTTR

CACHE_S = 600
CACHE_SIZE = 256  # reports
CHART_S = 3.0  # for drawing, after the report
CHART_NAME = "weather.png"
SHOWN, NOT_SHOWN = "shown with your answer", "not available"
HEAD_START_S = 1.0  # of wttr.in; at most a third of the time limit

ONLY_USUAL = "The hourly and seven-day forecast is not available now; this is what is known."
FULL_NAME = "write its full name, with its region or country"
FAHRENHEIT = frozenset({"BS", "BZ", "KY", "PR", "PW", "US"})  # regions that use it, by CLDR

# The service's languages.
# https://github.com/chubin/wttr.in/blob/master/share/defs/options/options.yaml
# fmt: off
LANGUAGES = frozenset({
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "eo", "es",
    "et", "eu", "fa",
    "fi", "fr", "fy", "ga", "gl", "he", "hi", "hr", "hu", "hy", "ia", "id", "is", "it", "ja", "jv",
    "ka", "kk", "ko",
    "ky", "lt", "lv", "mg", "mk", "ml", "mr", "nb", "nl", "nn", "oc", "pa", "pl", "pt", "pt-br",
    "ro", "ru", "sk",
    "sl", "sr", "sv", "sw", "ta", "te", "th", "tr", "uk", "uz", "vi", "zh", "zh-cn", "zh-tw", "zu",
})
# fmt: on

# The place is one component of the path. The service takes these for something else, and two
# letters for a language.
NO_PLACES = frozenset(
    {"files", "j1", "j2", "line", "moon", "p1", "page", "subprocess", "v1", "v2", "v2d", "v2n"}
)
REFUSED = frozenset("@:/\\~?#%")


class WeatherConfig(BaseModel):
    """The two services, whether the second is asked, and the time limit of a call."""

    wttr_base_url: BaseUrl = "https://wttr.in"
    open_meteo: bool = True
    open_meteo_base_url: BaseUrl = "https://api.open-meteo.com"
    open_meteo_geocoding_base_url: BaseUrl = "https://geocoding-api.open-meteo.com"
    weather_timeout_s: Annotated[float, Field(gt=0, le=25)] = 3


class GetWeather:
    """Answers from a ten-minute cache where possible.

    Args:
        open_meteo: None: only wttr.in is asked.
        timeout_s: for both services together.
    """

    name: ClassVar[str] = "get_weather"
    description: ClassVar[str] = (
        "Weather now and the forecast, anywhere. Use it for every question about weather, "
        "temperature, rain, snow, wind or sun, and whether to take an umbrella or a coat. Name "
        "the place found (`location`) and the `source`; if it is not the place that was meant, or "
        "a `note` says it is unclear, ask. Rain chances are in percent; night is 0 to 6 o'clock."
    )
    risk: ClassVar[Risk] = "low"
    public: ClassVar[bool] = True
    titles: ClassVar[Words] = {"en": "Weather", "ja": "天気"}
    commands: ClassVar[tuple[str, ...]] = ("weather", "天気")
    foreign: ClassVar[bool] = True
    Config: ClassVar[type[BaseModel]] = WeatherConfig

    def __init__(
        self, wttr: WttrClient, open_meteo: OpenMeteoClient | None, timeout_s: float
    ) -> None:
        self._wttr = wttr
        self._open_meteo = open_meteo
        self._timeout_s = timeout_s
        self._head_start_s = min(HEAD_START_S, timeout_s / 3)
        self._usual: SharedCache[Report] = SharedCache(CACHE_S, CACHE_SIZE)
        self._full: SharedCache[Report] = SharedCache(CACHE_S, CACHE_SIZE)
        self._drawer = ChartDrawer()

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WeatherConfig) -> GetWeather:
        """Use the services of ``config`` through ``http``."""
        timeout_s = config.weather_timeout_s
        service = OpenMeteo(config.open_meteo_base_url, config.open_meteo_geocoding_base_url)
        wttr = WttrClient(http, config.wttr_base_url, timeout_s)
        return cls(
            wttr,
            OpenMeteoClient(http, service, timeout_s) if config.open_meteo else None,
            timeout_s,
        )

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any] | Shown:
        """Report the weather at ``location``, with a card, or with a chart if that is asked for and
        can be drawn.

        Raises:
            ToolError: no such place, or no answer in time.
        """
        asked = _place(arguments["location"])
        detail: Detail = arguments.get("detail", "now_and_days")
        language = _language(context.locale)
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        with_chart = bool(arguments.get("chart"))
        if detail == "now_and_days" and not with_chart:
            report = await self._usual_report(asked, language, deadline)
        else:
            report = await self._full_report(asked, language, deadline)
        fahrenheit = _measures_in_fahrenheit(context.locale)
        response = result(report, asked, detail, fahrenheit)
        if with_chart:
            return await self._with_chart(response, report, detail, fahrenheit)
        return Shown(
            response, card=card_of(report, asked, detail, context.locale, fahrenheit=fahrenheit)
        )

    async def _with_chart(
        self, response: dict[str, Any], report: Report, detail: Detail, fahrenheit: bool
    ) -> dict[str, Any] | Shown:
        chart = chart_of(report, detail, fahrenheit)
        try:
            if chart is None:
                raise ToolError("no temperatures to draw")
            picture = await self._drawer.draw(chart, CHART_S)
        except ToolError:
            return response | {"chart": NOT_SHOWN}
        file = ToolFile(CHART_NAME, "image/png", picture, words_of(chart))
        return Shown(response | {"chart": SHOWN}, [file])

    async def _usual_report(self, asked: str, language: str, deadline: float) -> Report:
        """Now and at least three days, from the service that answers first."""

        async def from_wttr() -> Report:
            report = await _until(deadline, self._wttr.report(asked, language))
            return replace(report, note=places.note(asked, report.place))

        async def race(second: OpenMeteoClient) -> Report:
            try:
                return await first_answer(
                    from_wttr,
                    lambda: _until(deadline, second.report(asked, language)),
                    self._head_start_s,
                )
            except BothFailed as failed:
                raise _one_error(failed) from failed

        second = self._open_meteo
        return await self._usual.get(
            (asked.casefold(), language), lambda: race(second) if second else from_wttr()
        )

    async def _full_report(self, asked: str, language: str, deadline: float) -> Report:
        """Hours and seven days; where Open-Meteo fails, the usual report, which the rest of the
        time is for."""
        until, source = deadline - self._head_start_s, self._open_meteo
        try:
            if source is None:
                raise ToolError("Open-Meteo is switched off")
            return await self._full.get(
                (asked.casefold(), language), lambda: _until(until, source.report(asked, language))
            )
        except ToolError:
            report = await self._usual_report(asked, language, deadline)
        if report.source != WTTR:  # Open-Meteo's after all: kept, or given at another attempt
            return report
        return replace(report, note=" ".join(filter(None, (report.note, ONLY_USUAL))))


async def _until(deadline: float, report: Coroutine[Any, Any, Report]) -> Report:
    """The report, if it comes before a time of the loop's clock."""
    try:
        async with asyncio.timeout_at(deadline):
            return await report
    except TimeoutError as error:
        raise ToolError("API request failed: timeout") from error


def _one_error(failed: BothFailed) -> ToolError:
    """What the model reads: wttr.in's text, with what Open-Meteo adds about the place."""
    if not isinstance(failed.second, UnknownPlace):
        return failed.first
    if str(failed.first).startswith(NOT_FOUND):
        return ToolError(f"{NOT_FOUND} ({FULL_NAME})")
    return ToolError(f"{failed.first}; the other service does not know this place ({FULL_NAME})")


def _place(location: str) -> str:
    """The place as it is sent: NFKC, single spaces, no invisible characters.

    Raises:
        ToolError: the service could take it for something other than a place.
    """
    place = one_line(unicodedata.normalize("NFKC", location))
    if not any(map(str.isalnum, place)) or REFUSED.intersection(place) or ".." in place:
        raise ToolError(
            "invalid parameters: location: write the name of a place, such as Tokyo or Portland, "
            "Oregon"
        )
    if len(place.encode()) <= 2 or place.casefold() in NO_PLACES:
        raise ToolError(
            f"location not found (write the full name of {place}, with its region or country)"
        )
    return place


def _language(locale: str) -> str:
    """The service's code for the user's language; empty for English and for languages it lacks."""
    tag = locale.replace("_", "-").lower()
    return next((code for code in (tag, tag.partition("-")[0]) if code in LANGUAGES), "")


def _measures_in_fahrenheit(locale: str) -> bool:
    return not FAHRENHEIT.isdisjoint(locale.replace("_", "-").upper().split("-")[1:])
