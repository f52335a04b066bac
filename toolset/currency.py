"""``convert_currency``: an amount in another currency, by the European Central Bank's reference
rates."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import httpx
from pydantic import BaseModel

from toolset.ecb.rates import Rates, read
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.source import BaseUrl, Source

TIMEOUT_S = 3.0
CACHE_S = 1800  # the bank publishes once a working day, about 16:00 CET
SOURCE = "European Central Bank, euro foreign exchange reference rates"
LATEST = "/stats/eurofxref/eurofxref-daily.xml"
LAST_90_DAYS = "/stats/eurofxref/eurofxref-hist-90d.xml"

WITHOUT_DECIMALS = frozenset({"ISK", "JPY", "KRW"})  # by ISO 4217, of those the bank lists
RATE_DIGITS = 6  # significant, as the bank's own
EXACT = Context(prec=50, rounding=ROUND_HALF_EVEN)
LONGEST_GAP = timedelta(
    days=7
)  # between two days with rates: the bank's holidays are at most five days long


class CurrencyConfig(BaseModel):
    """The bank's server."""

    ecb_base_url: BaseUrl = "https://www.ecb.europa.eu"


class ConvertCurrency(Tool):
    """Reads the feed of the day, or the one of 90 days if a date is asked for.

    Args:
        now: the current moment, with its zone.
    """

    name = "convert_currency"
    description = (
        "Converts money between currencies, by the European Central Bank's rates of the last "
        "working day or of a `date` in the last 90 days. Use it for every exchange rate and price "
        "in another currency. Name `rate_date` and the source; banks charge other rates."
    )
    risk = "low"
    public = True
    titles = words(en="Currency conversion", ja="通貨の換算")
    timeout_s = TIMEOUT_S
    commands = ("currency", "為替")
    foreign = True
    Config = CurrencyConfig

    def __init__(
        self, bank: Source, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._bank = bank
        self._now = now
        self._feeds: SharedCache[dict[date, Rates]] = SharedCache(CACHE_S, 2)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: CurrencyConfig) -> ConvertCurrency:
        """Use the server of ``config`` through ``http``."""
        return cls(Source(http, config.ecb_base_url, TIMEOUT_S))

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Convert ``amount``.

        Raises:
            ToolError: a currency or a date without rates, or no answer in time.
        """
        amount = _amount(arguments.get("amount", 1))
        asked = self._date(arguments.get("date", ""))
        feed = LAST_90_DAYS if asked else LATEST
        days = await self._feeds.get(feed, lambda: self._read(feed))
        day = _day(days, asked)
        source, target = (_code(arguments[side], days[day]) for side in ("from", "to"))
        rate = EXACT.divide(days[day][target], days[day][source])
        result = {
            "amount": _plain(amount),
            "from": source,
            "to": target,
            "result": _money(EXACT.multiply(amount, rate), target),
            "rate": _significant(rate, RATE_DIGITS),
            "rate_date": day.isoformat(),
            "source": SOURCE,
        }
        if asked and asked != day:
            result["note"] = f"There are no rates of {asked}; these are the last ones before it."
        return result

    async def _read(self, feed: str) -> dict[date, Rates]:
        return await asyncio.to_thread(read, await self._bank.get(feed))

    def _date(self, text: str) -> date | None:
        """The date asked for; None for the latest rates.

        Raises:
            ToolError: it is no date, or in the future.
        """
        if not text:
            return None
        try:
            asked = date.fromisoformat(text)
        except ValueError as error:
            raise ToolError("invalid parameters: date: write it as YYYY-MM-DD") from error
        if asked > (self._now() + timedelta(hours=14)).date():  # today somewhere on earth
            raise ToolError(f"invalid parameters: date: {asked} is in the future")
        return asked


def _amount(number: float) -> Decimal:
    if not math.isfinite(number):
        raise ToolError("invalid parameters: amount: write a number")
    return Decimal(str(number))


def _day(days: dict[date, Rates], asked: date | None) -> date:
    """The day with rates: the newest, or the last one until ``asked``."""
    until = asked or date.max
    day = next((day for day in days if day <= until), None)
    if day is None or (asked and asked - day > LONGEST_GAP):
        raise ToolError(f"there are no rates of {asked}: the source has {min(days)} to {max(days)}")
    return day


def _code(name: str, rates: Rates) -> str:
    code = name.strip().upper()
    if code not in rates:
        raise ToolError(f"no rate for {code}: write one of the codes {', '.join(sorted(rates))}")
    return code


def _money(value: Decimal, currency: str) -> str:
    """Rounded to the currency's smallest unit; less than one whole unit keeps four significant
    digits."""
    if 0 < value < 1:
        return _significant(value, 4)
    cent = Decimal(1) if currency in WITHOUT_DECIMALS else Decimal("0.01")
    return f"{value.quantize(cent, context=EXACT):f}"


def _significant(value: Decimal, digits: int) -> str:
    return _plain(Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(value))


def _plain(value: Decimal) -> str:
    """Without exponent and without zeros at the end of a fraction."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
