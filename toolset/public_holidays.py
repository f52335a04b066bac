"""``get_holidays``: the public holidays of a country or one of its regions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError

if TYPE_CHECKING:
    from holidays import HolidayBase

NEXT = 5  # holidays of an answer without a year
MOST = 100  # of a year
REGIONS_SHOWN = 60
SOURCE = "the Python library holidays"


class GetHolidays(Tool):
    """Reads the library's rules; nothing is asked over the network.

    Args:
        now: the current moment, with its zone.
    """

    name = "get_holidays"
    description = (
        "Public holidays of a country or a region of it: all of a `year`, or the next five from "
        "today. Use it for holidays, 祝日 and days off, and before planning around one. Name the "
        "country. A day that a government moves at short notice may be missing."
    )
    keywords = (
        "public bank holiday day off calendar Christmas Thanksgiving Easter golden week 祝日 休日 "
        "連休 休 祭日 カレンダー ゴールデンウィーク 盆 正月"
    )
    risk = "low"
    public = True
    titles = words(en="Holidays", ja="祝日")
    timeout_s = 3
    commands = ("holidays", "祝日")

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """List the holidays of ``country``.

        Raises:
            ToolError: an unknown country or region, or a year the library does not have.
        """
        today = self._now().astimezone(context.zone).date()
        return await asyncio.to_thread(_listed, arguments, context.locale, today)


def _listed(arguments: dict[str, Any], locale: str, today: date) -> dict[str, Any]:
    """The result; loads the library, and then the country's file."""
    from holidays import country_holidays

    code = _country(arguments["country"])
    country = country_holidays(code)
    year = arguments.get("year")
    if year is not None and not country.start_year <= year <= country.end_year:
        raise ToolError(
            f"no holidays of {code} in {year}: known are {country.start_year} to {country.end_year}"
        )
    region = _region(country, code, arguments.get("region", "").strip())
    language = _language(country.supported_languages, locale)
    years = (today.year, today.year + 1) if year is None else (year,)
    days = sorted(
        country_holidays(code, subdiv=region or None, years=years, language=language).items()
    )
    listed = []
    for day, name in days:
        if year is None and day < today:
            continue
        holiday: dict[str, Any] = {"date": day.isoformat(), "weekday": f"{day:%A}", "name": name}
        if year is None:
            holiday["days_until"] = (day - today).days
        listed.append(holiday)
    if not listed:
        raise ToolError(f"no public holidays of {code} are known for that time")
    result: dict[str, Any] = {"country": code}
    if region:
        result["region"] = region
    most = NEXT if year is None else MOST
    return result | {"holidays": listed[:most], "source": SOURCE}


def _country(written: str) -> str:
    """The ISO 3166 code; the library would call anything of its own by the name of a country.

    Raises:
        ToolError: unknown; the text suggests others.
    """
    from holidays.registry import COUNTRIES

    names = {module: codes[1] for module, codes in COUNTRIES.items()}
    by_code = {code: codes[1] for codes in COUNTRIES.values() for code in codes[1:3]}
    text = written.strip()
    name = "_".join(text.casefold().split())
    if code := by_code.get(text.upper()) or names.get(name):
        return code
    near = [names[match] for match in get_close_matches(name, names, n=3, cutoff=0.8)]
    fix = "Write its ISO 3166 code, such as JP or US."
    if near:
        fix = f"Did you mean {' or '.join(near)}?"
    raise ToolError(f"unknown country: {text}. {fix}")


def _region(country: HolidayBase, code: str, written: str) -> str:
    """The library's code of a region; empty for the whole country.

    Raises:
        ToolError: unknown; the text lists the known ones.
    """
    regions = {"": "", **{known.casefold(): known for known in country.subdivisions}}
    regions |= {name.casefold(): known for name, known in country.subdivisions_aliases.items()}
    region = regions.get(written.casefold())
    if region is None:
        known = ", ".join(country.subdivisions[:REGIONS_SHOWN]) or "none, leave the region out"
        raise ToolError(f"unknown region of {code}: {written}. The regions are: {known}")
    return region


def _language(supported: Collection[str], locale: str) -> str | None:
    """The user's language, else English; None for the country's own."""
    tag = locale.replace("-", "_")
    wanted = tag.partition("_")[0].casefold()
    alike: str | None = None
    for language in supported:
        if language.casefold() == tag.casefold():
            return language
        if alike is None and language.partition("_")[0] == wanted:
            alike = language
    if alike is None and "en_US" in supported:
        return "en_US"
    return alike
