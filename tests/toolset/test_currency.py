"""``convert_currency``: amounts by the bank's rates, with their date and source, or an error the
model understands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from tests.fakes.ecb import DAILY, HISTORY, EcbFake
from tests.fakes.sources import SourceAnswer
from tests.toolset.contexts import context, http_client
from tests.toolset.contexts import error_of as refusal
from tests.toolset.contexts import response_of as convert
from toolset.currency import ConvertCurrency, CurrencyConfig
from toolset.tool import ValidatedTool, read_schemas
from toolset.web.source import Source

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SOURCE = "European Central Bank, euro foreign exchange reference rates"


@pytest.fixture
async def bank() -> AsyncIterator[EcbFake]:
    """The bank's server."""
    with EcbFake().served() as fake:
        yield fake


@pytest.fixture
async def currency(bank: EcbFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, on a Sunday."""
    async with http_client() as http:
        made = ConvertCurrency(Source(http, bank.base_url, 3), now=lambda: NOW)
        yield ValidatedTool(made, *read_schemas("convert_currency"))


async def test_an_amount_is_converted_through_the_euro(
    bank: EcbFake, currency: ValidatedTool
) -> None:
    """By the latest rates, which the result dates and attributes."""
    assert await convert(currency, **{"amount": 100, "from": "USD", "to": "JPY"}) == {
        "amount": "100",
        "from": "USD",
        "to": "JPY",
        "result": "15000",
        "rate": "150",
        "rate_date": "2026-11-20",
        "source": SOURCE,
    }
    assert [request.path for request in bank.requests] == [DAILY]


@pytest.mark.parametrize(
    ("amount", "source", "target", "result", "rate"),
    [
        (1, "EUR", "USD", "1.10", "1.1"),
        (10000, "jpy", " eur ", "60.61", "0.00606061"),
        (1, "JPY", "USD", "0.006667", "0.00666667"),
        (0.1, "EUR", "GBP", "0.088", "0.88"),
        (19.99, "GBP", "GBP", "19.99", "1"),
        (0, "USD", "JPY", "0", "150"),
        (1e15, "GBP", "KRW", "1818750000000000000", "1818.75"),
        (1e-300, "EUR", "USD", f"0.{'0' * 299}11", "1.1"),
    ],
)
async def test_results_are_rounded_to_the_currency(
    currency: ValidatedTool, amount: float, source: str, target: str, result: str, rate: str
) -> None:
    """Small ones keep some digits, and none has an exponent."""
    reported = await convert(currency, **{"amount": amount, "from": source, "to": target})
    assert (reported["result"], reported["rate"]) == (result, rate)


async def test_without_an_amount_it_is_the_rate(currency: ValidatedTool) -> None:
    """Of one unit."""
    reported = await convert(currency, **{"from": "EUR", "to": "JPY"})
    assert (reported["amount"], reported["result"]) == ("1", "165")


async def test_a_past_day_has_its_own_rates(bank: EcbFake, currency: ValidatedTool) -> None:
    """From the feed of 90 days."""
    reported = await convert(
        currency, **{"amount": 10, "from": "EUR", "to": "USD", "date": "2026-11-19"}
    )
    assert (reported["result"], reported["rate_date"], "note" in reported) == (
        "10.90",
        "2026-11-19",
        False,
    )
    assert [request.path for request in bank.requests] == [HISTORY]


@pytest.mark.parametrize(
    ("asked", "day"), [("2026-11-22", "2026-11-20"), ("2026-11-18", "2026-11-16")]
)
async def test_a_day_without_rates_has_those_before_it(
    currency: ValidatedTool, asked: str, day: str
) -> None:
    """And a note that says so."""
    reported = await convert(currency, **{"from": "EUR", "to": "USD", "date": asked})
    assert reported["rate_date"] == day
    assert reported["note"] == f"There are no rates of {asked}; these are the last ones before it."


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("2026-01-05", "there are no rates of 2026-01-05: the source has 2026-11-16 to 2026-11-20"),
        ("2026-11-24", "invalid parameters: date: 2026-11-24 is in the future"),
        ("yesterday", "invalid parameters: date: write it as YYYY-MM-DD"),
    ],
)
async def test_a_date_without_rates_is_an_error(
    currency: ValidatedTool, asked: str, text: str
) -> None:
    """The text says which there are."""
    assert await refusal(currency, **{"from": "EUR", "to": "USD", "date": asked}) == text


async def test_a_feed_that_is_not_renewed_gives_no_rates_of_today(
    bank: EcbFake, currency: ValidatedTool
) -> None:
    """A week later its last rates are history."""
    bank.days = {"2026-11-01": {"USD": "1.1"}}
    text = await refusal(currency, **{"from": "EUR", "to": "USD", "date": "2026-11-20"})
    assert text == "there are no rates of 2026-11-20: the source has 2026-11-01 to 2026-11-01"


@pytest.mark.parametrize(
    ("source", "target", "named"), [("XXX", "USD", "XXX"), ("USD", "円", "円")]
)
async def test_an_unknown_currency_is_an_error_with_the_codes(
    currency: ValidatedTool, source: str, target: str, named: str
) -> None:
    """The model can fix its call by it."""
    text = await refusal(currency, **{"from": source, "to": target})
    assert text == f"no rate for {named}: write one of the codes EUR, GBP, JPY, KRW, USD"


@pytest.mark.parametrize(
    "amount",
    [-1, 1e16, 10**400, float("nan"), float("inf")],
    ids=["negative", "large", "huge", "nan", "infinite"],
)
async def test_an_amount_is_a_reasonable_number(currency: ValidatedTool, amount: float) -> None:
    """Others are refused."""
    text = await refusal(currency, **{"amount": amount, "from": "EUR", "to": "USD"})
    assert text.startswith("invalid parameters: amount: ")


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("status 429", "API error: status 429"),
        ("not_json", "API request failed: the answer has no exchange rates"),
        ("empty_body", "API request failed: the answer is not a list of exchange rates"),
    ],
)
async def test_a_failure_is_told_and_not_remembered(
    bank: EcbFake, currency: ValidatedTool, failure: str, text: str
) -> None:
    """The next question is asked afresh."""
    bank.fail(failure)
    assert await refusal(currency, **{"from": "EUR", "to": "USD"}) == text
    bank.recover()
    assert (await convert(currency, **{"from": "EUR", "to": "USD"}))["rate"] == "1.1"


async def test_questions_of_half_an_hour_are_one_request(
    bank: EcbFake, currency: ValidatedTool
) -> None:
    """Also those asked at once, and whatever the currencies."""
    pairs = [("EUR", "USD"), ("USD", "EUR"), ("JPY", "GBP")] * 3
    await asyncio.gather(
        *(convert(currency, **{"from": source, "to": target}) for source, target in pairs)
    )
    assert len(bank.requests) == 1


async def test_the_operator_names_the_server(bank: EcbFake) -> None:
    """A private address, too."""
    bank.replay(
        SourceAnswer(
            200, b"<Cube time='2026-11-20'><Cube currency='USD' rate='2'/></Cube>", "text/xml"
        )
    )
    async with http_client() as http:
        made = ConvertCurrency.create(http, CurrencyConfig(ecb_base_url=bank.base_url))
        reported = await made.call({"from": "EUR", "to": "USD"}, context())
    assert reported["rate"] == "2"
