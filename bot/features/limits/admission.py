"""Refuses messages beyond a day's limits with one sentence of the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import structlog

from bot.channels import DailyUse, InboundEvent
from bot.clock import now_ms
from bot.commands import FORGETS, STOPS
from bot.features.limits.budgets import Budgets, Excess, Standing, is_operators
from bot.features.limits.sentences import Sentences
from bot.pipeline.feature import TurnResult
from bot.pipeline.select import CANNED, CONVERSATION_DELETED, LEFT_OUT, ParsedEvent
from bot.pipeline.services import Services
from bot.transcript import Message, Text, channel_of, new_id

log = structlog.stdlib.get_logger(__name__)

# Between two refusals of one person in a group.
REFUSAL_PAUSE_S = 3_600
DAY_S = 86_400
UNREAD = Text("[A message beyond the day's limit. Its words were not kept.]")
MOST_FORGETS = Excess("user", "forgets")


class Admission:
    """Checks events against the limits of ``Budgets`` and writes the refusals."""

    def __init__(self, services: Services, budgets: Budgets, sentences: Sentences) -> None:
        self._services = services
        self._budgets = budgets
        self._sentences = sentences

    async def admit(
        self, conversation: str, turn_id: str, batch: Sequence[ParsedEvent], result: TurnResult
    ) -> tuple[list[ParsedEvent], Standing | None]:
        """Separate what may be answered from what is refused. Asking again for the same turn counts
        nothing twice.

        Args:
            result: gets placeholders of refused messages, and the refusals.

        Returns:
            What may be answered, and what was used until then; None if no event counts.

        Raises:
            StoreUnavailable: the counts are not known.
        """
        forgets = [one.event for one in batch if one.kind == FORGETS]
        # One of each person is enough.
        last = {event.author_id: event for event in forgets}
        repeated = {one.message.id for one in forgets} - {one.message.id for one in last.values()}
        batch = _without(repeated, batch)
        counted = self._counted(conversation, batch)
        refused: list[tuple[Excess, list[InboundEvent]]] = []
        standing: Standing | None = None
        if counted:
            counts = Counter(event.author_id for event in counted)
            excesses, standing = await self._budgets.admit(turn_id, conversation, counts)
            for author, excess in excesses.items():
                refused.append((excess, [one for one in counted if one.author_id == author]))
        for author, event in last.items():
            limit = self._budgets.limit(MOST_FORGETS)
            use = DailyUse("forgets", limit, conversation, author, turn_id)
            if not await self._budgets.may_use(use):
                refused.append((MOST_FORGETS, [event]))
        ids: set[str] = set()
        for excess, events in refused:
            log.info("budget.refused", scope=excess.scope, unit=excess.unit, messages=len(events))
            ids.update(event.message.id for event in events)
            if await self._may_refuse(conversation, events[-1], turn_id):
                await self._refuse(conversation, excess, events, result)
        return _without(ids, batch), standing

    async def _refuse(
        self,
        conversation: str,
        excess: Excess,
        events: Sequence[InboundEvent],
        result: TurnResult,
    ) -> None:
        channel = self._services.channels[channel_of(conversation)]
        # Looks up the author's language and time zone.
        (newest,) = await channel.enrich(conversation, events[-1:], is_new=False)
        reply = self._sentences.refusal(excess, self._budgets.limit(excess), newest)
        answer = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
        result.messages += (*_placeholders(conversation, events), answer)
        result.say(reply, newest.address, newest.author_id if newest.scheduled else "")

    def _counted(self, conversation: str, batch: Sequence[ParsedEvent]) -> list[InboundEvent]:
        """Choose the events that count: those that get an answer, except greetings and sentences
        about a full inbox.

        What comes at its time counts as a message of its person: it may cost a push. ``/forget me``
        has a limit of its own, and a ``/stop`` that stops counted messages is free. On page and
        terminal only the model's answers count, since tokens are their only limit.
        """
        counted: list[InboundEvent] = []
        for one in batch:
            event = one.event
            ours = one.command is not None or event.event == CANNED or bool(event.scheduled)
            if event.event == CONVERSATION_DELETED:
                counted.clear()
            elif event.event == "unsent":
                counted = [one for one in counted if one.message.id != event.target]
            elif _costs_nothing(event):
                continue
            elif not (
                one.kind == FORGETS
                or (one.kind == STOPS and counted)
                or (ours and is_operators(conversation))
            ):
                counted.append(event)
        return counted

    async def _may_refuse(self, conversation: str, event: InboundEvent, turn_id: str) -> bool:
        """Whether the refusal is sent: one a day for what comes at its time; in a group, one an
        hour for each person.

        To people who have not called the bot it is sent once an hour for all of them.
        """
        who, kv = event.author_id, self._services.store.kv
        if event.scheduled:
            until = f"{self._budgets.days.end:%Y-%m-%d}"
            return await kv.claim(f"refused:{until}:{conversation}:{event.target}", turn_id, DAY_S)
        whom = conversation
        if who and not event.unmentioned:
            whom = f"{channel_of(conversation)}:{who}"
        return not event.group or await kv.claim(f"refused:{whom}", turn_id, REFUSAL_PAUSE_S)


def _without(ids: Collection[str], batch: Sequence[ParsedEvent]) -> list[ParsedEvent]:
    """The events whose ids are not among these."""
    return [one for one in batch if one.event.message.id not in ids]


def _costs_nothing(event: InboundEvent) -> bool:
    is_ours = event.target == LEFT_OUT or event.target.endswith(".greeting")
    return event.event not in ("message", CANNED) or is_ours


def _placeholders(conversation: str, refused: Sequence[InboundEvent]) -> list[Message]:
    """What the history holds of refused messages. Their ids are new, so that no later edit brings
    the text back.

    On page and terminal the ids stay: they find the answer to a message by its id, and have no
    edits.
    """
    if is_operators(conversation):
        return [Message(event.message.id, "user", (UNREAD,), event.message.at) for event in refused]
    return [Message(new_id("msg"), "user", (UNREAD,), refused[-1].message.at)]
