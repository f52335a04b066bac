"""Two kinds of Redis asked in the same way: one server, or a cluster of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import AbstractConnection, Connection
from redis.exceptions import RedisError, ResponseError

from bot.store.batches import Batches, Question, Request
from bot.store.slots import Slots

ANSWER_S = 2.5  # for a request: connecting, being sent, being answered


class Server(Redis):
    """One server, asked in batches: as many at once as its pool has connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._batches = Batches(self._answer, self.connection_pool.max_connections, ANSWER_S)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        (answer,) = await self._batches.ask([args], options)
        return answer

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self._batches.aclose()
        await super().aclose(close_connection_pool)

    async def ask_each(self, requests: Iterable[Request]) -> list[Any]:
        """The answers to requests of one key each, in one round trip."""
        asked = list(requests)
        return await self._batches.ask(asked, {}) if asked else []

    async def _answer(self, batch: list[Question]) -> None:
        pool = self.connection_pool
        connection = cast(Connection, await pool.get_connection())  # type: ignore[no-untyped-call]  # a decorator hides it
        try:
            asked = [(question, packed) for question in batch if (packed := _packed(connection, question))]
            if asked:
                await connection.send_packed_command(b"".join(packed for _, packed in asked))
            for question, _ in asked:
                await self._read(connection, question)
        except BaseException:
            await connection.disconnect(nowait=True)  # with answers on their way it is of no use to others
            raise
        finally:
            await pool.release(connection)

    async def _read(self, connection: Connection, question: Question) -> None:
        """All answers to a question, or the first refusal among them."""
        answers: list[Any] = []
        refusal: ResponseError | None = None
        for words in question.requests:
            try:
                answers.append(await self.parse_response(connection, words[0], **question.options))
            except ResponseError as error:
                refusal = refusal or error
        if refusal:
            question.fail(refusal)
        elif not question.answer.done():
            question.answer.set_result(answers)

    async def every_info(self) -> list[dict[str, Any]]:
        """What each server says of itself."""
        return [await self.info()]

    async def own_connection(self) -> AbstractConnection:
        """A connection outside the pool: the caller opens and closes it."""
        pool = self.connection_pool
        return pool.connection_class(**pool.connection_kwargs)


class Cluster(RedisCluster):
    """All primaries of a cluster.

    redis-py finds the node that has a key, follows it when it moves, and asks for the nodes anew after an error. Where
    all connections are in use it would fail; this queues.

    Args:
        max_connections: to each node.
    """

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._slots = Slots(max_connections, ANSWER_S)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with self._slots.slot():
            return await super().execute_command(*args, **kwargs)

    async def aclose(self) -> None:
        await super().aclose()  # does nothing between an error and the next request
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def ask_each(self, requests: Iterable[Request]) -> list[Any]:
        """The answers to requests of one key each, one after the other: a pipeline would not look for lost nodes."""
        ask = super().execute_command
        async with self._slots.slot():
            return [await ask(*request) for request in requests]

    async def every_info(self) -> list[dict[str, Any]]:
        """What each primary says of itself."""
        _ = await self.initialize()
        return [await self.info(target_nodes=node) for node in self.get_primaries()]

    async def own_connection(self) -> AbstractConnection:
        """A connection outside the pools, to any primary: the caller opens and closes it."""
        _ = await self.initialize()
        node = self.get_random_primary_node()
        return node.connection_class(**node.connection_kwargs)


Client = Server | Cluster


def _packed(connection: AbstractConnection, question: Question) -> bytes:
    """A question as it is sent; what cannot be sent fails alone, and is nothing."""
    try:
        return b"".join(piece for words in question.requests for piece in connection.pack_command(*words))
    except (RedisError, ValueError) as error:
        question.fail(error)
        return b""
