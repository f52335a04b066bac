"""A source reads from one service: every failure has its text, and nothing outlasts its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import BaseModel, ValidationError

from tests.fakes.sources import SourceAnswer, SourceFake, SourceRequest
from tests.toolset.contexts import http_client
from toolset.tool import ToolError
from toolset.web.source import BaseUrl, Source, StatusError, TemporaryError


class Echo(SourceFake):
    """Answers every path with a small object."""

    def answer(self, request: SourceRequest) -> SourceAnswer:
        return SourceAnswer(body=b'{"answer": "ok"}')


@pytest.fixture
async def fake() -> AsyncIterator[Echo]:
    """The service."""
    with Echo().served() as fake:
        yield fake


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """The client that all sources share."""
    async with http_client() as http:
        yield http


async def test_an_answer_is_read_as_it_is(fake: Echo, http: httpx.AsyncClient) -> None:
    """Bytes or JSON, with the caller's parameters and headers; no compression is asked for."""
    source = Source(http, fake.base_url, 3)
    assert (
        await source.get("/a%20b", {"q": "東京 &"}, {"User-Agent": "Kaiwa"}) == b'{"answer": "ok"}'
    )
    assert await source.get_json("/") == {"answer": "ok"}
    first, second = fake.requests
    assert (first.method, first.path, first.params) == ("GET", "/a b", {"q": "東京 &"})
    assert (first.headers["user-agent"], first.headers["accept-encoding"]) == ("Kaiwa", "identity")
    assert second.headers["accept-encoding"] == "identity"


async def test_the_host_stays_whatever_the_path(fake: Echo, http: httpx.AsyncClient) -> None:
    """A path that looks like another address is still a path of this service."""
    source = Source(http, fake.base_url, 3)
    for path in ("//other.example/x", "/https://other.example", "/@other.example"):
        assert await source.get(path) == b'{"answer": "ok"}'
    assert [request.path for request in fake.requests] == [
        "//other.example/x",
        "/https://other.example",
        "/@other.example",
    ]


@pytest.mark.parametrize(
    ("failure", "text", "attempts"),
    [
        ("status 500", "API error: status 500", 2),
        ("status 502", "API error: status 502", 2),
        ("status 503", "API error: status 503", 2),
        ("status 504", "API error: status 504", 2),
        ("closed", "API request failed: connection closed", 2),
        ("cut", "API request failed: connection closed", 2),
    ],
)
async def test_what_may_pass_is_tried_twice(
    fake: Echo, http: httpx.AsyncClient, failure: str, text: str, attempts: int
) -> None:
    """Then the failure is told; no text of the service is in it."""
    fake.fail(failure)
    with pytest.raises(TemporaryError) as raised:
        await Source(http, fake.base_url, 3).get("/")
    assert (str(raised.value), len(fake.requests)) == (text, attempts)


@pytest.mark.parametrize("failure", ["status 500", "closed", "cut"])
async def test_a_second_attempt_may_succeed(
    fake: Echo, http: httpx.AsyncClient, failure: str
) -> None:
    """Nobody sees the first."""
    fake.fail(failure, times=1)
    assert await Source(http, fake.base_url, 3).get_json("/") == {"answer": "ok"}


@pytest.mark.parametrize(
    ("failure", "status"),
    [("status 429", 429), ("status 404", 404), ("status 403", 403), ("redirect", 302)],
)
async def test_a_refusal_is_final(
    fake: Echo, http: httpx.AsyncClient, failure: str, status: int
) -> None:
    """Asked once, no redirection followed; the status is there for whoever translates it."""
    fake.fail(failure)
    with pytest.raises(StatusError, match=f"^API error: status {status}$") as raised:
        await Source(http, fake.base_url, 3).get("/")
    assert raised.value.status == status
    assert [request.path for request in fake.requests] == ["/"]


async def test_nobody_listening_is_a_failed_connection(http: httpx.AsyncClient) -> None:
    """The text names neither host nor port."""
    with Echo().served() as gone:
        address = gone.base_url
    with pytest.raises(TemporaryError, match=r"^API request failed: connection failed$"):
        await Source(http, address, 3).get("/")


