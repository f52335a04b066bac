"""Who is answered today: what goes beyond a day's limit gets one kind sentence instead of a turn; and /usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import structlog

from bot.agent.turn import NOBODY, now_ms
from bot.channels import InboundEvent, Reply
from bot.conversation.limits import Excess, Used, is_operators
from bot.conversation.services import Services
from bot.conversation.triage import command_of
from bot.texts import language_of, preferred_language
from bot.transcript import Message, Text, channel_of, new_id

log = structlog.stdlib.get_logger(__name__)

PAUSE_S = 3_600  # between two refusals of one person where others read along
UNREAD = Text("[A message beyond the day's limit. Its words were not kept.]")
FORGETS = Excess("user", "forgets")


@dataclass(slots=True)
class Admitted:
    """What may be answered, and what is said to the others.

    Attributes:
        messages: that some were refused, without their words, and the refusals, for the history.
        replies: with their addresses.
    """

    arrivals: list[InboundEvent]
    messages: list[Message] = field(default_factory=list)
    replies: list[tuple[Reply, str]] = field(default_factory=list)


class Admission:
    """Lets arrivals in, or says until when it cannot."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._budgets = services.budgets

    async def admit(self, conversation: str, turn_id: str, arrivals: Sequence[InboundEvent]) -> Admitted:
        """Part what may be answered from what may not; the same turn may ask again.

        Raises:
            StoreUnavailable: it is not known.
        """
        wishes = [one for one in arrivals if command_of(one, self._services.commands) == "forget"]
        last = {one.author_id: one.message.id for one in wishes}  # which stands for all of a person's wishes
        repeated = {one.message.id for one in wishes} - set(last.values())
        arrivals = [one for one in arrivals if one.message.id not in repeated]
        counted = self._counted(conversation, arrivals)
        counts = Counter(one.author_id for one in counted)
        excess = await self._budgets.admit(turn_id, conversation, counts) if counted else {}
        beyond = [(found, [one for one in counted if one.author_id == author]) for author, found in excess.items()]
        for wish in (one for one in wishes if one.message.id not in repeated):
            if not await self._budgets.may_forget(turn_id, conversation, wish.author_id):
                beyond.append((FORGETS, [wish]))
        gone = {arrival.message.id for _, refused in beyond for arrival in refused}
        admitted = Admitted([arrival for arrival in arrivals if arrival.message.id not in gone])
        for found, refused in beyond:
            log.info("budget.refused", scope=found.scope, unit=found.unit, messages=len(refused))
            if await self._may_speak(conversation, refused[-1]):
                newest = await self._introduced(conversation, refused[-1])
                reply = self._refusal(found, newest)
                said = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
                admitted.messages += [*_unread(conversation, refused), said]
                admitted.replies.append((reply, newest.address))
        return admitted

    async def usage(self, conversation: str, arrival: InboundEvent) -> Reply:
        """What has been used today, by this author and here.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        used = await self._budgets.used(conversation, arrival.author_id)
        arrival = await self._introduced(conversation, arrival)
        language = self._language_of(arrival)
        lines = "\n".join(self._line(one, language) for one in used)
        return Reply(self._sentence("usage", language, when=self._when(arrival, language), lines=lines))

    def _counted(self, conversation: str, arrivals: Sequence[InboundEvent]) -> list[InboundEvent]:
        """Whatever is answered counts; not what comes from us, is taken back, stops something or forgets somebody.

        Tokens alone limit page and terminal, and only a model's answers cost any.
        """
        counted: list[InboundEvent] = []
        for arrival in arrivals:
            command = command_of(arrival, self._services.commands)
            ours = command is not None or arrival.event == "told"
            if arrival.event == "left":
                counted.clear()
            elif arrival.event == "unsent":
                counted = [one for one in counted if one.message.id != arrival.target]
            elif arrival.event not in ("message", "told") or arrival.left_out or arrival.target.endswith(".greeting"):
                continue
            elif not (command == "forget" or (command == "stop" and counted) or (ours and is_operators(conversation))):
                counted.append(arrival)
        return counted

    async def _may_speak(self, conversation: str, arrival: InboundEvent) -> bool:
        """In a group nobody can make the bot say the same again and again."""
        who = arrival.author_id
        whom = f"{channel_of(conversation)}:{who}" if who else conversation
        return not arrival.group or await self._services.store.kv.set_if_absent(f"refused:{whom}", PAUSE_S)

    async def _introduced(self, conversation: str, arrival: InboundEvent) -> InboundEvent:
        """With the author's language and time zone, as far as the platform tells."""
        channel = self._services.channels[channel_of(conversation)]
        return (await channel.enrich(conversation, [arrival], is_new=False))[-1]

    def _refusal(self, excess: Excess, arrival: InboundEvent) -> Reply:
        language = self._language_of(arrival)
        limit = f"{self._budgets.limit(excess):,}"
        when = self._when(arrival, language)
        text = self._sentence(f"{excess.scope}_{excess.unit}", language, limit=limit, when=when)
        note = f"the limit in {excess.unit} of one {excess.scope} and day is {limit}"
        return Reply(text, failed=True, note=note)

    def _line(self, used: Used, language: str) -> str:
        tokens = self._amount("tokens", used.spent.tokens, used.limits.tokens, language)
        messages = self._amount("messages", used.spent.messages, used.limits.messages, language)
        amounts = tokens if used.scope == "bot" else self._sentence("both", language, messages=messages, tokens=tokens)
        return self._sentence(f"of_{used.scope}", language, amounts=amounts)

    def _amount(self, unit: str, used: int, limit: int, language: str) -> str:
        key = f"{unit}_limited" if limit else unit
        return self._sentence(key, language, used=f"{used:,}", limit=f"{limit:,}")

    def _when(self, arrival: InboundEvent, language: str) -> str:
        """When the limits begin anew, on the author's clock; the zone is named, for it may be the bot's."""
        zone = self._services.time_zone(arrival)
        end = self._budgets.day_end.astimezone(ZoneInfo(zone))
        return self._sentence(
            "when", language, year=end.year, month=end.month, day=end.day, time=f"{end:%H:%M}", zone=zone
        )

    def _language_of(self, arrival: InboundEvent) -> str:
        author = arrival.message.author or NOBODY
        return language_of(arrival.message.text, preferred_language(author.locale, self._services.defaults.language))

    def _sentence(self, key: str, language: str, **values: object) -> str:
        return self._services.texts.get(f"budget.{key}", language, **values)


def _unread(conversation: str, refused: Sequence[InboundEvent]) -> list[Message]:
    """What is kept of refused messages: that there were some, under an id by which no edit brings words back.

    Page and terminal, where nothing can be edited, find the answer to a message by its id.
    """
    if is_operators(conversation):
        return [Message(arrival.message.id, "user", (UNREAD,), arrival.message.at) for arrival in refused]
    return [Message(new_id("msg"), "user", (UNREAD,), refused[-1].message.at)]
