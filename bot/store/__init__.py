"""The store: the only package that talks to Redis. It deals in bytes and ids; callers encode.

    keys            names and lifetimes of keys, frames of entries
    server          one server, asked in batches
    cluster         or several
    clients, lua/   commands and atomic scripts, errors
    boxes           messages that wait for a turn, deliveries that must leave
    leases          fencing tokens, the due index, the clock which all processes share
    journal         the turn under way; committed turns and their summary
    dead_letters    what was given up
    schedule        values of a feature that are due at a time
    files           of tool calls, for a day
    kv              small values, and the index of what belongs to a person or a place
    live            pub/sub for viewers
    memory          how full the store is
    embedded        the bundled Valkey
    redis_alone     the client, loaded without what it does not need
    private         the permissions of its folder

What belongs to one feature alone is stored by that feature (``bot.features``), with the client,
the scripts and the index of belongings.

A script changes one conversation, as a whole or not at all. Only the holder of a conversation's
lease may change its journal, history and outbox; a full store takes the oldest turns of a history
at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from bot.clock import DAY_S
from bot.settings.types import CONNECTIONS
from bot.store.boxes import RELEASED, Accepted, Bound, Inbox, Outbox
from bot.store.clients import Client, Scripts, connect, translate_errors
from bot.store.dead_letters import DeadLetter, DeadLetters
from bot.store.files import FILES_BYTES, FileOwner, Files, StoredFile
from bot.store.journal import (
    ALWAYS,
    Condition,
    History,
    Journal,
    JournalledTurn,
    Opened,
    ReopenedTurn,
    ShownQuestion,
    StoredHistory,
)
from bot.store.keys import (
    ARRIVAL,
    ASIDE,
    CHANGE,
    CONTROL,
    DUE_INDEXES,
    FORMAT,
    FORMAT_KEY,
    SCHEDULED_S,
    InboxEntry,
    holds,
)
from bot.store.kv import OWN, SHARED, Belongings, Erase, KeyValue, PersonalData, ToolPins, entry_of
from bot.store.leases import Lease, Leases, StoreClock
from bot.store.live import Live
from bot.store.memory import MemoryUse, StoreMemory
from bot.store.schedule import DueValue, Next, Schedule
from bot.store.server import ANSWER_S
from bot.tasks import run_beside

__all__ = [
    "ALWAYS",
    "ANSWER_S",
    "ARRIVAL",
    "ASIDE",
    "CHANGE",
    "CONTROL",
    "FORMAT",
    "OWN",
    "RELEASED",
    "SCHEDULED_S",
    "SHARED",
    "Accepted",
    "Bound",
    "Condition",
    "DeadLetter",
    "DeadLetters",
    "Depths",
    "DueValue",
    "Erase",
    "FileOwner",
    "Files",
    "InboxEntry",
    "JournalledTurn",
    "Lease",
    "MemoryUse",
    "Next",
    "Opened",
    "ReopenedTurn",
    "Schedule",
    "ServerFacts",
    "ShownQuestion",
    "Store",
    "StoredFile",
    "StoredHistory",
    "ToolPins",
    "entry_of",
    "holds",
    "open_store",
    "translate_errors",
]


SAFE_POLICY = "noeviction"


@dataclass(frozen=True, slots=True)
class Depths:
    """How much work the store holds.

    Attributes:
        due: conversations in the due index, now or later.
        dead_letters: deliveries and turns that were given up.
    """

    due: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's version and settings, for the operator.

    Attributes:
        server: name and version.
        redis_version: the major version of Redis that it is compatible with.
        memory_policy: its ``maxmemory-policy``.
        append_only: whether it keeps an append-only file.
    """

    server: str
    redis_version: int
    memory_policy: str
    append_only: bool


