"""Daily limits of messages and tokens: of a user, of a conversation, and of the whole bot.

Far below a limit, a turn costs no request of its own: what was used is read as the turn begins, and
what it uses is counted with the process's next request. The whole bot's tokens are added up here
and sent once a second.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

import structlog

from bot.clock import Days
from bot.conversation.alerts import Alerts
from bot.errors import StoreUnavailable
from bot.prices import counted_tokens
from bot.settings import Settings
from bot.store import Claim, Counter, Spent, Store, Totals, Unit
from bot.telemetry import Metrics
from bot.transcript import Spending, channel_of

log = structlog.stdlib.get_logger(__name__)

# At this share of the bot's tokens the operator gets an alert.
WARN_AT = 0.8
# Page and terminal are counted, and limited only by the bot's tokens.
OPERATORS = "console"
# Between two additions to the whole bot's day.
FLUSH_S = 1.0
# After this time every standing holds what was counted.
RECENT_S = 2.0
# Near a limit each message is counted before it is answered: within so many messages of the limit,
# and from this share of it on.
EXACT_MESSAGES = 20
EXACT_SHARE = 0.9
# An id of so many characters is shown whole.
SHORT = 8


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
    """What was used today, and the limits; of the bot also the vendors' own searches, which have
    none."""

    scope: Literal["user", "conversation", "bot"]
    spent: Spent
    limits: Spent
    searches: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What an author and a conversation had used when a turn began.

    Attributes:
        bot_tokens: of the whole bot.
        spent: of each counter.
    """

    day: str
    author: str
    bot_tokens: int
    spent: Mapping[Counter, Spent]

    def is_far_below(self, claim: Claim, more: int) -> bool:
        """Whether a few turns at once cannot reach a limit; ``more`` messages may not be counted
        yet."""
        counter, spent = claim.counter, self.spent[claim.counter]
        messages, tokens = counter.message_limit, counter.token_limit
        few = spent.messages + claim.messages + more < min(
            messages * EXACT_SHARE, messages - EXACT_MESSAGES
        )
        return (not messages or few) and (not tokens or spent.tokens < tokens * EXACT_SHARE)


