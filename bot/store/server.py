"""A client of one server, which asks in batches.

One request alone leaves at once; what comes in while others are under way leaves with the next
batch. When hundreds come in at the same moment, a batch costs the event loop a third of what they
cost one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cache, partial
from hashlib import sha1
from typing import Any, NamedTuple, cast

import structlog
from hiredis import PushNotification, pack_command
from redis._parsers.hiredis import NOT_ENOUGH_DATA, _AsyncHiredisParser
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, Connection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ResponseError

log = structlog.stdlib.get_logger(__name__)

ANSWER_S = 2.5  # for a request: to connect, send and get the response
LATER_S = 1.0  # until what can wait for another batch leaves by itself
# commands in a batch, unless one request has more: parsing the replies blocks the event loop
MAX_BATCH = 64

Command = tuple[Any, ...]
# Commands that read together.
Read = tuple[Command, ...]


class Request(NamedTuple):
    """Commands that stay together, redis-py's options for parsing their replies, and the future of
    the results."""

    commands: Sequence[Command]
    options: dict[str, Any]
    results: asyncio.Future[list[Any]]

    def fail(self, error: BaseException) -> None:
        """Raise an error for the waiting caller, if it still waits."""
        if not self.results.done():
            self.results.set_exception(error)
            self.results.exception()  # asyncio would log one that nobody has asked for


class Batches:
    """Passes requests to ``send`` in batches.

    Args:
        send: sets the results of each request of a batch; an exception fails those that have none
            yet.
        limit: batches at once.
        answer_s: limit for a batch, not counting the time in the queue. When a batch takes longer,
            all waiting requests fail too: the store would not answer those either.
    """

    def __init__(
        self,
        send: Callable[[list[Request]], Coroutine[Any, Any, None]],
        limit: int,
        answer_s: float,
    ) -> None:
        self._send = send
        self._free = limit
        self._answer_s = answer_s
        self._waiting: deque[Request] = deque()
        self._later: deque[Request] = deque()  # until the next request or batch
        self._before: list[Callable[[], None]] = []  # before that
        self._timer: asyncio.TimerHandle | None = None  # what can wait leaves by itself
        self._waits_since = 0.0  # by the loop's clock
        self._sending: set[asyncio.Task[None]] = set()
        self._is_urgent = False  # what waits leaves as soon as a batch may
        self._is_closed = False

    def submit(self, commands: Iterable[Command], **options: Any) -> asyncio.Future[list[Any]]:
        """Send commands with what else is sent now; their results. Cancelled before it is sent, a
        request is not sent."""
        self._take_later()
        results = self._queue(self._waiting, commands, options)
        if not self._is_urgent:
            self._is_urgent = True
            # requests of the same round of the loop share a batch
            asyncio.get_running_loop().call_soon(self._start_batches)
        return results

    def submit_later(self, commands: Iterable[Command]) -> asyncio.Future[list[Any]]:
        """Send commands with the next batch, at the latest after ``LATER_S``; their results."""
        if not (self._later or self._before):
            self._start_wait()
        return self._queue(self._later, commands, {})

    def before_next(self, call: Callable[[], None]) -> None:
        """Call this before the next batch is made, at the latest after ``LATER_S``: what it submits
        for later leads that batch."""
        if not (self._later or self._before):
            self._start_wait()
        self._before.append(call)

    async def aclose(self) -> None:
        """Send what still waits, and cancel the batches under way."""
        self._is_closed = True
        self._take_later()
        if waiting := [request for request in self._waiting if not request.results.done()]:
            self._waiting.clear()
            await self._run(waiting)
        for sending in self._sending:
            sending.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _queue(
        self, queue: deque[Request], commands: Iterable[Command], options: dict[str, Any]
    ) -> asyncio.Future[list[Any]]:
        results: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        request = Request(list(commands), options, results)
        if self._is_closed:
            request.fail(ConnectionError("closed"))
        else:
            queue.append(request)
        return results

    def _start_wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._waits_since = loop.time()
        if self._timer is None:  # it costs less to let one run than to cancel it with each batch
            self._timer = loop.call_later(LATER_S, self._end_wait)

    def _end_wait(self) -> None:
        self._timer = None
        if not (self._later or self._before):
            return
        loop = asyncio.get_running_loop()
        left_s = self._waits_since + LATER_S - loop.time()
        if left_s > 0:
            self._timer = loop.call_later(left_s, self._end_wait)
        else:
            self._start_batches()

    def _take_later(self) -> None:
        self._waiting += self._later
        self._later.clear()

    def _start_batches(self) -> None:
        if not self._free:
            self._is_urgent = True
            return
        self._take_later()
        for call in self._before:
            try:
                call()
            except Exception:
                log.exception("store.call_failed")
        self._before.clear()
        self._waiting.extendleft(reversed(self._later))
        self._later.clear()
        while self._free and self._waiting:
            batch: list[Request] = []
            commands = 0
            while self._waiting and commands < MAX_BATCH:
                request = self._waiting.popleft()
                if not request.results.done():
                    batch.append(request)
                    commands += len(request.commands)
            if batch:
                self._free -= 1
                sending = asyncio.create_task(self._run(batch))
                self._sending.add(sending)
                sending.add_done_callback(partial(self._on_batch_end, batch))
        self._is_urgent = bool(self._waiting)

    def _on_batch_end(self, batch: list[Request], sending: asyncio.Task[None]) -> None:
        self._sending.discard(sending)
        if sending.cancelled():
            _fail(batch, ConnectionError("closed"))
        self._free += 1
        if self._is_urgent:
            self._start_batches()

    async def _run(self, batch: list[Request]) -> None:
        try:
            async with asyncio.timeout(self._answer_s):
                await self._send(batch)
        # whatever it is, it is raised where somebody waits
        except Exception as error:  # noqa: BLE001
            if isinstance(error, TimeoutError):
                batch += self._waiting
                self._waiting.clear()
            _fail(batch, error)


def _fail(batch: Iterable[Request], error: BaseException) -> None:
    for request in batch:
        request.fail(error)


class Server(Redis):
    """One server, asked in batches: as many at once as its pool has connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._batches = Batches(self._send_batch, self.connection_pool.max_connections, ANSWER_S)
        self.submit = self._batches.submit
        self.submit_later = self._batches.submit_later
        self.before_next = self._batches.before_next
        # Kept here, as redis-py's pool would add two fifths to what a batch costs.
        self._idle: list[Connection] = []

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        (results,) = await self.submit([args], **options)
        return results

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self._batches.aclose()
        for connection in self._idle:
            await connection.disconnect()
        await super().aclose(close_connection_pool)

    async def info_of_each(self) -> list[dict[str, Any]]:
        """INFO of the server."""
        return [await self.info()]

    async def new_connection(self) -> AbstractConnection:
        """A connection outside the pool: the caller opens and closes it."""
        pool = self.connection_pool
        return pool.connection_class(**pool.connection_kwargs | {"parser_class": BatchParser})

    async def _send_batch(self, batch: list[Request]) -> None:
        connection = await self._connection()
        try:
            answered = await self._exchange(connection, batch)
        except BaseException:
            # replies still to come would be taken for those of others
            await connection.disconnect(nowait=True)
            raise
        self._idle.append(connection)
        for request, replies in answered:
            if errors := [one for one in replies if isinstance(one, ResponseError)]:
                request.fail(errors[0])
            elif not request.results.done():
                request.results.set_result(replies)

    async def _connection(self) -> Connection:
        """One that is idle and that the server has not closed, or a new one, which connects when it
        sends."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_connected and not await connection.can_read():
                return connection
            await connection.disconnect(nowait=True)
        return cast(Connection, await self.new_connection())  # every connection is one

    async def _exchange(
        self, connection: Connection, batch: list[Request]
    ) -> list[tuple[Request, list[Any]]]:
        """Send a batch and read its replies. A request that cannot be encoded fails alone. A
        restarted server has lost its scripts: it gets their texts."""
        packed = bytearray()
        sent: list[Request] = []
        for request in batch:
            try:
                packed += b"".join([_pack(command) for command in request.commands])
            except (TypeError, ValueError) as error:
                request.fail(error)
            else:
                sent.append(request)
        if packed:
            await connection.send_packed_command(bytes(packed))
        parser: Any = connection._parser  # a BatchParser
        answered = [(one, await parser.read_replies(len(one.commands))) for one in sent]
        for request, replies in answered:
            for index, command in enumerate(request.commands):
                if isinstance(replies[index], NoScriptError):
                    await connection.send_command(*command)
                    (replies[index],) = await parser.read_replies(1)
                elif command[0] != "EVAL" and command[0] in self.response_callbacks:
                    replies[index] = self._parsed(replies[index], command[0], request.options)
        return answered

    def _parsed(self, reply: Any, name: str, options: dict[str, Any]) -> Any:
        """What redis-py makes of a reply to a command; of an error nothing."""
        if isinstance(reply, ResponseError):
            return reply
        options.pop("keys", None)  # redis-py has them for a cache
        return self.response_callbacks[name](reply, **options)


class BatchParser(_AsyncHiredisParser):
    """Reads replies one after the other as they have come in: redis-py's way to the next takes ten
    times as long, with limits that a batch has itself."""

    _reader: Any

    async def read_replies(self, count: int) -> list[Any]:
        """So many replies, errors among them.

        Raises:
            ConnectionError: the server has closed the connection, or refuses every command.
        """
        replies: list[Any] = []
        while len(replies) < count:
            reply = self._reader.gets()
            if reply is NOT_ENOUGH_DATA:
                await self.read_from_socket()  # type: ignore[no-untyped-call]
            elif isinstance(reply, RedisConnectionError):
                raise reply
            elif type(reply) is PushNotification:  # with version 3 of the protocol
                await self.handle_push_response(reply)  # type: ignore[no-untyped-call]
            else:
                replies.append(reply)
        return replies


@cache  # the scripts are constants
def hash_of(script: str) -> str:
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def by_hash(command: Command) -> Command:
    """A script is sent by its hash."""
    return ("EVALSHA", hash_of(command[1]), *command[2:]) if command[0] == "EVAL" else command


def _pack(command: Command) -> bytes:
    """A command in Redis' protocol. Its name may be two words."""
    words = by_hash(command)
    if " " in words[0]:
        words = (*words[0].split(), *words[1:])
    packed: bytes = pack_command(words)
    return packed
