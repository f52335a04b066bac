"""Redis clients for one server or a cluster: connections, timeouts, and the translation of Redis'
errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha1
from ssl import SSLCertVerificationError
from typing import Any, cast

from redis.asyncio import ConnectionPool, Redis, RedisCluster
from redis.asyncio.connection import AbstractConnection, Connection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    MovedError,
    NoScriptError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from bot.errors import SettingsError, StoreUnavailable
from bot.store.queues import Batches, Command, Request, Slots

ANSWER_S = 2.5  # for a request: to connect, send and get the response
STORE_FAILURES = (RedisError, RedisClusterException, OSError)

CONNECT_S = 2.0
NODE_S = 1.0  # for one node of a cluster: time must remain to ask another node where the key is now

MAKE_ROOM = "raise the store's maxmemory, or lower HISTORY_DAYS"
TRUST_IT = (
    "add ?ssl_ca_certs=/path/to/ca.pem to REDIS_URL for the authority that has signed it, "
    "or ?ssl_cert_reqs=none to check no certificate"
)

CLUSTER_SCHEMES = ("redis+cluster://", "rediss+cluster://")


class Server(Redis):
    """One server, asked in batches: as many at once as its pool has connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._batches = Batches(self._send_batch, self.connection_pool.max_connections, ANSWER_S)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        (results,) = await self._batches.submit([args], options)
        return results

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self._batches.aclose()
        await super().aclose(close_connection_pool)

    async def execute_each(self, requests: Iterable[Command]) -> list[Any]:
        """The replies to commands of one key each, in one round trip."""
        commands = list(requests)
        return await self.submit(commands) if commands else []

    def execute_soon(self, request: Command) -> asyncio.Future[list[Any]]:
        """Send one command with what else is sent now; its result in a list."""
        return self.submit([request])

    def submit(self, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        """Send commands, at least one, with what else is sent now; their results."""
        return self._batches.submit(commands, {})

    def submit_later(self, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        """Send commands, at least one, with the next batch, at the latest after ``queues.LATER_S``;
        their results."""
        return self._batches.submit_later(commands)

    async def _send_batch(self, batch: list[Request]) -> None:
        pool = self.connection_pool
        # a decorator hides it
        connection = cast(Connection, await pool.get_connection())  # type: ignore[no-untyped-call]
        try:
            answered = await self._exchange(connection, batch)
        except BaseException:
            await connection.disconnect(
                nowait=True
            )  # replies still to come would be taken for those of others
            raise
        finally:
            await pool.release(connection)
        for request, replies in answered:
            _settle(request, replies)

    async def _exchange(
        self, connection: Connection, batch: list[Request]
    ) -> list[tuple[Request, list[Any]]]:
        """Send a batch and read its replies. A restarted server has lost its scripts: it gets their
        texts."""
        packed = [(request, bytes_) for request in batch if (bytes_ := _pack(request))]
        if packed:
            await connection.send_packed_command(b"".join(bytes_ for _, bytes_ in packed))
        answered = [
            (
                request,
                [
                    await self._read_reply(connection, command, request)
                    for command in request.commands
                ],
            )
            for request, _ in packed
        ]
        for request, replies in answered:
            for index, command in enumerate(request.commands):
                if isinstance(replies[index], NoScriptError):
                    await connection.send_command(*command)
                    replies[index] = await self._read_reply(connection, command, request)
        return answered

    async def _read_reply(self, connection: Connection, command: Command, request: Request) -> Any:
        try:
            return await self.parse_response(connection, command[0], **request.options)
        except ResponseError as error:
            return error

    async def info_of_each(self) -> list[dict[str, Any]]:
        """INFO of the server."""
        return [await self.info()]

    async def new_connection(self) -> AbstractConnection:
        """A connection outside the pool: the caller opens and closes it."""
        pool = self.connection_pool
        return pool.connection_class(**pool.connection_kwargs)


class Cluster(RedisCluster):
    """All primaries of a cluster.

    redis-py finds the node of a key, follows a key that moves, and looks the nodes up anew after an
    error. With all connections in use it would fail; this class queues.

    Args:
        max_connections: to each node.
    """

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._slots = Slots(max_connections, ANSWER_S)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with self._slots.slot():
            return await self._execute(*args, **kwargs)

    async def aclose(self) -> None:
        await super().aclose()  # does nothing between an error and the next request
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def execute_each(self, requests: Iterable[Command]) -> list[Any]:
        """The replies to commands of one key each, one after the other: a pipeline would not look
        for lost nodes."""
        async with self._slots.slot():
            return [await self._execute(*request) for request in requests]

    def execute_soon(self, request: Command) -> asyncio.Future[list[Any]]:
        """Send one command; its result in a list."""
        return self.submit([request])

    def submit(self, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        """Send commands; their results. Nodes share no batches."""
        return asyncio.ensure_future(self.execute_each(commands))

    submit_later = submit

    async def _execute(self, *command: Any, **options: Any) -> Any:
        try:
            return await super().execute_command(*_by_hash(command), **options)
        except NoScriptError:
            return await super().execute_command(*command, **options)

    async def info_of_each(self) -> list[dict[str, Any]]:
        """INFO of each primary."""
        _ = await self.initialize()
        return [await self.info(target_nodes=node) for node in self.get_primaries()]

    async def new_connection(self) -> AbstractConnection:
        """A connection outside the pools, to any primary: the caller opens and closes it."""
        _ = await self.initialize()
        node = self.get_random_primary_node()
        return node.connection_class(**node.connection_kwargs)


Client = Server | Cluster


@cache  # the scripts are constants
def hash_of(script: str) -> str:
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def _by_hash(command: Command) -> Command:
    """A script is sent by its hash."""
    return ("EVALSHA", hash_of(command[1]), *command[2:]) if command[0] == "EVAL" else command


def _settle(request: Request, replies: list[Any]) -> None:
    """Set the results of a request: all replies, or the first error among them."""
    if error := next((reply for reply in replies if isinstance(reply, ResponseError)), None):
        request.fail(error)
    elif not request.results.done():
        request.results.set_result(replies)


# By the exact type: what is none of these is a mistake.
ENCODE: Mapping[type, Callable[[Any], bytes]] = {
    bytes: bytes,
    str: str.encode,
    int: b"%d".__mod__,
    float: lambda number: repr(number).encode(),
}


def _pack(request: Request) -> bytes:
    """The bytes of a request; empty for one that cannot be encoded, which fails alone."""
    try:
        return b"".join([_encode(_by_hash(command)) for command in request.commands])
    except (KeyError, ValueError) as error:
        request.fail(error)
        return b""


def _encode(command: Command) -> bytes:
    """A command in Redis' protocol; redis-py takes twice as long. A command's name may be two
    words.

    https://redis.io/docs/latest/develop/reference/protocol-spec/#sending-commands-to-a-redis-server
    """
    words = [ENCODE[type(word)](word) for word in (*command[0].split(), *command[1:])]
    return b"".join(
        [b"*%d\r\n" % len(words), *[b"$%d\r\n%b\r\n" % (len(word), word) for word in words]]
    )


def connect(url: str, max_connections: int) -> Client:
    """A client that connects on first use and never repeats a request: a script whose reply was
    lost may have run.

    Args:
        max_connections: to the server, or to each node of a cluster.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        return (
            _cluster(url, max_connections)
            if url.startswith(CLUSTER_SCHEMES)
            else _server(url, max_connections)
        )
    except (
        TypeError,
        ValueError,
        RedisClusterException,
    ):  # its text may hold a part of the password
        fix = (
            "cannot be read; write redis://:password@host:port, special characters of the "
            "password percent-encoded"
        )
        raise SettingsError("REDIS_URL", fix) from None


def _server(url: str, max_connections: int) -> Server:
    pool = ConnectionPool.from_url(
        url,
        max_connections=max_connections,
        # Batches have a limit. redis-py would use wait_for, which may swallow a cancellation before
        # Python 3.12: https://github.com/python/cpython/issues/86296
        socket_timeout=None,
        socket_connect_timeout=CONNECT_S,
        **_options(),
    )
    return cast(Server, Server.from_pool(pool))


def _cluster(url: str, max_connections: int) -> Cluster:
    client = Cluster.from_url(
        url.replace("+cluster", "", 1),
        max_connections=max_connections,
        # redis-py looks for another node only after a timeout of its own, not when it is cancelled.
        socket_timeout=NODE_S,
        socket_connect_timeout=NODE_S,
        reinitialize_steps=0,  # looking all nodes up after a move would cut every request under way
        **_options(),
    )
    return cast(Cluster, client)


def _options() -> dict[str, Any]:
    return {
        "retry": Retry(NoBackoff(), 0),
        # version 3 costs one more round trip and nothing here needs it; the URL may choose it
        "protocol": 2,
        # redis-py would read its version from a file for each connection, and send it
        "driver_info": None,
    }


@asynccontextmanager
async def translate_errors(timeout_s: float | None = None) -> AsyncIterator[None]:
    """Wraps every request: Redis' failures become ``StoreUnavailable``.

    Args:
        timeout_s: for everything inside, the queue included. Without it only the client's own limit
            applies: ``ANSWER_S`` from the moment a request is sent.

    Raises:
        StoreUnavailable: Redis does not answer or refuses. The request may have been carried out or
            not.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(f"no answer within {timeout_s or ANSWER_S:g} s") from error
    except MovedError as error:
        raise StoreUnavailable(
            "this Redis is a node of a cluster: REDIS_URL has to begin redis+cluster://"
        ) from error
    except OutOfMemoryError as error:
        raise StoreUnavailable(f"{type(error).__name__}: {error}", MAKE_ROOM, "full") from error
    except STORE_FAILURES as error:
        if (refused := _refused_certificate(error)) is not None:
            raise StoreUnavailable(
                f"its certificate is not accepted: {refused.verify_message}", TRUST_IT
            ) from error
        raise StoreUnavailable(f"{type(error).__name__}: {error}") from error


def _refused_certificate(error: BaseException | None) -> SSLCertVerificationError | None:
    """What TLS has said of a certificate, among the causes of an error; redis-py chains them in
    either way."""
    while error is not None and not isinstance(error, SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
