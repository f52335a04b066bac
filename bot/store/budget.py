"""What users, conversations and the whole bot use up in a day, counted and held against limits in one go.

    kaiwa:{03}:spent:2026-11-21:user:9f86d081884c7d65     messages, tokens, and what each turn has counted
    kaiwa:{11}:totals:2026-11-21                          tokens, and by kind and model what made them up
    kaiwa:{11}:totals:2026-11-21:users                    a ranking by tokens

Counters live in different shards, so that no script can hold several of them: each is right for itself, and what one
has counted is given back where another one refuses. Days are names to this module; whoever calls it decides when one
begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from bot.store.batches import Request
from bot.store.clients import Client
from bot.store.connection import translate_errors
from bot.store.keys import SPENT_S, TOTALS_S, spent_key, totals_keys

SCRIPTS = ("budget_take", "budget_give_back", "budget_spend", "budget_total")
RANKED = 500  # names in a ranking; with more, those who come in late with little are left out
SHOWN = 100  # of them a report reads

Scope = Literal["user", "conversation"]
Unit = Literal["messages", "tokens"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a counter stands at."""

    messages: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Counter:
    """One day's counter of a user or a conversation, and what it may reach; 0 is no limit."""

    scope: Scope
    name: str
    message_limit: int = 0
    token_limit: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """So many messages of a turn, to be held against a counter."""

    counter: Counter
    messages: int


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What came of claims.

    Attributes:
        tokens: of the whole bot on this day.
        refused: for each claim, in order, what would be too much; None where it was counted.
    """

    tokens: int
    refused: list[Unit | None]


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


class Budget:
    """Counters of days."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._scripts = {name: (files(__package__) / "lua" / f"{name}.lua").read_text("utf-8") for name in SCRIPTS}

    async def take(self, day: str, turn_id: str, claims: Sequence[Claim]) -> Verdicts:
        """Count a turn's messages against each counter that has room for all of a claim.

        A turn that asks again has its answer again, and is counted once. Those beneath a limit in tokens may go beyond
        it: what a turn will cost is not known before.
        """
        totals, *refused = await self._ask_each(
            [("HGET", totals_keys(day)[0], "tokens"), *(self._taking(day, turn_id, claim) for claim in claims)]
        )
        return Verdicts(int(totals or 0), [unit.decode() or None for unit in refused])

    async def give_back(self, day: str, turn_id: str, stay: Sequence[Claim]) -> None:
        """Let only so many messages stay counted for a turn as these claims say."""
        script = self._scripts["budget_give_back"]
        await self._ask_each(("EVAL", script, 1, _key(day, claim.counter), turn_id, claim.messages) for claim in stay)

    async def spend(
        self,
        day: str,
        counters: Iterable[Counter],
        *,
        tokens: int,
        messages: int,
        counts: Mapping[str, int],
        ranks: tuple[str, str],
    ) -> int:
        """Count tokens, and messages that nobody was asked about, whatever the limits are.

        Args:
            counts: for the whole bot's day, by ``kind model``.
            ranks: the names of user and conversation in the rankings; empty for none.

        Returns:
            The tokens of the whole bot on this day.
        """
        pairs = [word for pair in counts.items() for word in pair]
        totals = totals_keys(day)
        spend, total = self._scripts["budget_spend"], self._scripts["budget_total"]
        answers = await self._ask_each(
            [
                *(("EVAL", spend, 1, _key(day, counter), messages, tokens, SPENT_S) for counter in counters),
                ("EVAL", total, len(totals), *totals, TOTALS_S, RANKED, tokens, *ranks, *pairs),
            ]
        )
        return int(answers[-1])

    async def read(self, day: str, counters: Sequence[Counter]) -> tuple[int, list[Spent]]:
        """The tokens of the whole bot, and where each counter stands."""
        total, *spent = await self._ask_each(
            [
                ("HGET", totals_keys(day)[0], "tokens"),
                *(("HMGET", _key(day, counter), "messages", "tokens") for counter in counters),
            ]
        )
        return int(total or 0), [Spent(int(messages or 0), int(tokens or 0)) for messages, tokens in spent]

    async def days(self, days: Sequence[str]) -> list[Day]:
        """What the whole bot has used on each of these days."""
        requests: list[Request] = []
        for day in days:
            totals, *rankings = totals_keys(day)
            requests.append(("HGETALL", totals))
            requests += [("ZREVRANGE", ranking, 0, SHOWN - 1, "WITHSCORES") for ranking in rankings]
        answers = await self._ask_each(requests)
        return [
            Day(_counts(counts), _ranking(users), _ranking(conversations))
            for counts, users, conversations in zip(*[iter(answers)] * 3, strict=True)
        ]

    def _taking(self, day: str, turn_id: str, claim: Claim) -> Request:
        counter = claim.counter
        limits = (counter.message_limit, counter.token_limit)
        return ("EVAL", self._scripts["budget_take"], 1, _key(day, counter), turn_id, claim.messages, *limits, SPENT_S)

    async def _ask_each(self, requests: Iterable[Request]) -> list[Any]:
        async with translate_errors():
            return await self._client.ask_each(requests)


def _key(day: str, counter: Counter) -> str:
    return spent_key(day, counter.scope, counter.name)


def _counts(answer: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(number) for name, number in answer.items()}


def _ranking(answer: Sequence[Any]) -> dict[str, int]:
    """Names and scores: in pairs by the newer protocol, one after the other by the older one."""
    pairs = answer if answer and isinstance(answer[0], list) else zip(answer[::2], answer[1::2], strict=True)
    return {name.decode(): int(score) for name, score in pairs}
