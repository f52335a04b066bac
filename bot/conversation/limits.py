"""How much may be asked and spent in a day: by a user, in a conversation, and of the whole bot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog

from bot.clock import Days
from bot.conversation.alerts import Alerts
from bot.errors import StoreUnavailable
from bot.metrics import Metrics
from bot.settings import Settings
from bot.store import Claim, Counter, Spent, Store, Unit
from bot.transcript import Spending, channel_of

log = structlog.stdlib.get_logger(__name__)

LOW = 0.8  # of the bot's tokens: from here on the operator knows
OPERATORS = "console"  # page and terminal: counted, and limited by the whole bot's tokens alone
SHORT = 8  # characters of an id that are shown whole


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one day; 0 is no limit."""

    bot_tokens: int = 0
    user_tokens: int = 0
    user_messages: int = 0
    conversation_tokens: int = 0
    conversation_messages: int = 0
    user_forgets: int = 10  # each looks at every key of the store

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """As the operator has set them."""
        return cls(
            settings.daily_token_limit,
            settings.daily_user_tokens,
            settings.daily_user_messages,
            settings.daily_conversation_tokens,
            settings.daily_conversation_messages,
        )


@dataclass(frozen=True, slots=True)
class Excess:
    """Which limit is reached."""

    scope: Literal["user", "conversation", "bot"]
    unit: Unit | Literal["forgets"]


@dataclass(frozen=True, slots=True)
class Used:
    """What has been used today, beside what may be."""

    scope: Literal["user", "conversation", "bot"]
    spent: Spent
    limits: Spent


class Budgets:
    """Counts, and refuses what is too much.

    Messages are held against the limits before a turn begins. Tokens are counted as they are spent and refuse the next
    turn, never the one under way.
    """

    def __init__(self, store: Store, limits: Limits, days: Days, alerts: Alerts, metrics: Metrics) -> None:
        self._budget = store.budget
        self._limits = limits
        self._days = days
        self._alerts = alerts
        self._metrics = metrics

    @property
    def day_end(self) -> datetime:
        """When all limits begin anew."""
        return self._days.end

    async def admit(self, turn_id: str, conversation: str, counts: Mapping[str, int]) -> dict[str, Excess]:
        """Count a turn's messages, once however often this is asked for a turn.

        Args:
            counts: messages by their author's id.

        Returns:
            The authors whose messages are too much; theirs are not counted.

        Raises:
            StoreUnavailable: they may have been counted; asking again makes it right.
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
        """Count a wish to be forgotten, once however often this is asked for a turn; whether it may be granted.

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
        """Count what a model response has cost. Never raises: what cannot be counted is logged.

        It is counted as soon as it is there. A process that dies right then leaves at most one response uncounted; one
        that dies before the response is in the journal has it asked for, paid for and counted again.
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
                messages=0 if spending.is_first else spending.messages,  # a turn's first ones are counted by admit
                counts=counts,
                ranks=(_shortened(_person(conversation, asker)) if asker else "", _shortened(conversation)),
            )
        except StoreUnavailable as error:
            log.warning("budget.not_counted", tokens=tokens, cause=str(error))
        else:
            await self._warn(total)

    async def used(self, conversation: str, author: str) -> list[Used]:
        """What counts for this author here, today.

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
        """The limit that is reached."""
        return int(getattr(self._limits, f"{excess.scope}_{excess.unit}"))

    async def _warn(self, total: int) -> None:
        limit = self._limits.bot_tokens
        if limit and total >= limit * LOW:
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
    """Whether a conversation, or a person, is of the page or the terminal."""
    return channel_of(name) == OPERATORS


def _person(conversation: str, author: str) -> str:
    return f"{channel_of(conversation)}:{author}"


def _shortened(name: str) -> str:
    """Each long word as its ends: enough for an operator to know it by, no id that could be used."""
    return ":".join(word if len(word) <= SHORT else f"{word[:3]}…{word[-3:]}" for word in name.split(":"))
