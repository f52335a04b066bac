"""The interpreter of a group: it translates each message that is not for the bot, until it is
switched off.

A translation is one request to the model, with a short prompt and no tools. It is no part of the
history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files

import structlog

from bot.agent.single_request import read_response
from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, Reply
from bot.clock import now_ms
from bot.conversation.alerts import ALARMING
from bot.conversation.answering import Attempt, TurnResult
from bot.conversation.background import SILENT
from bot.conversation.journal import Step, readable
from bot.conversation.services import Services
from bot.conversation.transcript_text import escaped_tags
from bot.errors import ModelError
from bot.providers import Provider
from bot.transcript import Message, Spending, Text, new_id

log = structlog.stdlib.get_logger(__name__)

ANSWER_S = 20.0
LATE_MS = 50_000  # a translation that comes later is of no use, and would not be sent


class Interpreter:
    """Translates messages."""

    def __init__(self, services: Services, provider: Provider) -> None:
        self._services = services
        self._provider = provider
        self._prompt = files("bot.prompts").joinpath("interpret.md").read_text("utf-8").strip()

    async def answer(
        self, attempt: Attempt, events: Sequence[InboundEvent], _steps: Sequence[Step]
    ) -> TurnResult:
        """Translate the messages of a turn; they and the translations are not for the history."""
        conversation = attempt.lease.conversation
        replies = []
        for event in events:
            if reply := await self.translate(conversation, event):
                replies.append((reply, event.address))
        ids = tuple(event.message.id for event in events)
        return TurnResult(
            (), replies, self._provider.model, asker=events[-1].author_id, answers=ids
        )

    async def translate(self, conversation: str, event: InboundEvent) -> Reply | None:
        """The translation; None where there is none: nobody gets an apology for what they did not
        ask.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        languages = await self._services.store.groups.languages(conversation)
        one, _, other = languages.partition(" ")
        if not other or now_ms() - event.message.at > LATE_MS:
            return None
        names = self._services.texts.table("languages", "en")
        system = self._prompt.format(
            one=names.get(one, one), other=names.get(other, other), silent=SILENT
        )
        text = f"<message>\n{escaped_tags(event.message.text)}\n</message>"
        asked = Message(new_id("msg"), "user", (Text(text),), event.message.at)
        events = self._provider.stream(system, [asked], ())
        try:
            async with asyncio.timeout(ANSWER_S):
                response = await read_response(
                    events, "translation", self._provider.model, self._services.metrics
                )
        except (ModelError, TimeoutError) as error:
            log.warning("interpreter.failed", cause=str(error) or type(error).__name__)
            if isinstance(error, ModelError) and (alarm := ALARMING.get(error.apology)) is not None:
                await self._services.alerts.notice(alarm, error.cause)
            return None
        author = event.message.author or NOBODY
        spending = Spending(response.model, response.usage, author, messages=1, is_first=True)
        await self._services.budgets.spend(conversation, spending)
        text = response.message.text.strip()
        is_whole = text and response.stop_reason == "end_turn" and SILENT not in text
        if not is_whole or await self._is_taken_back(conversation, event):
            return None
        return Reply(text, fleeting=True, free=True)

    async def _is_taken_back(self, conversation: str, event: InboundEvent) -> bool:
        """Whether the message was taken back while it was translated."""
        waiting = readable(await self._services.store.inbox.read(conversation))
        return any(
            later.event == "unsent" and later.target == event.message.id for _, later in waiting
        )