class Store:
    """Everything kept for conversations. Every method but ``live.publish`` may raise
    ``StoreUnavailable``.

    Args:
        priority: a client with connections of its own for incoming messages, lease renewals and
            health checks, which must not wait behind turns.

    Attributes:
        scripts: for what a feature stores.
        priority_scripts, priority_belongings: for what it stores before a webhook's 200.
        clock: this process's estimate of the store's clock.
        priority_kv: ``kv`` over those connections, for look-ups before a webhook's 200.
    """

    def __init__(
        self, client: Client, priority: Client, live: Live, history_s: int, files_bytes: int
    ) -> None:
        self.scripts = scripts = Scripts(client, history_s)
        self.priority_scripts = urgent = Scripts(priority, history_s)
        self.now_ms = scripts.now_ms
        self.clock = StoreClock(scripts.now_ms)
        self.inbox = Inbox(scripts, urgent)
        self.belongings = Belongings(scripts)
        self.priority_belongings = Belongings(urgent)
        self.leases = Leases(scripts, urgent)
        self.journal = Journal(scripts)
        self.history = History(scripts)
        self.outbox = Outbox(scripts)
        self.dead_letters = DeadLetters(scripts)
        self.kv = KeyValue(scripts)
        self.priority_kv = KeyValue(urgent)
        self.tool_pins = ToolPins(scripts)
        self.files = Files(scripts, files_bytes)
        self.personal_data = PersonalData(scripts)
        self.live = live
        self.memory = StoreMemory(client)
        self._was_away = False

    async def ping(self, timeout_s: float = 1.0) -> None:
        """Check that every shard answers.

        Raises:
            StoreUnavailable: no answer within ``timeout_s``.
        """
        was_away, self._was_away = self._was_away, True
        looks = [("EXISTS", index) for index in DUE_INDEXES]
        async with translate_errors(timeout_s):
            await self.priority_scripts.client.submit(looks)
            if was_away:  # the turns' connections have to reconnect too
                await self.scripts.client.submit(looks)
        self._was_away = False

    async def note_format(self) -> int:
        """The number of the format in which the store is kept; ``FORMAT`` is noted where there is
        none."""
        commands = [("SET", FORMAT_KEY, FORMAT, "NX"), ("GET", FORMAT_KEY)]
        _, found = await self.scripts.transact(commands, is_read=True)
        return int(found)

    async def depths(self) -> Depths:
        """Count due conversations and dead letters."""
        due = await self.scripts.ask_each(("ZCARD", index) for index in DUE_INDEXES)
        return Depths(sum(due), await self.dead_letters.count())

    async def oldest_due_s(self) -> float:
        """Seconds since the time of the conversation that is due longest; 0 if none is."""
        oldest = await self.scripts.due(DUE_INDEXES, 1)
        return max(0, self.clock() - oldest[0][0]) / 1000 if oldest else 0.0

    async def facts(self) -> ServerFacts:
        """Facts of the server; of a cluster, the worst of all nodes."""
        async with translate_errors():
            servers = [_facts(info) for info in await self.scripts.client.info_of_each()]
        worst = min(servers, key=lambda facts: facts.redis_version)
        policies = {facts.memory_policy for facts in servers}
        return replace(
            worst,
            server=worst.server + (f", a cluster of {len(servers)}" if len(servers) > 1 else ""),
            memory_policy=min(policies - {SAFE_POLICY}, default=SAFE_POLICY),
            append_only=all(facts.append_only for facts in servers),
        )


def _facts(info: Mapping[str, Any]) -> ServerFacts:
    redis_version = str(info["redis_version"])
    valkey_version = info.get("valkey_version")
    return ServerFacts(
        server=f"Valkey {valkey_version}" if valkey_version else f"Redis {redis_version}",
        redis_version=int(redis_version.partition(".")[0]),
        memory_policy=str(info["maxmemory_policy"]),
        append_only=bool(info["aof_enabled"]),
    )


@asynccontextmanager
async def open_store(
    url: str,
    *,
    history_days: int,
    max_connections: int = CONNECTIONS,
    files_bytes: int = FILES_BYTES,
) -> AsyncIterator[Store]:
    """Open the store of a URL: ``redis://``, ``rediss://``, ``unix://``, for a cluster
    ``redis+cluster://`` or
    ``rediss+cluster://``. It connects on first use.

    Args:
        max_connections: to the server, or to each node; at least 3: one for live events while
            somebody watches, the others for turns and ``priority``.
        files_bytes: of all files of tool calls together.

    Raises:
        SettingsError: the URL cannot be read.
    """
    priority_share = (max_connections - 1) // 2
    client = connect(url, max_connections - 1 - priority_share)
    priority = connect(url, priority_share)
    live = Live(client)
    try:
        async with run_beside(live.run()):
            yield Store(client, priority, live, history_days * DAY_S, files_bytes)
    finally:
        await client.aclose()
        await priority.aclose()
