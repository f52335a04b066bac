"""Live events between processes, lossy: one pub/sub connection per process serves all its
viewers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from redis.asyncio.connection import AbstractConnection

from bot.errors import StoreUnavailable
from bot.store.clients import STORE_FAILURES, Client, translate_errors
from bot.store.keys import Keys
from bot.store.server import ANSWER_S

PUBLISH_S = 0.5  # a turn must not wait longer for its viewers
RECONNECT_S = 0.5
BACKLOG = 1_000  # events that wait for a slow viewer; further ones are dropped for it


class _Viewer:
    """The events of one subscription."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[bytes] = asyncio.Queue(BACKLOG)

    def show(self, event: bytes) -> None:
        with suppress(asyncio.QueueFull):
            self._events.put_nowait(event)

    def __aiter__(self) -> _Viewer:
        return self

    async def __anext__(self) -> bytes:
        return await self._events.get()


@dataclass(slots=True)
class _Topic:
    viewers: set[_Viewer] = field(default_factory=set)
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)


class Live:
    """Publishes events of a conversation to its current viewers in all processes.

    Args:
        client: shared with others; while somebody watches there is one more connection.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._topics: dict[bytes, _Topic] = {}
        self._watched = asyncio.Event()
        self._connection: AbstractConnection | None = None

    async def publish(self, conversation: str, *events: bytes) -> None:
        """Publish events in this order; dropped where the store does not answer."""
        channel = Keys(conversation).live
        with suppress(StoreUnavailable):
            async with translate_errors(PUBLISH_S):
                await self._client.submit(("PUBLISH", channel, event) for event in events)

    @asynccontextmanager
    async def subscribe(self, conversation: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The events published while the context is open, except those lost in an outage.

        Raises:
            StoreUnavailable: on entering.
        """
        channel = Keys(conversation).live.encode()
        viewer = _Viewer()
        try:
            async with translate_errors(ANSWER_S):
                await self._enter(channel, viewer)
            yield viewer
        finally:
            await self._leave(channel, viewer)

    async def run(self) -> None:
        """Receive events for all viewers, and reconnect after an outage; never returns."""
        while True:
            await self._watched.wait()
            with suppress(StoreUnavailable, *STORE_FAILURES):
                await self._receive()
            await asyncio.sleep(RECONNECT_S)

    async def _enter(self, channel: bytes, viewer: _Viewer) -> None:
        topic = self._topics.setdefault(channel, _Topic())
        topic.viewers.add(viewer)
        self._watched.set()
        if len(topic.viewers) == 1:
            await self._send("SUBSCRIBE", channel)
        await topic.confirmed.wait()

    async def _leave(self, channel: bytes, viewer: _Viewer) -> None:
        viewers = self._topics[channel].viewers
        viewers.remove(viewer)
        if viewers:
            return
        del self._topics[channel]
        if not self._topics:
            self._watched.clear()
        await self._send("UNSUBSCRIBE", channel)

    async def _send(self, command: str, channel: bytes) -> None:
        """Send a command on the connection, if there is one; a new one subscribes to all topics by
        itself."""
        if self._connection is not None:
            with suppress(*STORE_FAILURES):
                await self._connection.send_command(command, channel)

    async def _receive(self) -> None:
        async with translate_errors(ANSWER_S):
            connection = await self._client.new_connection()
        try:
            async with translate_errors(ANSWER_S):
                # a decorator hides its types
                await connection.connect()  # type: ignore[no-untyped-call]
                self._connection = connection
                await connection.send_command("SUBSCRIBE", *self._topics)
            while True:
                self._take(await connection.read_response(timeout=math.inf, push_request=True))
        finally:
            self._connection = None
            for topic in self._topics.values():
                topic.confirmed.clear()
            await connection.disconnect(nowait=True)

    def _take(self, message: list[bytes]) -> None:
        kind, channel, payload = message
        topic = self._topics.get(channel)
        if topic is None:  # its last viewer has just left
            return
        if kind == b"subscribe":
            topic.confirmed.set()
        elif kind == b"message":
            for viewer in topic.viewers:
                viewer.show(payload)
