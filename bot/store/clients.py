"""Requests to the store: connections, single commands, transactions and Lua scripts, and what
Redis' errors mean.

A script changes keys of one slot, as a whole or not at all. It is a file of ``lua/``;
``polls.vote`` is the file ``vote.lua`` of the feature's folder. A file declares its keys in the
line ``local … = unpack(KEYS)``, its arguments in the line ``local … = unpack(ARGV)``. What Redis
gets is the file's first line, the limits and lifetimes as constants, ``shared.lua``, a feature's
own ``shared.lua``, and the rest of the file. The keys of a conversation have the names of their
kinds.

A full store refuses a script without the flag ``allow-oom``, before it changes anything. Only what
brings in something from outside lacks the flag: a message, a vote, a rating; and traces. A turn
under way is finished, with the little that its tools store.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from ssl import SSLCertVerificationError
from typing import Any, NamedTuple, cast

import bot.store.redis_alone  # noqa: F401  # this module is the first that loads redis

# isort: split
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    MovedError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from bot.clock import DAY_S
from bot.errors import LeaseLost, MessagesChanged, SettingsError, StoreUnavailable
from bot.store import keys
from bot.store.cluster import Cluster
from bot.store.keys import Keys
from bot.store.server import ANSWER_S, Command, Read, Server

STORE_FAILURES = (RedisError, RedisClusterException, OSError)
REFUSALS = {"LEASELOST": LeaseLost, "MESSAGESCHANGED": MessagesChanged}  # by what scripts say

PREFETCHED_S = 2.0
CONNECT_S = 2.0
NODE_S = 1.0  # for one node of a cluster: time must remain to ask another node where the key is now

MAKE_ROOM = "raise the store's maxmemory, or lower HISTORY_DAYS"
TRUST_IT = (
    "add ?ssl_ca_certs=/path/to/ca.pem to REDIS_URL for the authority that has signed it, "
    "or ?ssl_cert_reqs=none to check no certificate"
)

KEYS = re.compile(r"^local (.+) = unpack\(KEYS\)", re.MULTILINE)
ARGUMENTS = re.compile(r"^local (.+) = unpack\(ARGV\)", re.MULTILINE)
NONE: Mapping[str, str] = {}

Client = Server | Cluster


def connect(url: str, max_connections: int) -> Client:
    """A client that connects on first use and never repeats a request: a script whose reply was
    lost may have run.

    Args:
        max_connections: to the server, or to each node of a cluster.

    Raises:
        SettingsError: the URL cannot be read.
    """
    options: dict[str, Any] = {
        "max_connections": max_connections,
        "retry": Retry(NoBackoff(), 0),
        # version 3 costs one more round trip and nothing here needs it; the URL may choose it
        "protocol": 2,
        # redis-py would read its version from a file for each connection, and send it
        "driver_info": None,
    }
    try:
        if url.startswith(("redis+cluster://", "rediss+cluster://")):
            client = Cluster.from_url(
                url.replace("+cluster", "", 1),
                # redis-py looks for another node only after a timeout of its own, not when it is
                # cancelled.
                socket_timeout=NODE_S,
                socket_connect_timeout=NODE_S,
                # looking all nodes up after a move would cut every request under way
                reinitialize_steps=0,
                **options,
            )
            return cast(Cluster, client)
        pool = ConnectionPool.from_url(
            url,
            # Batches have a limit. redis-py would use wait_for, which may swallow a cancellation
            # before Python 3.12: https://github.com/python/cpython/issues/86296
            socket_timeout=None,
            socket_connect_timeout=CONNECT_S,
            **options,
        )
        return cast(Server, Server.from_pool(pool))
    # its text may hold a part of the password
    except (TypeError, ValueError, RedisClusterException):
        fix = (
            "cannot be read; write redis://:password@host:port, special characters of the "
            "password percent-encoded"
        )
        raise SettingsError("REDIS_URL", fix) from None


@asynccontextmanager
async def translate_errors(
    timeout_s: float | None = None, conversation: str = ""
) -> AsyncIterator[None]:
    """Wraps every request: what scripts refuse becomes an exception of ours, Redis' failures become
    ``StoreUnavailable``.

    Args:
        timeout_s: for everything inside, the queue included. Without it only the client's own limit
            applies: ``ANSWER_S`` from the moment a request is sent.
        conversation: whose lease a script may refuse; the text of ``LeaseLost``.

    Raises:
        LeaseLost: a script is fenced and its token is not the lease's.
        MessagesChanged: from ``commit``.
        StoreUnavailable: Redis does not answer or refuses. The request may have been carried out or
            not.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except STORE_FAILURES as error:
        if refusal := REFUSALS.get(str(error)):
            raise refusal(conversation) from error
        raise _unavailable(error, timeout_s) from error


