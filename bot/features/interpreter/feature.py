"""The interpreter of a group: it translates each message that is not for the bot, until it is
switched off.

A translation is one request to the model, with a short prompt and no tools. It is no part of the
history.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from importlib.resources import files

import structlog

from bot.agent.single_request import read_response
from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, Reply
from bot.clock import now_ms
from bot.errors import ModelError
from bot.features.interpreter.store import KIND, Languages
from bot.pipeline.feature import SILENT, CommandContext, Feature, Outgoing, TurnResult
from bot.pipeline.journal import read_waiting
from bot.pipeline.select import unsent_among
from bot.pipeline.services import Services
from bot.providers import Request
from bot.safe_text.transcript import escaped_tags
from bot.texts import LETTER, PLACEHOLDER
from bot.transcript import Message, Spending, Text, new_id

log = structlog.stdlib.get_logger(__name__)

DEMO = "demo"  # the model that has rules in place of words
ANSWER_S = 20.0
LATE_MS = 50_000  # a translation that comes later is of no use, and would not be sent
URL = re.compile(r"https?://\S+")


def has_words(text: str) -> bool:
    """Whether there is anything to translate: letters that are no address, sticker or place."""
    return LETTER.search(URL.sub("", PLACEHOLDER.sub("", text))) is not None


class Interpreter(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    erased = (KIND,)

    def __init__(self, services: Services) -> None:
        self._services = services
        self._languages = Languages(services.store)
        self._prompt = files(__package__).joinpath("prompt.md").read_text("utf-8").strip()
        self.commands = {"interpret": self._switch_on, "interpret_off": self._switch_off}

    async def overhear(self, conversation: str, event: InboundEvent) -> bool:
        """Whether the message is to be translated."""
        return has_words(event.message.text) and bool(await self._languages.renew(conversation))

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult | None:
        """Translate the messages of a turn; they and the translations are not for the history."""
        replies = []
        for event in events:
            if reply := await self._translate(conversation, event):
                replies.append(Outgoing(reply, event.address))
        asker = events[-1].author_id
        model = self._services.model_of(conversation, asker).model
        ids = tuple(event.message.id for event in events)
        return TurnResult((), replies, model, asker=asker, answers=ids)

    def add_line(self, key: str, conversation: str, event: InboundEvent) -> str:
        """In /help, how to switch it on where that is possible."""
        if key != "command.help" or self._refusal(conversation):
            return ""
        return self._services.sentence("command.help_interpret", event)

    async def _switch_on(self, context: CommandContext) -> Reply:
        """Have every message of a group translated; without two languages, say how that is done."""
        conversation, event = context.lease.conversation, context.event
        texts, language = self._services.texts, self._services.language(event)
        if refusal := self._refusal(conversation):
            return Reply(texts.get(refusal, language))
        names = texts.table("languages", language)
        if (languages := self._services.commands.languages(event.message.text)) is None:
            known = ", ".join(names.values())
            return Reply(texts.get("command.interpret_how", language, languages=known))
        await self._languages.set(conversation, " ".join(languages))
        one, other = (names[code] for code in languages)
        return Reply(texts.get("command.interpret", language, one=one, other=other))

    async def _switch_off(self, context: CommandContext) -> Reply:
        await self._languages.set(context.lease.conversation, "")
        language = self._services.language(context.event)
        return Reply(self._services.texts.get("command.interpret_off", language))

    def _refusal(self, conversation: str) -> str:
        """Why nothing can be translated there, as a key of the catalogue; empty where it can."""
        channel = self._services.channel(conversation)
        if channel is None or not channel.place(conversation).overhears:
            return "command.interpret_where"
        model = self._services.model_of(conversation).model
        return "command.interpret_demo" if model == DEMO else ""

    async def _translate(self, conversation: str, event: InboundEvent) -> Reply | None:
        """The translation; None where there is none: nobody gets an apology for what they did not
        ask.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        languages = await self._languages.read(conversation)
        one, _, other = languages.partition(" ")
        if not other or now_ms() - event.message.at > LATE_MS:
            return None
        names = self._services.texts.table("languages", "en")
        system = self._prompt.format(
            one=names.get(one, one), other=names.get(other, other), silent=SILENT
        )
        text = f"<message>\n{escaped_tags(event.message.text)}\n</message>"
        asked = Message(new_id("msg"), "user", (Text(text),), event.message.at)
        metrics = self._services.metrics
        provider = self._services.model_of(conversation, event.author_id)
        stream = provider.stream(Request(system, [asked]))
        try:
            async with asyncio.timeout(ANSWER_S):
                response = await read_response(stream, "translation", provider.model, metrics)
        except (ModelError, TimeoutError) as error:
            log.warning("interpreter.failed", cause=str(error) or type(error).__name__)
            if isinstance(error, ModelError):
                await self._services.alerts.notice_failure(error.apology, error.cause)
            return None
        author = event.message.author or NOBODY
        spending = Spending(response.model, response.usage, author, messages=1, is_first=True)
        self._services.features.limits.spend(conversation, spending)
        text = response.message.text.strip()
        is_whole = text and response.stop_reason == "end_turn" and SILENT not in text
        if not is_whole:
            return None
        # It may be taken back while it is translated.
        later = await read_waiting(self._services.store, conversation)
        if event.message.id in unsent_among(later):
            return None
        return Reply(text, keep="if_free")


FEATURE = Interpreter
