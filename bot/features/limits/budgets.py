"""Daily limits of messages and tokens: of a user, of a conversation, and of the whole bot.

A turn's messages are compared with what was used before, and counted with the process's next
request; tokens are counted when a response arrives. What turns under way count at the same moment
in other conversations is not seen, so a limit may be exceeded by that. The whole bot's tokens are
added up here and sent once a second.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import structlog

from bot.alerts import Alerts
from bot.channels import DailyUse, PlaceLimit, SettingsOf, as_everywhere
from bot.clock import Days
from bot.errors import StoreUnavailable
from bot.features.limits.settings import Config
from bot.features.limits.store import Counter, Counters, Scope, Spent, Totals, Unit
from bot.prices import MILLION, counted_tokens, micros_of
from bot.store import Store
from bot.store.keys import person_of
from bot.telemetry import Metrics
from bot.transcript import Spending, channel_of

log = structlog.stdlib.get_logger(__name__)

# At this share of the bot's tokens the operator gets an alert.
WARN_AT = 0.8
TOLD_AT = (75, 95, 100)  # % of what a place may spend
# Page and terminal are counted, and limited only by the bot's tokens.
OPERATORS = "console"
UNLIMITED = (0, 0)
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
    most: int = 0  # of a place; that of others is a setting


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
        if 0 < self.counter.micro_limit <= self.spent.micros:
            return "dollars"
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


# By author, what their messages count against: of the whole bot, of the conversation, and of the
# author, where their id is known.
Standing = Mapping[str, list[Balance]]


class Budgets:
    """Counts messages and tokens, and says which messages exceed a limit.

    Messages are checked before a turn begins. Tokens are counted when they are spent: they may
    prevent the next turn, never end the present one.

    Attributes:
        days: the calendar by which is counted.
    """

    def __init__(
        self,
        store: Store,
        limits: Config,
        days: Days,
        alerts: Alerts,
        metrics: Metrics,
        settings_of: SettingsOf = as_everywhere,
    ) -> None:
        self._counters = Counters(store)
        self._limits = limits
        self.days = days
        self._alerts = alerts
        self._metrics = metrics
        self._settings_of = settings_of
        self._telling: set[asyncio.Task[None]] = set()
        self._totals: defaultdict[str, Totals] = defaultdict(Totals)  # by day
        self._flushing: asyncio.Task[None] | None = None

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Read what the turn's ``admit`` needs with the process's next request."""
        counters = self._counters_of(conversation, author)
        self._counters.prefetch(self.days.today, turn_id, counters)

    async def look_up(self, key: str, conversation: str, authors: Iterable[str]) -> Standing:
        """What authors and a conversation have used.

        Args:
            key: what was counted for it is within the limits.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        day = self.days.today
        by_author = {author: self._counters_of(conversation, author) for author in authors}
        counters = dict.fromkeys(one for several in by_author.values() for one in several)
        total, spent = await self._counters.read(day, key, counters)
        if day in self._totals:
            total += self._totals[day].counts["tokens"]
        of_bot = Counter("bot", "", token_limit=self._limits.daily_token_limit)
        values = dict(zip(counters, spent, strict=True))
        standing = {}
        for author, own in by_author.items():
            standing[author] = [Balance(of_bot, Spent(tokens=total))]
            standing[author] += [Balance(counter, values[counter]) for counter in own]
        return standing

    async def admit(
        self, turn_id: str, conversation: str, counts: Mapping[str, int]
    ) -> tuple[dict[str, Excess], Standing]:
        """Count a turn's messages, those of each author all or none. A second request for the same
        turn counts nothing.

        Args:
            counts: number of messages by author id.

        Returns:
            The authors whose messages exceed a limit and are not counted; what was used before.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        standing = await self.look_up(turn_id, conversation, counts)
        refused: dict[str, Excess] = {}
        for author, balances in standing.items():
            for balance in balances:
                scope = balance.counter.scope
                messages = counts[author] if scope == "user" else sum(counts.values())
                if unit := balance.exceeded_by(messages):
                    counter = balance.counter
                    most = counter.token_limit if unit == "tokens" else counter.micro_limit
                    refused[author] = Excess(scope, unit, most if scope == "place" else 0)
                    self._metrics.budget_refusals.labels(scope, unit).inc()
                    break
        admitted = {author: counts[author] for author in counts if author not in refused}
        if admitted:
            self._count(turn_id, conversation, admitted)
        return refused, standing

    async def admit_joining(self, key: str, conversation: str, author: str, messages: int) -> int:
        """Count as many messages as may join a turn under way; their number.

        Args:
            key: is counted once.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        standing = await self.look_up(key, conversation, [author])
        number = min(balance.room(messages) for balance in standing[author])
        if number:
            self._count(key, conversation, {author: number})
        return number

    async def may_use(self, use: DailyUse) -> bool:
        """Count a person's use of something that has a limit of its own, if it is within the limit;
        whether it is.

        Raises:
            StoreUnavailable: it may have been counted.
        """
        if channel_of(use.conversation) == OPERATORS or not (use.limit or use.key):
            return True
        person = use.conversation
        if use.author:
            person = person_of(use.conversation, use.author)
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
        usage, asker, model = spending.usage, spending.asker.id, spending.model
        tokens = counted_tokens(model, usage)
        self._count("", conversation, {asker: 0}, tokens, micros_of(model, usage))
        totals = self._totals[self.days.today]
        totals.conversations[_shortened(conversation)] += tokens
        if asker:
            totals.users[_shortened(person_of(conversation, asker))] += tokens
        kinds = {kind: getattr(usage, kind) for kind in ("input", "cached", "output", "thinking")}
        kinds |= {"turns": int(spending.is_first), "messages": spending.messages}
        if spending.searches:
            kinds["searches"] = spending.searches
        for kind, number in kinds.items():
            totals.counts[f"{kind} {model} {spending.persona}".rstrip()] += number
        totals.counts["tokens"] += tokens
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_soon())

    async def flush(self) -> None:
        """Add to the whole bot's day what was spent since the last flush. Never raises."""
        limit = self._limits.daily_token_limit
        while self._totals:
            day, totals = self._totals.popitem()
            try:
                total = await self._counters.add_up(day, totals)
            except StoreUnavailable as error:
                log.warning("budget.not_counted", tokens=totals.counts["tokens"], cause=str(error))
                continue
            if limit and total >= limit * WARN_AT:
                cause = "tokens_used_up" if total >= limit else "tokens_low"
                await self._alerts.notice(cause, f"{total:,} / {limit:,}")

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
        """What this author and this conversation have used today; at the page and the terminal also
        the whole bot.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        await self.flush()
        found = (await self.look_up("", conversation, [author]))[author]
        shown = [one for one in found if one.counter.scope != "place"]
        of_bot, of_conversation, *of_user = shown
        used = [*of_user, of_conversation]
        if channel_of(conversation) == OPERATORS:
            [whole] = await self._counters.days([self.days.today])
            counts = whole.counts.items()
            searches = sum(count for kind, count in counts if kind.startswith("searches "))
            used.append(of_bot._replace(searches=searches))
        return used

    def limit(self, excess: Excess) -> int:
        """The number behind an excess."""
        if excess.scope == "bot":
            return self._limits.daily_token_limit
        if excess.unit == "forgets":
            return FORGETS_A_DAY
        if excess.scope == "place":
            return excess.most
        return int(getattr(self._limits, f"daily_{excess.scope}_{excess.unit}"))

    def _count(
        self,
        key: str,
        conversation: str,
        counts: Mapping[str, int],
        tokens: int = 0,
        micros: int = 0,
    ) -> None:
        messages: Counts[Counter] = Counts()
        for author, number in counts.items():
            for counter in self._counters_of(conversation, author):
                messages[counter] += number
        counted = self._counters.count(self.days.today, key, messages, tokens, micros)
        counted.add_done_callback(partial(_log_failure, tokens))
        limits = [*chain(*(self._settings_of(conversation, one).limits for one in counts))]
        if tokens and limits:
            names = [counter.name for counter in messages]
            counted.add_done_callback(partial(self._begin_telling, limits, names))

    def _begin_telling(
        self, limits: Sequence[PlaceLimit], names: Sequence[str], counted: asyncio.Future[list[Any]]
    ) -> None:
        """Tell the operator of limits of places that are nearly reached."""
        if counted.cancelled() or counted.exception() is not None:
            return
        used = dict(zip(names, counted.result(), strict=True))
        for limit in limits:
            tokens, micros = used[limit.key]
            spent = int((tokens if limit.unit == "tokens" else micros) or 0)
            reached = [share for share in TOLD_AT if spent * 100 >= limit.most * share]
            if not reached:
                continue
            detail = f"{limit.source}: {_amount(limit, spent)} / {_amount(limit, limit.most)}"
            # A limit that is raised is told anew.
            about = f"{limit.key}_{limit.unit}_{limit.most}"
            telling = self._alerts.notice(f"place_spent_{reached[-1]}", detail, about=about)
            task = asyncio.create_task(telling)
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _counters_of(self, conversation: str, author: str) -> list[Counter]:
        """The counters of a conversation, and of an author whose id is known."""
        limits = self._limits
        by_conversation = limits.daily_conversation_messages, limits.daily_conversation_tokens
        by_user = limits.daily_user_messages, limits.daily_user_tokens
        if channel_of(conversation) == OPERATORS:
            by_conversation = by_user = UNLIMITED
        messages, tokens = by_conversation
        counters = [Counter("conversation", conversation, messages, tokens)]
        if author:
            messages, tokens = by_user
            counters.append(Counter("user", person_of(conversation, author), messages, tokens))
        by_key: dict[str, dict[str, int]] = {}
        for limit in self._settings_of(conversation, author).limits:
            by_key.setdefault(limit.key, {})[limit.unit] = limit.most
        for key, most in by_key.items():
            counters.append(Counter("place", key, 0, most.get("tokens", 0), most.get("dollars", 0)))
        return counters


def _log_failure(tokens: int, counted: asyncio.Future[list[Any]]) -> None:
    if not counted.cancelled() and (error := counted.exception()) is not None:
        log.warning("budget.not_counted", tokens=tokens, cause=type(error).__name__)


def _amount(limit: PlaceLimit, amount: int) -> str:
    """A number of tokens or dollars."""
    return f"{amount:,} tokens" if limit.unit == "tokens" else f"{amount / MILLION:.2f} USD"


def _shortened(name: str) -> str:
    """The channel, and the ends of each long part of an id: an operator recognises it, and nobody
    can use it."""
    channel, *words = name.split(":")
    for index, word in enumerate(words):
        if len(word) > SHORT:
            words[index] = f"{word[:3]}…{word[-3:]}"
    return ":".join((channel, *words))
