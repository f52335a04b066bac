"""Limits: a turn begins with the messages that the day's limits allow, and what it costs is
counted; what is beyond them is refused with one sentence. /usage tells what has been used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import structlog

from bot.channels import DailyUse, InboundEvent, KeptSection, Reply
from bot.clock import DAY_S, now_ms
from bot.commands import FORGETS, STOPS
from bot.errors import StoreUnavailable
from bot.features.limits.budgets import OPERATORS, Budgets, Excess, Standing
from bot.features.limits.sentences import Sentences
from bot.features.limits.settings import Config
from bot.pipeline.feature import (
    CommandContext,
    Feature,
    Limits,
    ParsedEvent,
    TurnRequest,
    TurnResult,
)
from bot.pipeline.select import CANNED, CONVERSATION_DELETED, LEFT_OUT
from bot.pipeline.services import Services
from bot.store.keys import person_of
from bot.transcript import Message, Spending, Text, channel_of, new_id
from toolset.stores import Uses
from toolset.tool import ToolError

log = structlog.stdlib.get_logger(__name__)

UNCOUNTED = "nothing was done: the limit of today cannot be checked just now; try again in a minute"
UNREAD = Text("[A message beyond the day's limit. Its words were not kept.]")
MOST_TURNS = 500  # whose standing is known
MOST_FORGETS = Excess("user", "forgets")
# Between two refusals of one person in a group.
REFUSAL_PAUSE_S = 3_600


class ToolUses(Uses):
    """The uses of the person who asked, counted by day beside their messages."""

    def __init__(self, budgets: Budgets, request: TurnRequest) -> None:
        self._budgets = budgets
        self._request = request

    async def take(self, tool: str, limit: int, idempotency_key: str) -> bool:
        """Count a use; False if the limit is reached."""
        asker = self._request.author.id
        use = DailyUse(tool, limit, self._request.conversation, asker, idempotency_key)
        try:
            return await self._budgets.may_use(use)
        except StoreUnavailable as error:
            raise ToolError(UNCOUNTED) from error


class DailyLimits(Feature, Limits):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services, config: Config) -> None:
        self._services = services
        self._budgets = Budgets(
            services.store,
            config,
            services.days,
            services.alerts,
            services.metrics,
            services.settings_of,
        )
        self._sentences = Sentences(services)
        self._standing: dict[str, Standing] = {}  # by turn
        self.commands = {"usage": self._usage}
        self.tool_stores = {Uses: self._tool_uses}

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Read what ``admit`` needs."""
        self._budgets.prefetch(turn_id, conversation, author)

    async def admit(
        self, conversation: str, turn_id: str, batch: Sequence[ParsedEvent], result: TurnResult
    ) -> Sequence[ParsedEvent]:
        """The events within the limits. The result gets placeholders of the others, and why they
        are refused."""
        forgets = {one.event.author_id: one.event for one in batch if one.kind == FORGETS}
        if forgets:  # one of each person is enough
            last = {event.message.id for event in forgets.values()}
            batch = [one for one in batch if one.kind != FORGETS or one.event.message.id in last]
        refused: list[tuple[Excess, list[InboundEvent]]] = []
        if counted := _counted(conversation, batch):
            counts = Counter(event.author_id for event in counted)
            excesses, standing = await self._budgets.admit(turn_id, conversation, counts)
            for author, excess in excesses.items():
                refused.append((excess, [one for one in counted if one.author_id == author]))
            self._standing[turn_id] = standing
            if len(self._standing) > MOST_TURNS:
                del self._standing[next(iter(self._standing))]
        for author, event in forgets.items():
            limit = self._budgets.limit(MOST_FORGETS)
            use = DailyUse("forgets", limit, conversation, author, turn_id)
            if not await self._budgets.may_use(use):
                refused.append((MOST_FORGETS, [event]))
        ids = set[str]()
        for excess, events in refused:
            log.info("budget.refused", scope=excess.scope, unit=excess.unit, messages=len(events))
            ids.update(event.message.id for event in events)
            if await self._may_refuse(conversation, events[-1], turn_id):
                await self._refuse(conversation, excess, events, result)
        return [one for one in batch if one.event.message.id not in ids]

    async def admit_joining(
        self, conversation: str, turn_id: str, messages: Sequence[InboundEvent]
    ) -> int:
        """Count as many messages as the limits allow; their number."""
        first = messages[0]
        key = f"{turn_id} {first.message.id}"
        return await self._budgets.admit_joining(key, conversation, first.author_id, len(messages))

    async def tokens_left(self, turn_id: str, request: TurnRequest) -> int | None:
        """What the day has left for the asker."""
        standing, asker = self._standing.pop(turn_id, None), request.author.id
        if standing is None or asker not in standing:  # admitted by an earlier attempt
            standing = await self._budgets.look_up(turn_id, request.conversation, [asker])
        left = []
        for counter, spent, _ in standing[asker]:
            if counter.token_limit:
                left.append(counter.token_limit - spent.tokens)
        return min(left, default=None)

    def spend(self, conversation: str, spending: Spending) -> None:
        """Count the tokens."""
        self._budgets.spend(conversation, spending)

    async def may_use(self, use: DailyUse) -> bool:
        """Count a use, if it is within its limit."""
        return await self._budgets.may_use(use)

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection:
        """What the person has used today."""
        text = await self._used(conversation, event)
        return KeptSection(self._sentences.title(event), text)

    async def aclose(self) -> None:
        """Count what was spent within the last second."""
        await self._budgets.aclose()

    async def _usage(self, context: CommandContext) -> Reply:
        return Reply(await self._used(context.lease.conversation, context.event))

    async def _used(self, conversation: str, event: InboundEvent) -> str:
        used = await self._budgets.used(conversation, event.author_id)
        return self._sentences.usage(used, event)

    def _tool_uses(self, request: TurnRequest) -> ToolUses:
        return ToolUses(self._budgets, request)

    async def _may_refuse(self, conversation: str, event: InboundEvent, turn_id: str) -> bool:
        """Whether the refusal is sent: one a day for what comes at its time; in a group, one an
        hour for each person.

        To people who have not called the bot it is sent once an hour for all of them.
        """
        kv = self._services.store.kv
        if event.scheduled:
            until = f"{self._budgets.days.end:%Y-%m-%d}"
            return await kv.claim(f"refused:{until}:{conversation}:{event.target}", turn_id, DAY_S)
        whom = conversation
        if event.author_id and not event.unmentioned:
            whom = person_of(conversation, event.author_id)
        return not event.group or await kv.claim(f"refused:{whom}", turn_id, REFUSAL_PAUSE_S)

    async def _refuse(
        self,
        conversation: str,
        excess: Excess,
        events: Sequence[InboundEvent],
        result: TurnResult,
    ) -> None:
        (newest,) = await self._services.known(conversation, events[-1:])
        reply = self._sentences.refusal(excess, self._budgets.limit(excess), newest)
        answer = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
        result.messages += (*_placeholders(conversation, events), answer)
        result.say(reply, newest.address, newest.author_id if newest.scheduled else "")


