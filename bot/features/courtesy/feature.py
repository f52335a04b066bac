"""The sentences that answer stickers which ask nothing."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.turn import NOBODY
from bot.channels import STICKER, InboundEvent
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.texts import language_for, language_of
from bot.transcript import Message

ASKING = ("?", "？", "か。")
END = 100  # characters of an answer in which it may ask something


class Courtesy(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def answer_wordless(self, events: Sequence[InboundEvent], history: Sequence[Message]) -> str:
        """The sentence for stickers; empty where the model has to answer, as after a question of
        its own."""
        if not all(event.action.startswith(STICKER) for event in events):
            return ""
        last = next((message.text for message in reversed(history) if message.is_answer), "")
        if any(sign in last[-END:] for sign in ASKING):
            return ""
        newest = events[-1]
        spoken = language_of(last, self._services.default_language(newest.author_id))
        language = language_for("", (newest.message.author or NOBODY).locale, spoken)
        says = newest.action.removeprefix(STICKER)
        return self._services.texts.get(f"courtesy.{says}", language)


FEATURE = Courtesy
