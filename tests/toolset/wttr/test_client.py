"""The client of wttr.in: one request, one time budget, one text per kind of failure."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.sources import SourceAnswer
from tests.fakes.wttr import WttrFake, wttr_fake
from tests.shared_data import recorded
from tests.toolset.contexts import http_client
from toolset.tool import ToolError
from toolset.wttr.client import WttrClient

QUOTA = "location not found (or the service's quota is used up: it answers both alike)"
CAPACITY = "API error: status 503 (the service is out of capacity for today)"
RATE_LIMIT = "API error: status 429 (rate limit of the service, try again in some minutes)"
DEFAULT_CITY = (
    "no weather data available (the service ran out of queries and answered for its default city)"
)
SOURCE_DOWN = "API error: status 500 (the weather data source is not available)"
CLOSED = "API request failed: connection closed"
TIMEOUT = "API request failed: timeout"

RECORDED_TEXTS = {
    "unknown_location_now": "location not found",
    "data_source_down_or_quota_now": SOURCE_DOWN,
    "panic_now": "API error: status 500",
    "write_timeout_now": CLOSED,
    "unknown_location_until_2026-05": QUOTA,
    "quota_exhausted_same_text_for_a_valid_city": QUOTA,
    "data_wrapper_2026-03": None,
    "capacity_html_or_text": CAPACITY,
    "default_city_instead_of_asked": DEFAULT_CITY,
    "per_ip_limit_python_era": RATE_LIMIT,
    "ip_blocked": TIMEOUT,
    "empty_reply": CLOSED,
}


@pytest.fixture
async def fake() -> AsyncIterator[WttrFake]:
    """A stand-in for the service that knows 東京."""
    async with wttr_fake() as fake:
        fake.place("東京", temp=21)
        yield fake


async def asked(
    base_url: str, place: str = "東京", language: str = "", timeout_s: float = 3
) -> Any:
    """What a client of its own gets."""
    async with http_client() as http:
        return await WttrClient(http, base_url, timeout_s).report(place, language)


async def refused(base_url: str, timeout_s: float = 3) -> str:
    """Why there is no report."""
    with pytest.raises(ToolError) as raised:
        await asked(base_url, timeout_s=timeout_s)
    return str(raised.value)


async def test_a_place_goes_into_the_path_percent_encoded(fake: WttrFake) -> None:
    """English needs no language."""
    report = await asked(fake.base_url)
    assert (report.temp_c, report.condition) == ("21", "Sunny")
    assert [request.target for request in fake.requests] == ["/%E6%9D%B1%E4%BA%AC?format=j1"]
    assert fake.requests[0].headers["accept-encoding"] == "identity"


async def test_the_language_goes_into_the_query(fake: WttrFake) -> None:
    """And comes back in the conditions."""
    report = await asked(fake.base_url, language="ja")
    assert report.condition == "晴れ"
    assert fake.requests[0].target == "/%E6%9D%B1%E4%BA%AC?format=j1&lang=ja"


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("unknown_location", "location not found"),
        ("data_source_down", SOURCE_DOWN),
        ("panic", "API error: status 500"),
        ("quota", QUOTA),
        ("capacity", CAPACITY),
        ("default_city", DEFAULT_CITY),
        ("rate_limit", RATE_LIMIT),
        ("redirect", "API error: status 302"),
        ("not_json", "no weather data available"),
        ("empty_body", "no weather data available"),
        ("huge", "API request failed: answer too large"),
        ("closed", CLOSED),
    ],
)
async def test_every_failure_has_its_text(fake: WttrFake, failure: str, text: str) -> None:
    """The model can tell its user what is wrong."""
    fake.fail(failure)
    assert await refused(fake.base_url) == text


def recorded_cases() -> list[dict[str, Any]]:
    """The failures the service is known for."""
    cases: list[dict[str, Any]] = json.loads(recorded("wttr", "failure_modes.json").read_bytes())[
        "cases"
    ]
    return cases


def recorded_answer(case: dict[str, Any]) -> SourceAnswer:
    """A recorded failure as the fake gives it; no body at all means that nobody answers."""
    if case["status"] is None:
        return SourceAnswer(way="stalled" if case["body_text"] is None else "closed")
    body = (
        recorded("wttr", case["body_file"]).read_bytes()
        if "body_file" in case
        else case["body_text"].encode()
    )
    return SourceAnswer(case["status"], body, case["content_type"])


async def test_every_recorded_failure_has_its_text(fake: WttrFake) -> None:
    """Statuses, types and texts as they were seen; the wrapper is none. A second attempt fails like
    the first."""
    texts: dict[str, str | None] = {}
    for case in recorded_cases():
        fake.replay(recorded_answer(case))
        timeout_s = 0.3 if RECORDED_TEXTS[case["name"]] == TIMEOUT else 10
        try:
            assert (await asked(fake.base_url, timeout_s=timeout_s)).place.area == "Heideck"
            texts[case["name"]] = None
        except ToolError as error:
            texts[case["name"]] = str(error)
    assert texts == RECORDED_TEXTS


@pytest.mark.parametrize("failure", ["stalled", "dripping"])
async def test_one_budget_covers_a_silent_and_a_dripping_server(
    fake: WttrFake, failure: str
) -> None:
    """A byte now and then does not buy time."""
    fake.fail(failure)
    began = time.monotonic()
    assert await refused(fake.base_url, timeout_s=0.3) == TIMEOUT
    assert 0.29 <= time.monotonic() - began < 5


@pytest.mark.long
async def test_the_budget_covers_the_second_attempt_too(fake: WttrFake) -> None:
    """Both together get no more."""
    fake.fail("closed", times=1)
    fake.fail("dripping")
    began = time.monotonic()
    assert await refused(fake.base_url, timeout_s=0.6) == TIMEOUT
    assert time.monotonic() - began < 5
    assert len(fake.requests) == 2


@pytest.mark.parametrize("failure", ["closed", "panic", "data_source_down"])
async def test_a_passing_failure_gets_a_second_attempt(fake: WttrFake, failure: str) -> None:
    """Once."""
    fake.fail(failure, times=1)
    assert (await asked(fake.base_url)).temp_c == "21"
    fake.fail(failure)
    await refused(fake.base_url)
    assert len(fake.requests) == 4


@pytest.mark.parametrize(
    "failure",
    ["unknown_location", "quota", "capacity", "rate_limit", "redirect", "not_json", "huge"],
)
async def test_a_lasting_failure_gets_none(fake: WttrFake, failure: str) -> None:
    """Asking again would only cost quota; and a redirection is never followed."""
    fake.fail(failure)
    await refused(fake.base_url)
    assert len(fake.requests) == 1


async def test_there_is_no_second_attempt_when_half_the_budget_is_gone(fake: WttrFake) -> None:
    """It would end in a time-out and hide what is wrong."""
    fake.fail("closed")
    assert await refused(fake.base_url, timeout_s=0.3) == CLOSED
    assert len(fake.requests) == 1


async def test_nobody_listening_is_a_failed_connection() -> None:
    """The text names neither host nor port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert (
            await refused(f"http://127.0.0.1:{port}", timeout_s=2)
            == "API request failed: connection failed"
        )


@pytest.mark.long
async def test_a_connection_that_is_never_taken_times_out() -> None:
    """As from an address the service has blocked: the backlog is full, so connecting hangs."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        assert await refused(f"http://127.0.0.1:{full.getsockname()[1]}", timeout_s=0.3) == TIMEOUT
