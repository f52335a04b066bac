"""The day's limits: refuses messages beyond a limit with one sentence of the catalogue, and answers
/usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import structlog
from msgspec.structs import replace

from bot.channels import InboundEvent, Reply
from bot.clock import now_ms
from bot.commands import FORGETS, STOPS
from bot.pipeline.feature import Outgoing
from bot.pipeline.limits import Balance, Excess, Standing, is_operators
from bot.pipeline.select import CANNED, CONVERSATION_DELETED, LEFT_OUT, ParsedEvent
from bot.pipeline.services import Services
from bot.transcript import Message, Text, channel_of, new_id

log = structlog.stdlib.get_logger(__name__)

# Between two refusals of one person in a group.
REFUSAL_PAUSE_S = 3_600
DAY_S = 86_400
UNREAD = Text("[A message beyond the day's limit. Its words were not kept.]")
MOST_FORGETS = Excess("user", "forgets")


@dataclass(slots=True)
class Admitted:
    """The outcome of admission.

    Attributes:
        events: may be answered.
        messages: for the history: placeholders of refused messages, and the refusals.
        replies: the refusals.
        standing: what was used until then; None if no event counts.
    """

    events: list[ParsedEvent]
    standing: Standing | None = None
    messages: list[Message] = field(default_factory=list)
    replies: list[Outgoing] = field(default_factory=list)


class Admission:
    """Checks events against the limits of ``Budgets`` and writes the refusals."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._budgets = services.budgets

    async def admit(
        self,
        conversation: str,
        turn_id: str,
        batch: Sequence[ParsedEvent],
    ) -> Admitted:
        """Separate what may be answered from what is refused. Asking again for the same turn counts
        nothing twice.

        Raises:
            StoreUnavailable: the counts are not known.
        """
        forgets = [one.event for one in batch if one.kind == FORGETS]
        # One of each person is enough.
        last = {event.author_id: event.message.id for event in forgets}
        repeated = {event.message.id for event in forgets} - set(last.values())
        batch = _without(repeated, batch)
        counted = self._counted(conversation, batch)
        counts = Counter(one.author_id for one in counted)
        refused: dict[str, Excess] = {}
        standing: Standing | None = None
        if counted:
            refused, standing = await self._budgets.admit(turn_id, conversation, counts)
        beyond: list[tuple[Excess, list[InboundEvent]]] = []
        for author, found in refused.items():
            beyond.append((found, [one for one in counted if one.author_id == author]))
        for event in forgets:
            if event.message.id in repeated:
                continue
            if not await self._budgets.may_forget(turn_id, conversation, event.author_id):
                beyond.append((MOST_FORGETS, [event]))
        refused_ids: set[str] = set()
        for _, events in beyond:
            refused_ids.update(event.message.id for event in events)
        admitted = Admitted(_without(refused_ids, batch), standing)
        for found, events in beyond:
            log.info("budget.refused", scope=found.scope, unit=found.unit, messages=len(events))
            if await self._may_refuse(conversation, events[-1], turn_id):
                newest = await self._enrich(conversation, events[-1])
                reply = self._refusal(found, newest)
                answer = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
                admitted.messages += [*_placeholders(conversation, events), answer]
                asker = newest.author_id if newest.scheduled else ""
                admitted.replies.append(Outgoing(reply, newest.address, asker))
        return admitted

    async def usage(self, conversation: str, event: InboundEvent) -> Reply:
        """What has been used today, by this author and here.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        used = await self._budgets.used(conversation, event.author_id)
        language = self._services.language(event)
        lines = "\n".join(self._line(one, language) for one in used)
        return Reply(
            self._sentence("usage", language, when=self._when(event, language), lines=lines)
        )

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
            until = f"{self._budgets.day_end:%Y-%m-%d}"
            return await kv.claim(f"refused:{until}:{conversation}:{event.target}", turn_id, DAY_S)
        whom = conversation
        if who and not event.unmentioned:
            whom = f"{channel_of(conversation)}:{who}"
        return not event.group or await kv.claim(f"refused:{whom}", turn_id, REFUSAL_PAUSE_S)

    async def _enrich(self, conversation: str, event: InboundEvent) -> InboundEvent:
        """Look up the author's language and time zone."""
        channel = self._services.channels[channel_of(conversation)]
        return (await channel.enrich(conversation, [event], is_new=False))[-1]

    def _refusal(self, excess: Excess, event: InboundEvent) -> Reply:
        language = self._services.language(event)
        limit = f"{self._budgets.limit(excess):,}"
        when = self._when(event, language)
        text = self._sentence(f"{excess.scope}_{excess.unit}", language, limit=limit, when=when)
        announced = self._services.features.announce(event, text) if event.scheduled else None
        failure = f"the limit in {excess.unit} of one {excess.scope} and day is {limit}"
        return replace(announced or Reply(text), failure=failure)

    def _line(self, used: Balance, language: str) -> str:
        counter, spent = used.counter, used.spent
        tokens = self._amount("tokens", spent.tokens, counter.token_limit, language)
        messages = self._amount("messages", spent.messages, counter.message_limit, language)
        if used.searches:
            tokens = self._sentence(
                "with_searches", language, tokens=tokens, searches=f"{used.searches:,}"
            )
        amounts = tokens
        if counter.scope != "bot":
            amounts = self._sentence("both", language, messages=messages, tokens=tokens)
        return self._sentence(f"of_{counter.scope}", language, amounts=amounts)

    def _amount(self, unit: str, used: int, limit: int, language: str) -> str:
        key = f"{unit}_limited" if limit else unit
        return self._sentence(key, language, used=f"{used:,}", limit=f"{limit:,}")

    def _when(self, event: InboundEvent, language: str) -> str:
        """The end of the day in the author's time zone. The text names the zone, because it may be
        the bot's."""
        zone = self._services.time_zone(event)
        end = self._budgets.day_end.astimezone(ZoneInfo(zone))
        return self._sentence(
            "when",
            language,
            year=end.year,
            month=end.month,
            day=end.day,
            time=f"{end:%H:%M}",
            zone=zone,
        )

    def _sentence(self, key: str, language: str, **values: object) -> str:
        return self._services.texts.get(f"budget.{key}", language, **values)


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
