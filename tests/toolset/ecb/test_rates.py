"""The bank's feeds are read as they are; what is no feed of the bank's is refused, whatever its XML
tries."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from tests.fakes.ecb import feed
from toolset.ecb.rates import read
from toolset.tool import ToolError

LAUGHS = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><Cube time="2026-11-20"><Cube currency="USD" rate="1"/>&c;</Cube>"""
FILE = (
    """<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><Cube time="2026-11-20">&f;</Cube>"""
)
EXTERNAL = """<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><Cube time="2026-11-20"/>"""


def test_days_come_newest_first() -> None:
    """Each with exact numbers and the euro."""
    days = read(
        feed({"2026-11-19": {"USD": "1.0900"}, "2026-11-20": {"USD": "1.1000", "JPY": "165.00"}})
    )
    assert list(days) == [date(2026, 11, 20), date(2026, 11, 19)]
    assert days[date(2026, 11, 20)] == {
        "USD": Decimal("1.1"),
        "JPY": Decimal(165),
        "EUR": Decimal(1),
    }


@pytest.mark.parametrize("rate", ["0", "0.000", "-1", "N/A", "1e9", "NaN", "1" * 30, ""])
def test_what_is_no_rate_is_left_out(rate: str) -> None:
    """The others stand."""
    (rates,) = read(feed({"2026-11-20": {"USD": "1.1", "TRY": rate, "Yen": "1"}})).values()
    assert sorted(rates) == ["EUR", "USD"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"\xff\xfe\x00",
        b"<Cube time='yesterday'/>",
        b"<?xml version='1.0' encoding='x-no'?><a/>",
    ],
)
def test_what_is_no_feed_is_told(body: bytes) -> None:
    """Half a feed, too."""
    with pytest.raises(
        ToolError, match=r"^API request failed: the answer is not a list of exchange rates$"
    ):
        read(body)


@pytest.mark.parametrize("body", [LAUGHS, FILE, EXTERNAL], ids=["expansion", "file", "network"])
def test_a_document_type_is_refused(body: str) -> None:
    """Without one there are no entities."""
    with pytest.raises(ToolError, match="not a list of exchange rates"):
        read(body.encode())


@pytest.mark.parametrize(
    "body", [b"<a/>", feed({}), feed({"2026-11-20": {}})], ids=["other", "no day", "no rate"]
)
def test_a_feed_without_rates_is_told(body: bytes) -> None:
    """It is XML, but no answer."""
    with pytest.raises(ToolError, match=r"^API request failed: the answer has no exchange rates$"):
        read(body)


def test_days_and_currencies_are_bounded() -> None:
    """Of a feed of a megabyte little is kept."""
    codes = [f"{chr(65 + n // 26 % 26)}{chr(65 + n % 26)}X" for n in range(200)]
    many = {
        f"20{year:02}-01-{day:02}": dict.fromkeys(codes, "1.5")
        for year in range(4)
        for day in range(1, 31)
    }
    days = read(feed(many))
    assert len(days) == 100
    assert {len(rates) for rates in days.values()} == {101}


def test_depth_costs_nothing() -> None:
    """Elements within elements without end."""
    with pytest.raises(ToolError):
        read(b"<Cube>" * 150_000)
