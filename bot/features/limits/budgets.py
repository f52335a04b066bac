"""Daily limits of messages and tokens: of a user, of a conversation, and of the whole bot.

A turn's messages are compared with what was used before, and counted with the process's next
request; tokens are counted when a response arrives. What turns under way count at the same moment
in other conversations is not seen, so a limit may be exceeded by that. The whole bot's tokens are
added up here and sent once a second.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import structlog

from bot.channels import DailyUse
from bot.clock import Days
from bot.errors import StoreUnavailable
from bot.features.limits.settings import Config
from bot.features.limits.store import Counter, Counters, Scope, Spent, Totals, Unit
from bot.pipeline.services import Alerts
from bot.prices import counted_tokens
from bot.store import Store
from bot.telemetry import Metrics
from bot.transcript import Spending, channel_of

log = structlog.stdlib.get_logger(__name__)

# At this share of the bot's tokens the operator gets an alert.
WARN_AT = 0.8
# Page and terminal are counted, and limited only by the bot's tokens.
OPERATORS = "console"
# Between two additions to the whole bot's day.
FLUSH_S = 1.0
FORGETS_A_DAY = 10  # of a person and day: each looks through many conversations
# An id of so many characters is shown whole.
SHORT = 8


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that is reached."""

    scope: Scope
    unit: Unit | Literal["forgets"]


class Balance(NamedTuple):
    """A counter, and what it held when somebody looked.

    Attributes:
        searches: the vendors' own, of the whole bot; they have no limit.
    """

    counter: Counter
    spent: Spent
    searches: int = 0

    def exceeded_by(self, messages: int) -> Unit | None:
        """The limit that so many more messages exceed; none if they are counted already."""
        if self.spent.is_counted:
            return None
        if 0 < self.counter.token_limit <= self.spent.tokens:
            return "tokens"
        if 0 < self.counter.message_limit < self.spent.messages + messages:
            return "messages"
        return None

    def room(self, messages: int) -> int:
        """How many of so many more messages are within the limits."""
        if self.exceeded_by(messages) is None:
            return messages
        if self.exceeded_by(1) is None:
            return self.counter.message_limit - self.spent.messages
        return 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What was used when a turn asked.

    Attributes:
        shared: of the whole bot, and of the conversation.
        users: by author id; those without an id have none.
    """

    shared: Sequence[Balance]
    users: Mapping[str, Balance]

    def of(self, author: str) -> list[Balance]:
        """What an author's messages count against."""
        balances = [*self.shared]
        if author in self.users:
            balances.append(self.users[author])
        return balances

    def tokens_left(self, author: str) -> int | None:
        """What is left of the day's tokens for an author; None without a limit."""
        left = []
        for counter, spent, _ in self.of(author):
            if counter.token_limit:
                left.append(counter.token_limit - spent.tokens)
        return min(left, default=None)

    def excess(self, author: str, counts: Mapping[str, int]) -> Excess | None:
        """The limit that refuses an author's messages, among those of all authors."""
        for balance in self.of(author):
            scope = balance.counter.scope
            messages = counts[author] if scope == "user" else sum(counts.values())
            if unit := balance.exceeded_by(messages):
                return Excess(scope, unit)
        return None


class Verdict(NamedTuple):
    """The outcome of ``Budgets.admit``.

    Attributes:
        refused: the authors whose messages exceed a limit; their messages are not counted.
    """

    refused: dict[str, Excess]
    standing: Standing


