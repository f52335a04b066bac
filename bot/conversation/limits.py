"""Daily limits of messages and tokens: of a user, of a conversation, and of the whole bot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog

from bot.clock import Days
from bot.conversation.alerts import Alerts
from bot.errors import StoreUnavailable
from bot.settings import Settings
from bot.store import Claim, Counter, Spent, Store, Unit
from bot.telemetry import Metrics
from bot.transcript import Spending, channel_of

log = structlog.stdlib.get_logger(__name__)

WARN_AT = 0.8  # of the bot's tokens: the operator gets an alert
OPERATORS = "console"  # page and terminal: counted, and limited only by the bot's tokens
SHORT = 8  # characters of an id that are shown whole


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one day; 0 means no limit."""

    bot_tokens: int = 0
    user_tokens: int = 0
    user_messages: int = 0
    conversation_tokens: int = 0
    conversation_messages: int = 0
    user_forgets: int = 10  # each scans all keys of the store

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Read them from all settings."""
        return cls(
            settings.daily_token_limit,
            settings.daily_user_tokens,
            settings.daily_user_messages,
            settings.daily_conversation_tokens,
            settings.daily_conversation_messages,
        )


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that is reached."""

    scope: Literal["user", "conversation", "bot"]
    unit: Unit | Literal["forgets"]


@dataclass(frozen=True, slots=True)
class Used:
    """What was used today, and the limits."""

    scope: Literal["user", "conversation", "bot"]
    spent: Spent
    limits: Spent


class Budgets:
    """Counts messages and tokens, and says which messages exceed a limit.

    Messages are checked before a turn begins. Tokens are counted when they are spent: they may prevent the next turn,
    never end the present one.
    """

    def __init__(self, store: Store, limits: Limits, days: Days, alerts: Alerts, metrics: Metrics) -> None:
        self._budget = store.budget
        self._limits = limits
        self._days = days
        self._alerts = alerts
        self._metrics = metrics

    @property
    def day_end(self) -> datetime:
        """When all counts return to zero."""
        return self._days.end

    async def admit(self, turn_id: str, conversation: str, counts: Mapping[str, int]) -> dict[str, Excess]:
        """Count a turn's messages. A second request for the same turn counts nothing.

        Args:
            counts: number of messages by author id.

        Returns:
            The authors whose messages exceed a limit; their messages are not counted.

        Raises:
            StoreUnavailable: the messages may have been counted; a second request corrects that.
        """
        day = self._days.today
        whole = self._conversation(conversation)
        users = {author: self._user(conversation, author) for author in counts if author}
        claims = [Claim(counter, counts[author]) for author, counter in users.items()]
        verdicts = await self._budget.take(day, turn_id, [*claims, Claim(whole, sum(counts.values()))])
        *of_users, of_conversation = verdicts.refused
        limit = self._limits.bot_tokens
        if limit and verdicts.tokens >= limit:
            excess = dict.fromkeys(counts, Excess("bot", "tokens"))
        elif of_conversation:
            excess = dict.fromkeys(counts, Excess("conversation", of_conversation))
        else:
            excess = {author: Excess("user", unit) for author, unit in zip(users, of_users, strict=True) if unit}
        if excess:
            kept = {author: 0 if author in excess else count for author, count in counts.items()}
            stay = [Claim(counter, kept[author]) for author, counter in users.items()]
            await self._budget.give_back(day, turn_id, [*stay, Claim(whole, sum(kept.values()))])
        for found in excess.values():
            self._metrics.budget_refusals.labels(found.scope, found.unit).inc()
        return excess

    async def may_forget(self, turn_id: str, conversation: str, author: str) -> bool:
        """Count a ``/forget me``, once for each turn; whether it is within the limit.

        Raises:
            StoreUnavailable: it may have been counted.
        """
        person = _person(conversation, author) if author else conversation
        if is_operators(person):
            return True
        counter = Counter("user", f"{person} forgets", self._limits.user_forgets)
        verdicts = await self._budget.take(self._days.today, turn_id, [Claim(counter, 1)])
        if verdicts.refused == [None]:
            return True
        self._metrics.budget_refusals.labels("user", "forgets").inc()
        return False

    async def spend(self, conversation: str, spending: Spending) -> None:
        """Count the tokens of a model response. Never raises: without the store they are only logged.

        A process that dies before this call leaves one response uncounted. One that dies between this call and the
        journal's record asks the model again, which costs again and counts again.
        """
        usage, asker = spending.usage, spending.asker.id
        tokens = usage.input + usage.output + usage.thinking
        counts = {
            f"{kind} {spending.model}": getattr(usage, kind) for kind in ("input", "cached", "output", "thinking")
        }
        counts[f"turns {spending.model}"] = int(spending.is_first)
        counts[f"messages {spending.model}"] = spending.messages
        counters = [self._conversation(conversation), *([self._user(conversation, asker)] if asker else [])]
        try:
            total = await self._budget.spend(
                self._days.today,
                counters,
                tokens=tokens,
                messages=0 if spending.is_first else spending.messages,  # ``admit`` counts the first ones
                counts=counts,
                ranks=(_shortened(_person(conversation, asker)) if asker else "", _shortened(conversation)),
            )
        except StoreUnavailable as error:
            log.warning("budget.not_counted", tokens=tokens, cause=str(error))
        else:
            await self._warn(total)

    async def used(self, conversation: str, author: str) -> list[Used]:
        """What this author and this conversation have used today.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        whole = self._conversation(conversation)
        counters = [*([self._user(conversation, author)] if author else []), whole]
        total, spent = await self._budget.read(self._days.today, counters)
        used = [
            Used(counter.scope, stands, Spent(counter.message_limit, counter.token_limit))
            for counter, stands in zip(counters, spent, strict=True)
        ]
        if is_operators(conversation):
            used.append(Used("bot", Spent(tokens=total), Spent(tokens=self._limits.bot_tokens)))
        return used

    def limit(self, excess: Excess) -> int:
        """The number behind an excess."""
        return int(getattr(self._limits, f"{excess.scope}_{excess.unit}"))

    async def _warn(self, total: int) -> None:
        limit = self._limits.bot_tokens
        if limit and total >= limit * WARN_AT:
            spent = f"{total:,} / {limit:,}"
            await self._alerts.notice("tokens_used_up" if total >= limit else "tokens_low", spent)

    def _user(self, conversation: str, author: str) -> Counter:
        limits = self._limits
        return self._counter("user", _person(conversation, author), limits.user_messages, limits.user_tokens)

    def _conversation(self, conversation: str) -> Counter:
        limits = self._limits
        return self._counter("conversation", conversation, limits.conversation_messages, limits.conversation_tokens)

    def _counter(self, scope: Literal["user", "conversation"], name: str, messages: int, tokens: int) -> Counter:
        return Counter(scope, name) if is_operators(name) else Counter(scope, name, messages, tokens)


def is_operators(name: str) -> bool:
    """Whether a conversation or a person belongs to the page or the terminal."""
    return channel_of(name) == OPERATORS


def _person(conversation: str, author: str) -> str:
    return f"{channel_of(conversation)}:{author}"


def _shortened(name: str) -> str:
    """The ends of each long part of an id: an operator recognises it, and nobody can use it."""
    return ":".join(word if len(word) <= SHORT else f"{word[:3]}…{word[-3:]}" for word in name.split(":"))
