"""Counters of a day: what users, conversations and the whole bot use.

    kaiwa:{03}:note:spent:2026-11-21:9f86d081884c7d65     messages, tokens, and messages by turn
    kaiwa:{11}:totals:2026-11-21                          tokens, in total and by kind and model
    kaiwa:{11}:totals:2026-11-21:users                    a ranking by tokens

The first holds only a digest of the name, because it stays after ``/forget me``. Counters live in
different shards, so no script can change several at once: each is exact by itself. A day is only a
name here; the caller decides when it begins.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import kv_key, shared_key
from bot.store.server import Command, Read

SPENT_S = 2 * DAY_S  # counters; by then the day has ended in every time zone
TOTALS_S = 35 * DAY_S  # the whole bot's day, for the operator; longer than a month
KIND = "totals"  # of the whole bot's keys, and of its rankings
USERS, CONVERSATIONS = ":users", ":conversations"
RANKED = 500  # names in a ranking; beyond, the lowest are dropped
SHOWN = 100  # of them, for a report

Scope = Literal["user", "conversation", "place", "bot"]
Unit = Literal["messages", "tokens", "dollars"]


@dataclass(frozen=True, slots=True)
class Spent:
    """The value of a counter.

    Attributes:
        is_counted: the messages of whoever asks are among them.
        micros: millionths of a dollar.
    """

    messages: int = 0
    tokens: int = 0
    is_counted: bool = False
    micros: int = 0


@dataclass(frozen=True, slots=True)
class Counter:
    """One day's counter, with its limits; 0 is no limit.

    Attributes:
        micro_limit: in millionths of a dollar.
    """

    scope: Scope
    name: str
    message_limit: int = 0
    token_limit: int = 0
    micro_limit: int = 0


@dataclass(slots=True)
class Totals:
    """The whole bot's day, or what is to be added to it.

    Attributes:
        counts: ``tokens``, and by ``kind model``, such as ``output gemini-3.5-flash``, with the
            persona behind it.
        users: tokens by name, the most first, like ``conversations``.
    """

    counts: Counts[str] = field(default_factory=Counts)
    users: Counts[str] = field(default_factory=Counts)
    conversations: Counts[str] = field(default_factory=Counts)


class Counters:
    """Counters of days.

    Every method that waits raises ``StoreUnavailable`` if the store does not answer.
    """

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts

    async def take(self, day: str, key: str, counter: Counter, uses: int) -> bool:
        """Count uses if the counter's limit of messages allows all of them; whether it does.

        Args:
            key: is counted once, however often it asks.
        """
        arguments = [key, uses, 0, counter.message_limit, SPENT_S, 0]
        return bool(await self._scripts.call("limits.count", [_key(day, counter)], arguments))

    def count(
        self, day: str, key: str, messages: Mapping[Counter, int], tokens: int = 0, micros: int = 0
    ) -> asyncio.Future[list[Any]]:
        """Count messages, and the same tokens and millionths of a dollar in each counter, without
        checking limits, with the process's next request.

        Args:
            key: its messages are counted once; empty: each time.

        Returns:
            Done when they are counted, with tokens and millionths of each counter; raises one of
            ``bot.store.clients.STORE_FAILURES``.
        """
        requests = []
        for counter, number in messages.items():
            arguments = [key, number, tokens, 0, SPENT_S, micros]
            requests.append(self._scripts.command("limits.count", [_key(day, counter)], arguments))
        return self._scripts.send_later(requests)

    async def add_up(self, day: str, totals: Totals) -> int:
        """Add to the whole bot's day; returns its tokens."""
        sums = shared_key(KIND, day)
        commands: list[Command] = []
        for kind, count in totals.counts.items():
            commands.append(("HINCRBY", sums, kind, count))
        commands.append(("EXPIRE", sums, TOTALS_S))
        for of, names in ((USERS, totals.users), (CONVERSATIONS, totals.conversations)):
            for name, tokens in names.items():
                commands.append(("ZINCRBY", sums + of, tokens, name))
            commands.append(("ZREMRANGEBYRANK", sums + of, 0, -RANKED - 1))
            commands.append(("EXPIRE", sums + of, TOTALS_S))
        reading = ("HGET", sums, "tokens")
        replies = await self._scripts.transact([*commands, reading], is_read=True)
        return int(replies[-1] or 0)

    def prefetch(self, day: str, key: str, counters: Iterable[Counter]) -> None:
        """Read with the process's next request; a ``read`` within ``PREFETCHED_S`` takes it."""
        self._scripts.prefetch(_read(day, key, counters))

    async def read(
        self, day: str, key: str, counters: Iterable[Counter]
    ) -> tuple[int, list[Spent]]:
        """The tokens of the whole bot, and the value of each counter, for ``key``."""
        total, *values = await self._scripts.read(_read(day, key, counters))
        spent = []
        for messages, tokens, own, micros in values:
            is_counted = own is not None
            spent.append(Spent(int(messages or 0), int(tokens or 0), is_counted, int(micros or 0)))
        return int(total or 0), spent

    async def days(self, days: Sequence[str]) -> list[Totals]:
        """The use of the whole bot on each of these days."""
        requests: list[Command] = []
        for day in days:
            sums = shared_key(KIND, day)
            requests.append(("HGETALL", sums))
            for of in (USERS, CONVERSATIONS):
                requests.append(("ZREVRANGE", sums + of, 0, SHOWN - 1, "WITHSCORES"))
        answers = iter(await self._scripts.ask_each(requests))
        found = []
        for counts, users, conversations in zip(answers, answers, answers, strict=True):
            found.append(Totals(_counts(counts.items()), _ranking(users), _ranking(conversations)))
        return found


def _read(day: str, key: str, counters: Iterable[Counter]) -> Read:
    commands: list[Command] = [("HGET", shared_key(KIND, day), "tokens")]
    for counter in counters:
        commands.append(("HMGET", _key(day, counter), "messages", "tokens", key, "micros"))
    return tuple(commands)


def _key(day: str, counter: Counter) -> str:
    return kv_key(f"spent:{day}:{counter.scope}:{counter.name}")


def _ranking(answer: Sequence[Any]) -> Counts[str]:
    """Names and scores: pairs in protocol 3, a flat list in protocol 2."""
    if answer and isinstance(answer[0], list):
        return _counts(answer)
    return _counts(zip(answer[::2], answer[1::2], strict=True))


def _counts(pairs: Iterable[tuple[bytes, Any]]) -> Counts[str]:
    return Counts({name.decode(): int(number) for name, number in pairs})