@pytest.mark.parametrize("failure", ["stalled", "dripping"])
async def test_the_time_limit_is_for_everything(
    fake: Echo, http: httpx.AsyncClient, failure: str
) -> None:
    """A body that arrives byte by byte ends as one that never comes."""
    fake.fail(failure)
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"^API request failed: timeout$"):
        await Source(http, fake.base_url, 0.3).get("/")
    assert time.monotonic() - started < 1


async def test_a_second_attempt_shares_the_time(fake: Echo, http: httpx.AsyncClient) -> None:
    """It does not begin the limit anew."""
    fake.fail("status 500", times=1)
    fake.fail("stalled")
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"^API request failed: timeout$"):
        await Source(http, fake.base_url, 0.5).get("/")
    assert time.monotonic() - started < 0.9
    assert len(fake.requests) == 2


async def test_after_half_the_time_there_is_no_second_attempt(
    fake: Echo, http: httpx.AsyncClient
) -> None:
    """It could not end in time."""
    fake.fail("status 500")
    with pytest.raises(TemporaryError, match=r"^API error: status 500$"):
        await Source(http, fake.base_url, 0.3).get("/")
    assert len(fake.requests) == 1


async def test_a_large_answer_is_not_read_to_its_end(fake: Echo, http: httpx.AsyncClient) -> None:
    """The cap is the caller's; it is no reason to ask again."""
    fake.fail("huge")
    with pytest.raises(ToolError, match=r"^API request failed: answer too large$"):
        await Source(http, fake.base_url, 3).get("/")
    fake.replay(SourceAnswer(body=b"12345"))
    assert await Source(http, fake.base_url, 3, cap=5).get("/") == b"12345"
    with pytest.raises(ToolError, match=r"^API request failed: answer too large$"):
        await Source(http, fake.base_url, 3, cap=4).get("/")
    assert len(fake.requests) == 3


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>", b"{", b"\xff\xfe", b"[" * 200_000, b"1" * 10_000, b"\x1f\x8b\x08\x00"),
        *(b"[NaN]", b"-Infinity", b"1e999"),
    ],
    ids=[
        *("empty", "page", "half", "no text", "deep", "long number", "compressed"),
        *("not a number", "infinite", "out of range"),
    ],
)
async def test_what_is_not_json_is_told(fake: Echo, http: httpx.AsyncClient, body: bytes) -> None:
    """Whatever it is instead; nothing is expanded."""
    fake.replay(SourceAnswer(body=body))
    with pytest.raises(ToolError, match=r"^API request failed: the answer is not JSON$"):
        await Source(http, fake.base_url, 3).get_json("/")


async def test_a_byte_order_mark_is_no_part_of_the_json(
    fake: Echo, http: httpx.AsyncClient
) -> None:
    """Some servers send one."""
    fake.replay(SourceAnswer(body=b'\xef\xbb\xbf{"answer": "\\ud83d\\ude00"}'))
    assert await Source(http, fake.base_url, 3).get_json("/") == {"answer": "😀"}


async def test_a_cancelled_caller_leaves_nothing_behind(
    fake: Echo, http: httpx.AsyncClient
) -> None:
    """The connection is given back."""
    fake.fail("stalled", times=1)
    source = Source(http, fake.base_url, 3)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await source.get("/")
    assert await source.get_json("/") == {"answer": "ok"}


class Address(BaseModel):
    """A setting."""

    url: BaseUrl


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("https://api.example", "https://api.example"),
        ("http://10.0.0.7:8080/", "http://10.0.0.7:8080"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_an_operator_may_name_any_host(written: str, used: str) -> None:
    """Private ones too."""
    assert Address(url=written).url == used


@pytest.mark.parametrize(
    "written",
    [
        "",
        "api.example",
        "ftp://api.example",
        "https://",
        "https://api.example/v1",
        "https://me@api.example",
        "https://api.example?x=1",
        "https://api.example#x",
    ],
)
def test_an_address_is_scheme_and_host_alone(written: str) -> None:
    """Anything else is refused at the start."""
    with pytest.raises(
        ValidationError, match="write it as https://host or http://host:port, without a path"
    ):
        Address(url=written)
