"""``get_weather``: the weather now, by the hour and for seven days, with a chart if asked.

The usual answer comes from wttr.in, or from Open-Meteo where wttr.in fails. Hours and seven days
come from Open-Meteo, which alone has them; where it fails, the usual answer of wttr.in takes their
place. The service that is asked first has half of the time, so that the other one has at least the
other half: Open-Meteo needs two requests to two hosts, each over a connection of its own.
"""

from __future__ import annotations

import asyncio
import unicodedata
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field

from toolset.charts.worker import ChartDrawer
from toolset.forecast.card import card_of
from toolset.forecast.chart import chart_of, words_of
from toolset.forecast.report import Report
from toolset.forecast.result import Detail, result
from toolset.openmeteo.client import OpenMeteo, OpenMeteoClient, UnknownPlace
from toolset.shown import Shown, ToolFile
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.source import BaseUrl
from toolset.web.text import one_line
from toolset.wttr.client import NOT_FOUND, WttrClient

CACHE_S = 600
CACHE_SIZE = 256  # reports
CHART_S = 3.0  # for drawing, after the report
CHART_NAME = "weather.png"
SHOWN, NOT_SHOWN = "shown with your answer", "not available"
FIRST_SHARE = 0.5  # of the time limit, for the service that is asked first

ONLY_USUAL = "The hourly and seven-day forecast is not available now; this is what is known."
FULL_NAME = "write its full name, with its region or country"
FAHRENHEIT = frozenset({"BS", "BZ", "KY", "PR", "PW", "US"})  # regions that use it, by CLDR

# The service's languages.
# https://github.com/chubin/wttr.in/blob/master/share/defs/options/options.yaml
CODES = (
    "af am ar az be bg bn bs ca cs cy da de el eo es et eu fa fi fr fy ga gl he hi hr hu hy "
    "ia id is it ja jv ka kk ko ky lt lv mg mk ml mr nb nl nn oc pa pl pt pt-br ro ru sk sl "
    "sr sv sw ta te th tr uk uz vi zh zh-cn zh-tw zu"
)
LANGUAGES = frozenset(CODES.split())

# The place is one component of the path. The service takes these for something else, and two
# letters for a language.
NO_PLACES = frozenset(
    {"files", "j1", "j2", "line", "moon", "p1", "page", "subprocess", "v1", "v2", "v2d", "v2n"}
)
REFUSED = frozenset("@:/\\~?#%")


Client = WttrClient | OpenMeteoClient


class WeatherConfig(BaseModel):
    """The two services, whether the second is asked, and the time limit of a call."""

    wttr_base_url: BaseUrl = "https://wttr.in"
    open_meteo: bool = True
    open_meteo_base_url: BaseUrl = "https://api.open-meteo.com"
    open_meteo_geocoding_base_url: BaseUrl = "https://geocoding-api.open-meteo.com"
    weather_timeout_s: Annotated[float, Field(gt=0, le=25)] = 3


class GetWeather(Tool):
    """Answers from a ten-minute cache where possible.

    Args:
        open_meteo: None: only wttr.in is asked.
        timeout_s: for both services together.
    """

    name = "get_weather"
    description = (
        "Weather now and the forecast, anywhere. Use it for every question about weather, "
        "temperature, rain, snow, wind or sun, and whether to take an umbrella or a coat. Name "
        "the place found (`location`) and the `source`; if it is not the place that was meant, or "
        "a `note` says it is unclear, ask. Rain chances are in percent; night is 0 to 6 o'clock."
    )
    risk = "low"
    public = True
    titles = words(en="Weather", ja="天気")
    commands = ("weather", "天気")
    foreign = True
    Config = WeatherConfig

    def __init__(
        self, wttr: WttrClient, open_meteo: OpenMeteoClient | None, timeout_s: float
    ) -> None:
        self._wttr = wttr
        self._open_meteo = open_meteo
        self._timeout_s = timeout_s
        self._reports: SharedCache[Report] = SharedCache(CACHE_S, CACHE_SIZE)
        self._drawer = ChartDrawer()

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WeatherConfig) -> GetWeather:
        """Use the services of ``config`` through ``http``."""
        timeout_s = config.weather_timeout_s
        if not config.open_meteo:
            return cls(WttrClient(http, config.wttr_base_url, timeout_s), None, timeout_s)
        service = OpenMeteo(config.open_meteo_base_url, config.open_meteo_geocoding_base_url)
        wttr = WttrClient(http, config.wttr_base_url, timeout_s * FIRST_SHARE)
        return cls(wttr, OpenMeteoClient(http, service, timeout_s), timeout_s)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any] | Shown:
        """Report the weather at ``location``, with a card, or with a chart if that is asked for and
        can be drawn.

        Raises:
            ToolError: no such place, or no answer in time.
        """
        asked = _place(arguments["location"])
        detail: Detail = arguments.get("detail", "now_and_days")
        language = _language(context.locale)
        with_chart = bool(arguments.get("chart"))
        is_usual = detail == "now_and_days" and not with_chart
        report = await self._report(asked, language, is_usual=is_usual)
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

    async def _report(self, asked: str, language: str, *, is_usual: bool) -> Report:
        """The report of the service that is asked first; where it fails, that of the other one.

        Raises:
            ToolError: both fail.
        """
        clients: list[Client] = [self._wttr]
        if self._open_meteo is not None:
            clients.insert(1 if is_usual else 0, self._open_meteo)
        began = asyncio.get_running_loop().time()
        failures: dict[Client, ToolError] = {}
        for client in clients:
            share = 1 if client is clients[-1] else FIRST_SHARE
            until = began + self._timeout_s * share
            ask = partial(_ask, client, asked, language, until)
            try:
                report = await self._reports.get((client, asked.casefold(), language), ask)
            except ToolError as error:
                failures[client] = error
                continue
            if is_usual or client is self._open_meteo:
                return report
            return replace(report, note=" ".join(filter(None, (report.note, ONLY_USUAL))))
        raise self._error(failures)

    def _error(self, failures: dict[Client, ToolError]) -> ToolError:
        """What the model reads: wttr.in's text, with what Open-Meteo adds about the place."""
        failure = failures[self._wttr]
        if not any(isinstance(each, UnknownPlace) for each in failures.values()):
            return failure
        if str(failure).startswith(NOT_FOUND):
            return ToolError(f"{NOT_FOUND} ({FULL_NAME})")
        return ToolError(f"{failure}; the other service does not know this place ({FULL_NAME})")


async def _ask(client: Client, asked: str, language: str, until: float) -> Report:
    """The report, if it comes before a time of the loop's clock."""
    try:
        async with asyncio.timeout_at(until):
            return await client.report(asked, language)
    except TimeoutError as error:
        raise ToolError("API request failed: timeout") from error


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