class Budgets:
    """Counts messages and tokens, and says which messages exceed a limit.

    Messages are checked before a turn begins. Tokens are counted when they are spent: they may
    prevent the next turn, never end the present one.

    Attributes:
        days: the calendar by which is counted.
    """

    def __init__(
        self, store: Store, limits: Config, days: Days, alerts: Alerts, metrics: Metrics
    ) -> None:
        self._counters = Counters(store)
        self._limits = limits
        self.days = days
        self._alerts = alerts
        self._metrics = metrics
        self._totals: defaultdict[str, Totals] = defaultdict(Totals)  # by day
        self._flushing: asyncio.Task[None] | None = None

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Read what the turn's ``admit`` needs with the process's next request."""
        counters = [self._user(conversation, author), self._conversation(conversation)]
        self._counters.prefetch(self.days.today, turn_id, counters)

    async def look_up(self, key: str, conversation: str, authors: Iterable[str]) -> Standing:
        """What authors and a conversation have used.

        Args:
            key: what was counted for it is within the limits.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        day = self.days.today
        users = {author: self._user(conversation, author) for author in authors if author}
        counters = [*users.values(), self._conversation(conversation)]
        total, spent = await self._counters.read(day, key, counters)
        if day in self._totals:
            total += self._totals[day].counts["tokens"]
        of_bot = Balance(
            Counter("bot", "", token_limit=self._limits.daily_token_limit), Spent(tokens=total)
        )
        *of_users, of_conversation = map(Balance, counters, spent)
        return Standing([of_bot, of_conversation], dict(zip(users, of_users, strict=True)))

    async def admit(self, turn_id: str, conversation: str, counts: Mapping[str, int]) -> Verdict:
        """Count a turn's messages, those of each author all or none. A second request for the same
        turn counts nothing.

        Args:
            counts: number of messages by author id.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        standing = await self.look_up(turn_id, conversation, counts)
        refused: dict[str, Excess] = {}
        admitted: dict[str, int] = {}
        for author, messages in counts.items():
            excess = standing.excess(author, counts)
            if excess is None:
                admitted[author] = messages
            else:
                refused[author] = excess
                self._metrics.budget_refusals.labels(excess.scope, excess.unit).inc()
        if admitted:
            self._count(turn_id, conversation, admitted)
        return Verdict(refused, standing)

    async def admit_joining(self, key: str, conversation: str, author: str, messages: int) -> int:
        """Count as many messages as may join a turn under way; their number.

        Args:
            key: is counted once.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        standing = await self.look_up(key, conversation, [author])
        number = min(balance.room(messages) for balance in standing.of(author))
        if number:
            self._count(key, conversation, {author: number})
        return number

    async def may_use(self, use: DailyUse) -> bool:
        """Count a person's use of something that has a limit of its own, if it is within the limit;
        whether it is.

        Raises:
            StoreUnavailable: it may have been counted.
        """
        if is_operators(use.conversation) or not (use.limit or use.key):
            return True
        person = use.conversation
        if use.author:
            person = _person(use.conversation, use.author)
        counter, day = Counter("user", f"{person} {use.what}", use.limit), self.days.today
        if not use.key:
            _, [used] = await self._counters.read(day, "", [counter])
            return used.messages + use.amount <= use.limit
        if await self._counters.take(day, use.key, counter, use.amount):
            return True
        self._metrics.budget_refusals.labels("user", use.what).inc()
        return False

    def spend(self, conversation: str, spending: Spending) -> None:
        """Count the tokens of a model response with the process's next request, which records it.

        Never raises: without the store tokens are only logged. A process that dies within the next
        second may leave the response uncounted. One that dies before the journal's record asks the
        model again, which costs again.
        """
        usage, asker = spending.usage, spending.asker.id
        tokens = counted_tokens(spending.model, usage)
        self._count("", conversation, {asker: 0}, tokens)
        totals = self._totals[self.days.today]
        totals.conversations[_shortened(conversation)] += tokens
        if asker:
            totals.users[_shortened(_person(conversation, asker))] += tokens
        for kind in ("input", "cached", "output", "thinking"):
            totals.counts[f"{kind} {spending.model}"] += getattr(usage, kind)
        totals.counts[f"turns {spending.model}"] += spending.is_first
        totals.counts[f"messages {spending.model}"] += spending.messages
        if spending.searches:
            totals.counts[f"searches {spending.model}"] += spending.searches
        totals.counts["tokens"] += tokens
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_soon())

    async def flush(self) -> None:
        """Add to the whole bot's day what was spent since the last flush. Never raises."""
        while self._totals:
            day, totals = self._totals.popitem()
            try:
                total = await self._counters.add_up(day, totals)
            except StoreUnavailable as error:
                log.warning("budget.not_counted", tokens=totals.counts["tokens"], cause=str(error))
            else:
                await self._warn(total)

    async def aclose(self) -> None:
        """Flush for the last time."""
        if self._flushing is not None:
            self._flushing.cancel()
        await self.flush()

    async def _flush_soon(self) -> None:
        while self._totals:
            await asyncio.sleep(FLUSH_S)
            await self.flush()

    async def used(self, conversation: str, author: str) -> list[Balance]:
        """What this author and this conversation have used today.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        await self.flush()
        standing = await self.look_up("", conversation, [author])
        of_bot, of_conversation = standing.shared
        used = [*standing.users.values(), of_conversation]
        if is_operators(conversation):
            [whole] = await self._counters.days([self.days.today])
            searches = 0
            for kind, count in whole.counts.items():
                if kind.startswith("searches "):
                    searches += count
            used.append(of_bot._replace(searches=searches))
        return used

    def _count(
        self, key: str, conversation: str, counts: Mapping[str, int], tokens: int = 0
    ) -> None:
        messages = {self._conversation(conversation): sum(counts.values())}
        for author, number in counts.items():
            if author:
                messages[self._user(conversation, author)] = number
        counted = self._counters.count(self.days.today, key, messages, tokens)
        counted.add_done_callback(partial(_log_failure, tokens))

    def limit(self, excess: Excess) -> int:
        """The number behind an excess."""
        if excess.scope == "bot":
            return self._limits.daily_token_limit
        if excess.unit == "forgets":
            return FORGETS_A_DAY
        return int(getattr(self._limits, f"daily_{excess.scope}_{excess.unit}"))

    async def _warn(self, total: int) -> None:
        limit = self._limits.daily_token_limit
        if limit and total >= limit * WARN_AT:
            spent = f"{total:,} / {limit:,}"
            await self._alerts.notice("tokens_used_up" if total >= limit else "tokens_low", spent)

    def _user(self, conversation: str, author: str) -> Counter:
        person, limits = _person(conversation, author), self._limits
        if is_operators(person):
            return Counter("user", person)
        return Counter("user", person, limits.daily_user_messages, limits.daily_user_tokens)

    def _conversation(self, conversation: str) -> Counter:
        limits = self._limits
        if is_operators(conversation):
            return Counter("conversation", conversation)
        return Counter(
            "conversation",
            conversation,
            limits.daily_conversation_messages,
            limits.daily_conversation_tokens,
        )


def _log_failure(tokens: int, counted: asyncio.Future[list[Any]]) -> None:
    if not counted.cancelled() and (error := counted.exception()) is not None:
        log.warning("budget.not_counted", tokens=tokens, cause=type(error).__name__)


def is_operators(name: str) -> bool:
    """Whether a conversation or a person belongs to the page or the terminal."""
    return channel_of(name) == OPERATORS


def _person(conversation: str, author: str) -> str:
    return f"{channel_of(conversation)}:{author}"


def _shortened(name: str) -> str:
    """The ends of each long part of an id: an operator recognises it, and nobody can use it."""
    words = name.split(":")
    for index, word in enumerate(words):
        if len(word) > SHORT:
            words[index] = f"{word[:3]}…{word[-3:]}"
    return ":".join(words)
