"""An event stream stays alive in silence and ends for every reason it should end for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from starlette.types import Message

from bot.channels.console.inbound import COMMENT, STREAM_HEADERS, EventStream
from bot.errors import StoreUnavailable
from tests.waiting import until

SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": []}


class Given:
    """Resources that know whether they have been given back; giving back may fail."""

    def __init__(self, stack: AsyncExitStack, *, failing: bool = False) -> None:
        self.back = False
        self._failing = failing
        stack.push_async_callback(self._give_back)

    async def _give_back(self) -> None:
        self.back = True
        if self._failing:
            raise StoreUnavailable("away")


async def two_events() -> AsyncIterator[bytes]:
    yield b'{"n":1}'
    yield b'{"n":2}'


async def one_event_then_an_outage() -> AsyncIterator[bytes]:
    yield b'{"n":1}'
    raise StoreUnavailable("away")


async def silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def read(stream: EventStream) -> httpx.Response:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(stream), base_url="http://here"
    ) as client:
        return await client.get("/")


@pytest.mark.parametrize("failing", [False, True])
async def test_every_event_is_a_data_line(failing: bool) -> None:
    """The stream has the form EventSource reads, and no trouble at its end changes that."""
    resources = AsyncExitStack()
    given = Given(resources, failing=failing)
    response = await read(EventStream(two_events(), resources, asyncio.Event()))
    assert response.content == COMMENT + b'data: {"n":1}\n\ndata: {"n":2}\n\n'
    assert (
        response.headers.items()
        >= {name.lower(): value for name, value in STREAM_HEADERS.items()}.items()
    )
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert given.back


async def test_a_store_that_goes_away_ends_the_stream_cleanly() -> None:
    """The reader comes back by itself; a broken response would only fill the log."""
    stream = EventStream(one_event_then_an_outage(), AsyncExitStack(), asyncio.Event())
    assert (await read(stream)).content == COMMENT + b'data: {"n":1}\n\n'


async def test_silence_is_filled_with_comments() -> None:
    """Proxies cut connections on which nothing moves."""
    closing = asyncio.Event()
    sent: list[bytes] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))
        if sent.count(COMMENT) == 3:
            closing.set()

    await EventStream(silence(), AsyncExitStack(), closing, heartbeat_s=0.01)(SCOPE, receive, send)
    assert sent == [b"", COMMENT, COMMENT, COMMENT, b""]


async def test_a_server_that_closes_ends_the_stream() -> None:
    """The last byte comes at once, not with the next event."""
    closing = asyncio.Event()
    resources = AsyncExitStack()
    given = Given(resources)
    reading = asyncio.create_task(read(EventStream(silence(), resources, closing)))
    closing.set()
    assert (await asyncio.wait_for(reading, 5)).content == COMMENT
    assert given.back


async def test_a_reader_who_leaves_gives_the_resources_back() -> None:
    """A closed tab must not keep a subscription."""
    left = asyncio.Event()
    resources = AsyncExitStack()
    given = Given(resources)

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message.get("body") == COMMENT:
            left.set()

    await EventStream(silence(), resources, asyncio.Event())(SCOPE, receive, send)
    await until(lambda: given.back)