def _unavailable(error: BaseException, timeout_s: float | None) -> StoreUnavailable:
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"no answer within {timeout_s or ANSWER_S:g} s")
    if isinstance(error, MovedError):
        reason = "this Redis is a node of a cluster: REDIS_URL has to begin redis+cluster://"
        return StoreUnavailable(reason)
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, OutOfMemoryError):
        return StoreUnavailable(reason, MAKE_ROOM, "full")
    # redis-py chains what TLS has said of a certificate in either way.
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        refused = f"its certificate is not accepted: {cause.verify_message}"
        return StoreUnavailable(refused, TRUST_IT)
    return StoreUnavailable(reason)


class Script(NamedTuple):
    """A script as it is sent.

    Attributes:
        keys: their names; empty where the number of keys varies.
        arguments: how many there are at least.
    """

    text: str
    keys: tuple[str, ...]
    arguments: int


class Scripts:
    """Sends commands, and scripts by name. What is awaited raises as ``translate_errors`` says.

    Args:
        history_s: seconds a history lives after its last turn.
    """

    def __init__(self, client: Client, history_s: int) -> None:
        self.client = client
        self.history_s = history_s
        self._reads: dict[Read, asyncio.Future[list[Any]]] = {}

    async def ask(self, *command: Any, conversation: str = "") -> Any:
        """The reply to one command; errors name the conversation."""
        async with translate_errors(conversation=conversation):
            (reply,) = await self.client.submit([command])
        return reply

    async def ask_each(
        self, commands: Iterable[Command], timeout_s: float | None = None
    ) -> list[Any]:
        """The replies to commands of one key each, in one round trip; of a cluster, one after the
        other."""
        async with translate_errors(timeout_s):
            return await self.client.submit(commands)

    def send_later(self, commands: Iterable[Command]) -> asyncio.Future[list[Any]]:
        """Send commands with the process's next request; done, or failed, when that is answered.
        Nobody has to wait for it."""
        return self.client.submit_later(commands)

    @staticmethod
    def is_unanswered(sent: asyncio.Future[list[Any]]) -> bool:
        """Whether a request has failed without an answer: it may have been carried out."""
        error = None if sent.cancelled() else sent.exception()
        return error is not None and not isinstance(error, ResponseError)

    def prefetch(self, read: Read) -> None:
        """Send a read with the process's next request, for one caller of ``read`` that comes within
        ``PREFETCHED_S``."""
        if read not in self._reads:
            self._reads[read] = self.send_later(read)
            asyncio.get_running_loop().call_later(PREFETCHED_S, self._reads.pop, read, None)

    async def read(self, read: Read) -> list[Any]:
        """The replies, of a read that has begun or of a new one."""
        begun = self._reads.pop(read, None)
        async with translate_errors():
            return await (self.client.submit(read) if begun is None else begun)

    def drop(self, read: Read | None = None) -> None:
        """Forget a read that has begun, as its value changes now; without one, all."""
        if read is None:
            self._reads.clear()
        else:
            self._reads.pop(read, None)

    def command(self, name: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Command:
        """A request for a script, to be sent with others.

        Raises:
            TypeError: keys or arguments are not those that the script declares.
        """
        script = read_script(name, self.history_s)
        if len(keys) != len(script.keys or keys) or len(arguments) < script.arguments:
            raise TypeError(f"{name}: {len(keys)} keys, {len(arguments)} arguments")
        return ("EVAL", script.text, len(keys), *keys, *arguments)

    def transaction(
        self,
        commands: Sequence[Command],
        conversation: str = "",
        token: str = "",
        *,
        is_read: bool = False,
    ) -> Command:
        """A request for commands that are carried out together, also in a full store.

        Args:
            commands: the second word of each is a key, and all keys share a slot.
            conversation, token: of a lease, without which nothing is done; empty: none is needed.
            is_read: whether the replies come back; reading each costs as much as writing it.
        """
        keys = [Keys(conversation).lease] if token else []
        words: list[Any] = [token, int(is_read)]
        for command in commands:
            keys.append(command[1])
            words += (len(command), *command)
        return self.command("transaction", keys, words)

    async def run(
        self,
        name: str,
        conversation: str,
        arguments: Sequence[Any],
        keys: Mapping[str, str] = NONE,
    ) -> Any:
        """Run a script on a conversation.

        Args:
            keys: those that the conversation alone does not name, by what the script calls them.
        """
        own = Keys(conversation)
        names = [keys.get(kind) or own.of(kind) for kind in read_script(name, self.history_s).keys]
        request = self.command(name, names, arguments)
        return await self.ask(*request, conversation=conversation)

    async def call(self, name: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Any:
        """Run a script on any keys, in the order in which it declares them."""
        return await self.ask(*self.command(name, keys, arguments))

    async def transact(
        self,
        commands: Sequence[Command],
        conversation: str = "",
        token: str = "",
        *,
        is_read: bool = False,
    ) -> list[Any]:
        """Carry out commands together, see ``transaction``; the reply to each, if they are read."""
        request = self.transaction(commands, conversation, token, is_read=is_read)
        replies: list[Any] = await self.ask(*request, conversation=conversation)
        return replies

    async def due(self, indexes: Iterable[str], limit: int) -> list[tuple[int, str]]:
        """The members of indexes whose time (ms of the store's clock) has come, each with its time;
        the oldest first."""
        found = []
        for _, members in await self.ask_each(
            self.command("due", [index], [limit]) for index in indexes
        ):
            for member, at in zip(members[::2], members[1::2], strict=True):
                found.append((int(float(at)), member.decode()))
        return sorted(found)[:limit]

    async def now_ms(self, conversation: str = "") -> int:
        """Milliseconds since the epoch by the store's clock; on a cluster, by that of the
        conversation's node."""
        now, _ = await self.run("due", conversation, [0])
        return int(now)


@cache
def read_script(name: str, history_s: int) -> Script:
    """A script with all that it uses."""
    constants = {"DAY_MS": DAY_S * 1000, "HISTORY_S": history_s}
    for constant, value in vars(keys).items():
        if isinstance(value, int):
            constants[constant] = value
    feature, _, file = name.rpartition(".")
    first_line, _, body = (_folder(feature) / f"{file}.lua").read_text("utf-8").partition("\n")
    lines = [f"local {constant} = {value}" for constant, value in constants.items()]
    for folder in (_folder(""), _folder(feature)) if feature else (_folder(""),):
        if (shared := folder / "shared.lua").is_file():
            lines.append(shared.read_text("utf-8"))
    text = "\n".join([first_line, *lines, body])
    arguments = _declared(ARGUMENTS, body)
    return Script(text, _declared(KEYS, body), len(arguments))


def _folder(feature: str) -> Traversable:
    """Where the scripts of a feature are; of none, those of the store."""
    return files("bot.features") / feature if feature else files(__package__) / "lua"


def _declared(declaration: re.Pattern[str], body: str) -> tuple[str, ...]:
    """The names in a declaration; none where a script has no such line."""
    found = declaration.search(body)
    return tuple(found[1].split(", ")) if found else ()
