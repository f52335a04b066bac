"""Parser of the bank's XML feeds: the rates of one day, or of the last 90 days.

https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html

The parser is expat itself, because it reads neither files nor network, and its hook for document
type declarations refuses a feed that has one: without a declaration there are no entities to
expand. Memory is then bounded by the size of the body.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from xml.parsers import expat

from toolset.tool import ToolError

Rates = dict[str, Decimal]  # units of a currency for one euro, by its code

MAX_DAYS = 100
MAX_CURRENCIES = 100
CODE = re.compile(r"[A-Z]{3}")
RATE = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?")


class _Refused(Exception):
    """The feed has what no feed of the bank has."""


def read(body: bytes) -> dict[date, Rates]:
    """The rates of each day, newest first; the euro itself is among them.

    Raises:
        ToolError: it is not a feed with rates.
    """
    feed = _Feed()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = feed.refuse
    parser.StartElementHandler = feed.element
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, _Refused, ValueError, LookupError) as error:
        raise ToolError("API request failed: the answer is not a list of exchange rates") from error
    days = {
        day: feed.days[day] | {"EUR": Decimal(1)}
        for day in sorted(feed.days, reverse=True)
        if feed.days[day]
    }
    if not days:
        raise ToolError("API request failed: the answer has no exchange rates")
    return days


class _Feed:
    """The days read so far; entries that are no rates are left out."""

    def __init__(self) -> None:
        self.days: dict[date, Rates] = {}
        self._rates: Rates = {}

    def refuse(self, *declaration: object) -> None:
        raise _Refused

    def element(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Cube":
            return
        if "time" in attributes:
            day = date.fromisoformat(attributes["time"])
            self._rates = self.days.setdefault(day, {}) if len(self.days) < MAX_DAYS else {}
        code, rate = attributes.get("currency", ""), attributes.get("rate", "")
        if (
            CODE.fullmatch(code)
            and RATE.fullmatch(rate)
            and len(self._rates) < MAX_CURRENCIES
            and Decimal(rate)
        ):
            self._rates[code] = Decimal(rate)