def _counted(conversation: str, batch: Sequence[ParsedEvent]) -> list[InboundEvent]:
    """Choose the events that count: those that get an answer, except greetings and sentences about
    a full inbox.

    What comes at its time counts as a message of its person: it may cost a push. ``/forget me`` has
    a limit of its own, and a ``/stop`` that stops counted messages is free. On page and terminal
    only the model's answers count, since tokens are their only limit.
    """
    counted: list[InboundEvent] = []
    for one in batch:
        event, target = one.event, one.event.target
        is_ours = one.command is not None or event.event == CANNED or event.scheduled
        is_free = (
            event.event not in ("message", CANNED)
            or target == LEFT_OUT
            or target.endswith(".greeting")
            or one.kind == FORGETS
            or (one.kind == STOPS and counted)
            or (is_ours and channel_of(conversation) == OPERATORS)
        )
        if event.event == CONVERSATION_DELETED:
            counted.clear()
        elif event.event == "unsent":
            counted = [one for one in counted if one.message.id != target]
        elif not is_free:
            counted.append(event)
    return counted


def _placeholders(conversation: str, refused: Sequence[InboundEvent]) -> list[Message]:
    """What the history holds of refused messages. Their ids are new, so that no later edit brings
    the text back.

    On page and terminal the ids stay: they find the answer to a message by its id, and have no
    edits.
    """
    if channel_of(conversation) == OPERATORS:
        return [Message(event.message.id, "user", (UNREAD,), event.message.at) for event in refused]
    return [Message(new_id("msg"), "user", (UNREAD,), refused[-1].message.at)]


FEATURE = DailyLimits
