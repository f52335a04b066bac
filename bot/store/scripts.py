"""The Lua scripts: each changes keys of one slot, as a whole or not at all.

A script is a file of ``lua/``; ``polls.vote`` is the file ``vote.lua`` of the feature's folder.

A file declares its keys in the line ``local … = unpack(KEYS)``, its arguments in the line
``local … = unpack(ARGV)``. What Redis gets is the file's first line, the limits and lifetimes as
constants, ``shared.lua``, a feature's own ``shared.lua``, and the rest of the file. The keys of a
conversation have the names of their kinds.

A full store refuses a script without the flag ``allow-oom``, before it changes anything. Only what
brings in something from outside lacks the flag: a message, a vote, a rating. A turn under way is
finished, with the little that its tools store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from redis.exceptions import ResponseError

from bot.errors import LeaseLost, MessagesChanged
from bot.store import keys
from bot.store.clients import Client, translate_errors
from bot.store.keys import Keys
from bot.store.queues import Command

KEYS = re.compile(r"^local (.+) = unpack\(KEYS\)", re.MULTILINE)
ARGUMENTS = re.compile(r"^local (.+) = unpack\(ARGV\)", re.MULTILINE)
REFUSALS = {"LEASELOST": LeaseLost, "MESSAGESCHANGED": MessagesChanged}  # by what scripts say
NONE: Mapping[str, str] = {}


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
    """Runs scripts by name.

    Args:
        history_s: seconds a history lives after its last turn.
    """

    def __init__(self, client: Client, history_s: int) -> None:
        self.history_s = history_s
        self._client = client

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

        Raises:
            LeaseLost: the script is fenced and its token is not the lease's.
            MessagesChanged: from ``commit``.
            StoreUnavailable: see ``translate_errors``.
        """
        own = Keys(conversation)
        names = [keys.get(kind) or own.of(kind) for kind in read_script(name, self.history_s).keys]
        return await self._send(self.command(name, names, arguments), conversation)

    async def call(self, name: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Any:
        """Run a script on any keys, in the order in which it declares them.

        Raises:
            StoreUnavailable: see ``translate_errors``.
        """
        return await self._send(self.command(name, keys, arguments), "")

    async def transact(
        self, commands: Sequence[Command], conversation: str = "", token: str = ""
    ) -> None:
        """Carry out commands together, see ``transaction``.

        Raises:
            LeaseLost: nothing was done.
            StoreUnavailable: see ``translate_errors``.
        """
        await self._send(self.transaction(commands, conversation, token), conversation)

    async def transact_and_read(self, commands: Sequence[Command]) -> list[Any]:
        """The same without a lease; the reply to each command.

        Raises:
            StoreUnavailable: see ``translate_errors``.
        """
        replies: list[Any] = await self._send(self.transaction(commands, is_read=True), "")
        return replies

    async def due(self, indexes: Iterable[str], limit: int) -> list[tuple[int, str]]:
        """The members of indexes whose time (ms of the store's clock) has come, each with its time;
        the oldest first."""
        requests = [self.command("due", [index], [limit]) for index in indexes]
        async with translate_errors():
            replies = await self._client.execute_each(requests)
        found = []
        for _, members in replies:
            for member, at in zip(members[::2], members[1::2], strict=True):
                found.append((int(float(at)), member.decode()))
        return sorted(found)[:limit]

    async def now_ms(self, conversation: str) -> int:
        """Milliseconds since the epoch by the clock of the conversation's shard: each node of a
        cluster has its own."""
        now, _ = await self.run("due", conversation, [0])
        return int(now)

    async def _send(self, request: Command, conversation: str) -> Any:
        async with translate_errors():
            try:
                (reply,) = await self._client.execute_soon(request)
            except ResponseError as error:
                if (refusal := REFUSALS.get(str(error))) is not None:
                    raise refusal(conversation) from error
                raise
        return reply


@cache
def read_script(name: str, history_s: int) -> Script:
    """A script with all that it uses."""
    constants = {"DAY_MS": keys.DAY_S * 1000, "HISTORY_S": history_s}
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
