"""The feature, with an event, a card, a tool, a command, and what it keeps of people."""

from __future__ import annotations

from msgspec.structs import replace

from bot.channels import Button, ButtonCard, InboundEvent, Reply
from bot.pipeline.feature import AnsweredTurn, CommandContext, Feature, TurnRequest
from bot.pipeline.services import Services

from .hall import KIND, Hall, names_in

CLAP = "applause.clap"


class Applause(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.actions = {CLAP: self._clap}
        self.commands = {"claps": self._count}
        self.kept = {KIND: self._forget}
        self.erased = (KIND,)
        self.after_calls = {"applaud": self._add_card}
        self.tool_stores = {Hall: self._hall}

    async def _add_card(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """The answer with a card that asks to clap."""
        texts, language = self._services.texts, self._services.defaults.language
        for name in names_in(list(turn.messages))[:1]:
            title = texts.get("applause.title", language, name=name)
            clap = Button(texts.get("applause.clap", language), CLAP, name.replace(" ", "_"))
            return replace(reply, card=ButtonCard(title, key=CLAP, buttons=(clap,)))
        return reply

    def _hall(self, request: TurnRequest) -> Hall:
        return Hall(self._services.store, request.conversation)

    async def _clap(self, conversation: str, event: InboundEvent) -> bool:
        await Hall(self._services.store, conversation).clap(event.author_id, event.message.id)
        return True

    async def _count(self, context: CommandContext) -> Reply:
        claps = await Hall(self._services.store, context.lease.conversation).count()
        return self._services.private_reply("applause.count", context.event, count=claps)

    async def _forget(self, person: str, conversation: str) -> None:
        await Hall(self._services.store, conversation).forget(person)


FEATURE = Applause
