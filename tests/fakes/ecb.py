"""A stand-in for the European Central Bank's server: its two feeds of reference rates, in its own
form.

The form:
https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html
"""

from __future__ import annotations

from tests.fakes.sources import NOT_FOUND, SourceAnswer, SourceFake, SourceRequest

XML = "text/xml"
DAILY = "/stats/eurofxref/eurofxref-daily.xml"
HISTORY = "/stats/eurofxref/eurofxref-hist-90d.xml"

Days = dict[str, dict[str, str]]  # the rates of a date, by currency

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" \
xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender>
		<gesmes:name>European Central Bank</gesmes:name>
	</gesmes:Sender>
	<Cube>{cubes}
	</Cube>
</gesmes:Envelope>"""


def feed(days: Days) -> bytes:
    """A feed of these days, newest first."""
    cubes = ""
    for day in sorted(days, reverse=True):
        rates = "".join(
            f"\n\t\t\t<Cube currency='{code}' rate='{rate}'/>" for code, rate in days[day].items()
        )
        cubes += f"\n\t\t<Cube time='{day}'>{rates}\n\t\t</Cube>"
    return FEED.format(cubes=cubes).encode()


class EcbFake(SourceFake):
    """The server; it knows three working days around a weekend."""

    def __init__(self) -> None:
        super().__init__()
        self.days: Days = {
            "2026-11-20": {"USD": "1.1000", "JPY": "165.00", "GBP": "0.88000", "KRW": "1600.50"},
            "2026-11-19": {"USD": "1.0900", "JPY": "164.00", "GBP": "0.87000", "KRW": "1601.00"},
            "2026-11-16": {"USD": "1.0800", "JPY": "163.00", "GBP": "0.86000", "KRW": "1602.00"},
        }

    def answer(self, request: SourceRequest) -> SourceAnswer:
        newest = max(self.days)
        feeds = {DAILY: {newest: self.days[newest]}, HISTORY: self.days}
        known = feeds.get(request.path)
        return SourceAnswer(200, feed(known), XML) if known else NOT_FOUND
