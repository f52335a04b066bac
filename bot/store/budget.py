"""Counters of a day: what users, conversations and the whole bot use, counted and checked against
limits at once.

    kaiwa:{03}:spent:2026-11-21:user:9f86d081884c7d65     messages, tokens, and messages by turn
    kaiwa:{11}:totals:2026-11-21                          tokens, in total and by kind and model
    kaiwa:{11}:totals:2026-11-21:users                    a ranking by tokens

Counters live in different shards, so no script can change several at once: each is exact by itself,
and what one has counted is given back when another refuses. A day is only a name here; the caller
decides when it begins.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.store.clients import Client, translate_errors
from bot.store.keys import SPENT_S, TOTALS_S, spent_key, totals_keys
from bot.store.queues import Command
from bot.store.scripts import Scripts

RANKED = 500  # names in a ranking; beyond, the lowest are dropped
SHOWN = 100  # of them, for a report

Scope = Literal["user", "conversation"]
Unit = Literal["messages", "tokens"]


@dataclass(frozen=True, slots=True)
class Spent:
    """The value of a counter."""

    messages: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Counter:
    """One day's counter of a user or a conversation, with its limits; 0 is no limit."""

    scope: Scope
    name: str
    message_limit: int = 0
    token_limit: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """The number of a turn's messages to check against a counter."""

    counter: Counter
    messages: int


@dataclass(frozen=True, slots=True)
class TakeResult:
    """The result of ``take``.

    Attributes:
        tokens: of the whole bot on this day.
        refused: for each claim, in order, the exceeded unit; None where it was counted.
        before: for each claim the counter's value without it.
    """

    tokens: int
    refused: list[Unit | None]
    before: list[Spent]


@dataclass(frozen=True, slots=True)
class Day:
    """The whole bot's day.

    Attributes:
        counts: by ``kind model``, such as ``output gemini-3.5-flash``.
        users: tokens by name, the most first, like ``conversations``.
    """

    counts: Mapping[str, int]
    users: Mapping[str, int]
    conversations: Mapping[str, int]


@dataclass(slots=True)
class Totals:
    """What is to be added to the whole bot's day.

    Attributes:
        counts: ``tokens``, and by ``kind model``.
        users: tokens by name, like ``conversations``.
    """

    counts: Counts[str] = field(default_factory=Counts)
    users: Counts[str] = field(default_factory=Counts)
    conversations: Counts[str] = field(default_factory=Counts)


class Budget:
    """Counters of days."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def take(self, day: str, turn_id: str, claims: Sequence[Claim]) -> TakeResult:
        """Count a turn's messages in each counter whose limits allow all messages of the claim.

        The same turn is counted once, however often it asks. A turn that starts below a token limit
        may exceed it: its cost is not known before.
        """
        requests: list[Command] = [("HGET", totals_keys(day)[0], "tokens")]
        for claim in claims:
            requests.append(self._counting(day, turn_id, claim))
        totals, *verdicts = await self._ask_each(requests)
        result = TakeResult(int(totals or 0), [], [])
        for unit, messages, tokens in verdicts:
            result.refused.append(unit.decode() or None)
            result.before.append(Spent(int(messages), int(tokens)))
        return result

    async def give_back(self, day: str, turn_id: str, stay: Sequence[Claim]) -> None:
        """Reduce the messages counted for a turn to the numbers in ``stay``."""
        async with translate_errors():
            keys = [_key(day, claim.counter) for claim in stay]
            found = await self._client.execute_each(("HGET", key, turn_id) for key in keys)
        for key, counted, claim in zip(keys, found, stay, strict=True):
            if counted is None:
                continue
            now: Command = ("HSET", key, turn_id, claim.messages)
            if not claim.messages:
                now = ("HDEL", key, turn_id)
            less = ("HINCRBY", key, "messages", claim.messages - int(counted))
            await self._scripts.transact([less, now])

    def count(
        self, day: str, turn_id: str, claims: Iterable[Claim], tokens: int
    ) -> asyncio.Future[list[Any]]:
        """Count tokens and messages without checking limits, with the process's next request.

        Args:
            turn_id: its messages are counted once; empty: each time.

        Returns:
            Done when they are counted; raises one of ``STORE_FAILURES``.
        """
        requests = []
        for claim in claims:
            free = Claim(Counter(claim.counter.scope, claim.counter.name), claim.messages)
            requests.append(self._counting(day, turn_id, free, tokens))
        return self._client.execute_later(*requests)

    async def add_up(self, day: str, totals: Totals) -> int:
        """Add to the whole bot's day; returns its tokens."""
        sums, *rankings = totals_keys(day)
        commands: list[Command] = []
        for kind, count in totals.counts.items():
            commands.append(("HINCRBY", sums, kind, count))
        for ranking, names in zip(rankings, (totals.users, totals.conversations), strict=True):
            for name, tokens in names.items():
                commands.append(("ZINCRBY", ranking, tokens, name))
            commands.append(("ZREMRANGEBYRANK", ranking, 0, -RANKED - 1))
        for key in (sums, *rankings):
            commands.append(("EXPIRE", key, TOTALS_S))
        replies = await self._scripts.transact_and_read([*commands, ("HGET", sums, "tokens")])
        return int(replies[-1] or 0)

    async def read(self, day: str, counters: Sequence[Counter]) -> tuple[int, list[Spent]]:
        """The tokens of the whole bot, and the value of each counter."""
        requests: list[Command] = [("HGET", totals_keys(day)[0], "tokens")]
        for counter in counters:
            requests.append(("HMGET", _key(day, counter), "messages", "tokens"))
        total, *values = await self._ask_each(requests)
        spent = [Spent(int(messages or 0), int(tokens or 0)) for messages, tokens in values]
        return int(total or 0), spent

    async def days(self, days: Sequence[str]) -> list[Day]:
        """The use of the whole bot on each of these days."""
        requests: list[Command] = []
        for day in days:
            totals, *rankings = totals_keys(day)
            requests.append(("HGETALL", totals))
            for ranking in rankings:
                requests.append(("ZREVRANGE", ranking, 0, SHOWN - 1, "WITHSCORES"))
        answers = iter(await self._ask_each(requests))
        found = []
        for counts, users, conversations in zip(answers, answers, answers, strict=True):
            found.append(Day(_counts(counts), _ranking(users), _ranking(conversations)))
        return found

    def _counting(self, day: str, turn_id: str, claim: Claim, tokens: int = 0) -> Command:
        counter = claim.counter
        limits = [counter.message_limit, counter.token_limit]
        arguments = [turn_id, claim.messages, tokens, *limits, SPENT_S]
        return self._scripts.command("budget", [_key(day, counter)], arguments)

    async def _ask_each(self, requests: Iterable[Command]) -> list[Any]:
        async with translate_errors():
            return await self._client.execute_each(requests)


def _key(day: str, counter: Counter) -> str:
    return spent_key(day, counter.scope, counter.name)


def _counts(answer: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(number) for name, number in answer.items()}


def _ranking(answer: Sequence[Any]) -> dict[str, int]:
    """Names and scores: pairs in protocol 3, a flat list in protocol 2."""
    pairs = (
        answer
        if answer and isinstance(answer[0], list)
        else zip(answer[::2], answer[1::2], strict=True)
    )
    return {name.decode(): int(score) for name, score in pairs}