@dataclass(frozen=True, slots=True)
class Joining:
    """Messages that may join a turn under way.

    Attributes:
        messages: how many there are.
        earlier: how many the turn has already.
    """

    conversation: str
    author: str
    messages: int
    earlier: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of ``Budgets.admit``.

    Attributes:
        refused: the authors whose messages exceed a limit; their messages are not counted.
        standing: of the author, if all messages have one.
    """

    refused: dict[str, Excess]
    standing: Standing | None


class Budgets:
    """Counts messages and tokens, and says which messages exceed a limit.

    Messages are checked before a turn begins. Tokens are counted when they are spent: they may
    prevent the next turn, never end the present one.
    """

    def __init__(
        self, store: Store, limits: Limits, days: Days, alerts: Alerts, metrics: Metrics
    ) -> None:
        self._budget = store.budget
        self._limits = limits
        self._days = days
        self._alerts = alerts
        self._metrics = metrics
        self._uncounted: dict[str, list[Claim]] = {}  # of admitted turns, one for each counter
        self._recent: Counts[Counter] = Counts()  # messages that a standing may not hold yet
        self._joined: Counts[str] = Counts()  # messages that ``admit_joining`` has counted, by turn
        self._totals: defaultdict[str, Totals] = defaultdict(Totals)  # by day
        self._flushing: asyncio.Task[None] | None = None

    @property
    def day_end(self) -> datetime:
        """When all counts return to zero."""
        return self._days.end

    async def look_up(self, conversation: str, author: str) -> Standing | None:
        """What an author and a conversation have used; None if the store does not answer."""
        day = self._days.today
        counters = self._counters(conversation, author)
        try:
            total, spent = await self._budget.read(day, counters)
        except StoreUnavailable:
            return None
        return Standing(day, author, total, dict(zip(counters, spent, strict=True)))

    async def admit(
        self,
        turn_id: str,
        conversation: str,
        counts: Mapping[str, int],
        standing: Standing | None = None,
    ) -> Verdict:
        """Count a turn's messages. A second request for the same turn counts nothing.

        Args:
            counts: number of messages by author id.
            standing: as the turn began; far below all limits the messages are counted later.

        Raises:
            StoreUnavailable: the messages may have been counted; a second request corrects that.
        """
        day = self._days.today
        whole = self._conversation(conversation)
        users = {author: self._user(conversation, author) for author in counts if author}
        claims = [Claim(counter, counts[author]) for author, counter in users.items()]
        claims.append(Claim(whole, sum(counts.values())))
        is_alone = standing is not None and {standing.author} == set(counts)
        if standing and is_alone and self._is_far_below_limits(day, standing, claims):
            self._count_later(turn_id, claims)
            return Verdict({}, standing)
        self._count_waiting(claims)
        verdicts = await self._budget.take(day, turn_id, claims)
        *of_users, of_conversation = verdicts.refused
        excess: dict[str, Excess] = {}
        if self._is_used_up(day, verdicts.tokens):
            excess = dict.fromkeys(counts, Excess("bot", "tokens"))
        elif of_conversation:
            excess = dict.fromkeys(counts, Excess("conversation", of_conversation))
        else:
            for author, unit in zip(users, of_users, strict=True):
                if unit:
                    excess[author] = Excess("user", unit)
        if excess:
            left = dict(counts) | dict.fromkeys(excess, 0)
            stay = [Claim(counter, left[author]) for author, counter in users.items()]
            await self._budget.give_back(day, turn_id, [*stay, Claim(whole, sum(left.values()))])
        for found in excess.values():
            self._metrics.budget_refusals.labels(found.scope, found.unit).inc()
        (author, *others) = counts
        if others:
            return Verdict(excess, None)
        counters = [claim.counter for claim in claims]
        before = dict(zip(counters, verdicts.before, strict=True))
        return Verdict(excess, Standing(day, author, verdicts.tokens, before))

    async def admit_joining(
        self, turn_id: str, event_id: str, joining: Joining, standing: Standing | None
    ) -> int:
        """The number of messages that may join a turn under way; near a limit they are counted now.

        Args:
            event_id: of the first of them.
            standing: as the turn began.

        Raises:
            StoreUnavailable: they may have been counted; a second request corrects that.
        """
        day = self._days.today
        counters = self._counters(joining.conversation, joining.author)
        claims = [Claim(counter, joining.earlier + joining.messages) for counter in counters]
        if (
            standing
            and standing.author == joining.author
            and self._is_far_below_limits(day, standing, claims)
        ):
            return joining.messages
        self._count_waiting(claims)
        total, spent = await self._budget.read(day, counters)
        number = joining.messages
        if self._is_used_up(day, total):
            number = 0
        for counter, used in zip(counters, spent, strict=True):
            if counter.message_limit:
                number = min(number, counter.message_limit - used.messages)
            if 0 < counter.token_limit <= used.tokens:
                number = 0
        if number <= 0:
            return 0
        key = f"{turn_id} {event_id}"
        claims = [Claim(counter, number) for counter in counters]
        verdicts = await self._budget.take(day, key, claims)
        if any(verdicts.refused):
            # Another turn of this person was faster.
            none = [Claim(counter, 0) for counter in counters]
            await self._budget.give_back(day, key, none)
            return 0
        self._joined[turn_id] += number
        return number

    def tokens_left(self, standing: Standing) -> int | None:
        """What is left of the day's tokens; None without a limit."""
        left = []
        for counter, spent in standing.spent.items():
            if counter.token_limit:
                left.append(counter.token_limit - spent.tokens)
        if limit := self._limits.bot_tokens:
            left.append(limit - self._bot_tokens(standing.day, standing.bot_tokens))
        return min(left, default=None)

    async def may_forget(self, turn_id: str, conversation: str, author: str) -> bool:
        """Count a ``/forget me``, once for each turn; whether it is within the limit.

        Raises:
            StoreUnavailable: it may have been counted.
        """
        return await self.may_use(
            "forgets", self._limits.user_forgets, turn_id, conversation, author
        )

    async def may_use(
        self, what: str, limit: int, key: str, conversation: str, author: str, *, amount: int = 1
    ) -> bool:
        """Count a person's use of something that has a limit of its own; whether it is within the
        limit.

        Args:
            what: a word of ours.
            key: is counted once.
            amount: counts as so many uses, all of them or none.

        Raises:
            StoreUnavailable: it may have been counted.
        """
        if is_operators(conversation):
            return True
        counter = _counter_of_uses(what, limit, conversation, author)
        verdicts = await self._budget.take(self._days.today, key, [Claim(counter, amount)])
        if verdicts.refused == [None]:
            return True
        self._metrics.budget_refusals.labels("user", what).inc()
        return False

    def end(self, turn_id: str) -> None:
        """Count the messages of an admitted turn if that has not happened yet; nothing more comes
        of it."""
        self.count(turn_id)
        self._joined.pop(turn_id, None)

    async def could_use(
        self, what: str, limit: int, conversation: str, author: str, *, amount: int = 1
    ) -> bool:
        """Whether ``may_use`` would count so many uses now.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        if is_operators(conversation) or not limit:
            return True
        counter = _counter_of_uses(what, limit, conversation, author)
        _, [used] = await self._budget.read(self._days.today, [counter])
        return used.messages + amount <= limit

    def count(self, turn_id: str) -> None:
        """Count the messages of an admitted turn if that has not happened yet."""
        if claims := self._uncounted.pop(turn_id, None):
            self._count_claims(turn_id, claims, 0)

    async def spend(self, conversation: str, spending: Spending, turn_id: str = "") -> None:
        """Count the tokens of a model response, and the messages that ``admit`` has not counted.

        Never raises: without the store tokens are only logged. A process that dies within the next
        second may leave the response uncounted. One that dies before the journal's record asks the
        model again, which costs again.
        """
        usage, asker = spending.usage, spending.asker.id
        tokens = counted_tokens(spending.model, usage)
        if claims := self._uncounted.pop(turn_id, None):
            self._count_claims(turn_id, claims, tokens)
        else:
            messages = 0
            # ``admit`` has counted the first ones.
            if spending.messages and not spending.is_first:
                messages = max(0, spending.messages - self._joined.pop(turn_id, 0))
            counters = self._counters(conversation, asker)
            self._count("", [Claim(counter, messages) for counter in counters], tokens)
        totals = self._totals[self._days.today]
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
                total = await self._budget.add_up(day, totals)
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

    def _count(self, turn_id: str, claims: list[Claim], tokens: int) -> None:
        counted = self._budget.count(self._days.today, turn_id, claims, tokens)
        counted.add_done_callback(partial(_log_failure, tokens))

    def _count_claims(self, turn_id: str, claims: list[Claim], tokens: int) -> None:
        """Count what ``_count_later`` has noted."""
        self._count(turn_id, claims, tokens)
        asyncio.get_running_loop().call_later(RECENT_S, self._forget_recent, claims)

    def _forget_recent(self, claims: list[Claim]) -> None:
        for claim in claims:
            self._recent[claim.counter] -= claim.messages
            if self._recent[claim.counter] <= 0:
                del self._recent[claim.counter]

    def _is_far_below_limits(self, day: str, standing: Standing, claims: list[Claim]) -> bool:
        if standing.day != day or self._is_used_up(day, standing.bot_tokens):
            return False
        return all(standing.is_far_below(claim, self._recent[claim.counter]) for claim in claims)

    def _count_later(self, turn_id: str, claims: list[Claim]) -> None:
        """Count the messages with the first response; if others of the author wait for that, with
        the next request."""
        is_alone = not any(self._recent[claim.counter] for claim in claims)
        for claim in claims:
            self._recent[claim.counter] += claim.messages
        if is_alone:
            self._uncounted[turn_id] = claims
        else:
            self._count_claims(turn_id, claims, 0)

    def _is_used_up(self, day: str, stored: int) -> bool:
        """Whether the whole bot has reached its limit, with what is not stored yet."""
        return 0 < self._limits.bot_tokens <= self._bot_tokens(day, stored)

    def _bot_tokens(self, day: str, stored: int) -> int:
        if day in self._totals:
            stored += self._totals[day].counts["tokens"]
        return stored

    def _count_waiting(self, claims: list[Claim]) -> None:
        """Count what turns of the same people have not counted yet."""
        counters = {claim.counter for claim in claims}
        for turn_id, waiting in list(self._uncounted.items()):
            if any(claim.counter in counters for claim in waiting):
                self.count(turn_id)

    def _counters(self, conversation: str, author: str) -> list[Counter]:
        counters = [self._conversation(conversation)]
        if author:
            counters.insert(0, self._user(conversation, author))
        return counters

    async def used(self, conversation: str, author: str) -> list[Used]:
        """What this author and this conversation have used today.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        await self.flush()
        counters = self._counters(conversation, author)
        total, spent = await self._budget.read(self._days.today, counters)
        used = []
        for counter, stands in zip(counters, spent, strict=True):
            limits = Spent(counter.message_limit, counter.token_limit)
            used.append(Used(counter.scope, stands, limits))
        if is_operators(conversation):
            [whole] = await self._budget.days([self._days.today])
            searches = 0
            for kind, count in whole.counts.items():
                if kind.startswith("searches "):
                    searches += count
            used.append(
                Used("bot", Spent(tokens=total), Spent(tokens=self._limits.bot_tokens), searches)
            )
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
        return self._counter(
            "user", _person(conversation, author), limits.user_messages, limits.user_tokens
        )

    def _conversation(self, conversation: str) -> Counter:
        limits = self._limits
        return self._counter(
            "conversation", conversation, limits.conversation_messages, limits.conversation_tokens
        )

    def _counter(
        self, scope: Literal["user", "conversation"], name: str, messages: int, tokens: int
    ) -> Counter:
        if is_operators(name):
            return Counter(scope, name)
        return Counter(scope, name, messages, tokens)


def _counter_of_uses(what: str, limit: int, conversation: str, author: str) -> Counter:
    person = _person(conversation, author) if author else conversation
    return Counter("user", f"{person} {what}", limit)


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
