"""Feedback: what people think of answers, by two buttons below them where a channel has such. A
press starts no turn."""

from __future__ import annotations

import re

import structlog
from msgspec.structs import replace

from bot.channels import Button, Delivery, InboundEvent, Reply
from bot.clock import DAY_S, now_ms
from bot.features.feedback.store import FEEDBACK_S, KIND, Rating, Ratings
from bot.pipeline.feature import AnsweredTurn, Feature
from bot.pipeline.services import Services
from bot.store.keys import person_of
from bot.telemetry.observed import Rated
from bot.texts import language_of
from bot.transcript import Author, Message, encode

log = structlog.stdlib.get_logger(__name__)

GOOD, BAD = "feedback.good", "feedback.bad"  # the actions of the buttons
THANKS = "feedback.thanks"  # the key of thanks that are filled in when they are sent
PURPOSE = "feedback"  # of the side conversations that thank
# Time of the answer, turn, model, persona.
VALUE = re.compile(r"(\d{1,15}):([\w-]{1,64}):(\S{1,100}?)(?:~([0-9a-f]{8}))?")
MODEL_CAP = 100  # characters


class Feedback(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._ratings = Ratings(services.store)
        self.actions = {GOOD: self._rate, BAD: self._rate}
        self.kept = {KIND: self._ratings.withdraw}
        self.where_possible = {"feedback_buttons": self._ask}

    async def _ask(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """The answer of a model with the buttons."""
        model = "".join(turn.model.split())[:MODEL_CAP]
        if not model:
            return reply
        value = f"{now_ms()}:{turn.turn_id}:{model}{f'~{turn.persona}' if turn.persona else ''}"
        language = language_of(reply.text, self._services.default_language())
        good, bad = (
            self._services.texts.get(f"feedback.{key}", language) for key in ("good", "bad")
        )
        asking = Button(good, GOOD, value, style="good"), Button(bad, BAD, value, style="bad")
        return replace(reply, buttons=(*reply.buttons, *asking))

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """Thanks in the language of the person who gets them."""
        if delivery.reply.replaces != THANKS:
            return delivery
        whose = Message(delivery.id, "user", (), now_ms(), author=Author(delivery.asker))
        event = InboundEvent(whose, delivery.address)
        language = await self._services.known_language(conversation, event)
        text = self._services.texts.get("feedback.thanks", language)
        return replace(delivery, reply=replace(delivery.reply, text=text, replaces=""))

    async def _rate(self, conversation: str, event: InboundEvent) -> bool:
        """Keep the rating that a press is; the person alone is thanked for one that says something
        new.

        Raises:
            StoreUnavailable: it is not kept, and the platform must send it again.
        """
        pressed, channel = VALUE.fullmatch(event.target), self._services.channel(conversation)
        if channel is None or not pressed:
            return False
        answered_at, turn_id, model, persona = pressed.groups(default="")
        place, days = channel.place(conversation), self._services.days
        # The other ratings of an answer whose day is no longer kept are gone.
        day = days.of(int(answered_at))
        if not event.author_id or day not in days.latest(FEEDBACK_S // DAY_S):
            return False
        is_good, press = event.action == GOOD, event.message
        rating = Rating(day, turn_id, place.id, model, is_good, press.at, persona)
        if not await self._ratings.keep(person_of(place.id, event.author_id), rating):
            return False
        rated = Rated(is_good, event.author_id)
        self._services.features.observe(conversation, turn_id, rated)
        outcome = "good" if is_good else "bad"
        self._services.metrics.feedback.labels(channel.name, model, outcome).inc()
        log.info("feedback.given", turn=turn_id, channel=channel.name, model=model, rating=outcome)
        thanks = Reply("", replaces=THANKS, private=True, keep="until_refused")
        delivery = Delivery(
            f"thanks_{press.id}", press.id, thanks, event.address, asker=event.author_id
        )
        aside = place.aside(PURPOSE)
        await self._services.store.outbox.post(aside, delivery.id, encode(delivery))
        self._services.start(aside, "")
        return True


FEATURE = Feedback
