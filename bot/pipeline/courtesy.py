"""Answers to messages that ask nothing, such as a sticker that says thanks: a sentence, and no
request to the model."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.turn import NOBODY
from bot.channels import COURTESY, InboundEvent
from bot.pipeline.services import Services
from bot.texts import language_for, language_of
from bot.transcript import Message

ASKING = ("?", "？", "か。")
END = 100  # characters of an answer in which it may ask something


def courtesy(services: Services, events: Sequence[InboundEvent], history: Sequence[Message]) -> str:
    """The sentence that answers the events; empty where the model has to, as after a question of
    its own."""
    if not events or not all(event.action.startswith(COURTESY) for event in events):
        return ""
    last = next((message.text for message in reversed(history) if message.is_answer), "")
    if any(sign in last[-END:] for sign in ASKING):
        return ""
    newest = events[-1]
    spoken = language_of(last, services.defaults.language)
    language = language_for("", (newest.message.author or NOBODY).locale, spoken)
    return services.texts.get(newest.action, language)
