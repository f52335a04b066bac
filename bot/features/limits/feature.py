"""Limits: a turn begins with the messages that the day's limits allow, and what it costs is
counted; /usage tells what has been used."""

from __future__ import annotations

from collections.abc import Sequence

from bot.channels import DailyUse, InboundEvent, KeptSection, Reply
from bot.errors import StoreUnavailable
from bot.features.limits.admission import Admission
from bot.features.limits.budgets import Budgets, Standing
from bot.features.limits.sentences import Sentences
from bot.features.limits.settings import Config
from bot.pipeline.feature import CommandContext, Feature, TurnRequest, TurnResult
from bot.pipeline.select import ParsedEvent
from bot.pipeline.services import Services
from bot.transcript import Spending
from toolset.stores import Uses
from toolset.tool import ToolError

UNCOUNTED = "nothing was done: the limit of today cannot be checked just now; try again in a minute"
MOST_TURNS = 500  # whose standing is known


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


class DailyLimits(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services, config: Config) -> None:
        self._budgets = Budgets(
            services.store, config, services.days, services.alerts, services.metrics
        )
        self._sentences = Sentences(services)
        self._admission = Admission(services, self._budgets, self._sentences)
        self._standing: dict[str, Standing] = {}  # by turn
        self.commands = {"usage": self._usage}
        self.tool_stores = {Uses: self._tool_uses}

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """Read what ``admit`` needs."""
        self._budgets.prefetch(turn_id, conversation, author)

    async def admit(
        self, conversation: str, turn_id: str, batch: Sequence[ParsedEvent], result: TurnResult
    ) -> Sequence[ParsedEvent]:
        """The events within the limits; refusals are added to the result."""
        admitted, standing = await self._admission.admit(conversation, turn_id, batch, result)
        if standing:
            self._standing[turn_id] = standing
            if len(self._standing) > MOST_TURNS:
                del self._standing[next(iter(self._standing))]
        return admitted

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
        if standing is None:  # admitted by an earlier attempt
            standing = await self._budgets.look_up(turn_id, request.conversation, [asker])
        return standing.tokens_left(asker)

    def after_response(self, conversation: str, spending: Spending) -> None:
        """Count the tokens."""
        self._budgets.spend(conversation, spending)

    async def may_use(self, use: DailyUse) -> bool:
        """Count a use, if it is within its limit."""
        return await self._budgets.may_use(use)

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection:
        """What the person has used today."""
        text = await self._used(conversation, event)
        return KeptSection(self._sentences.title(event), text, action="", label="", items=())

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


FEATURE = DailyLimits
