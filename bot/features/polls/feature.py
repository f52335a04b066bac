"""Polls: a tool starts them, presses of buttons are counted without a turn, and the outbox shows
how they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from bot.channels import ButtonCard, Delivery, InboundEvent, Reply
from bot.features.polls.poll import (
    PREFIX,
    PURPOSE,
    TOOL,
    VOTE,
    Poll,
    read_cards,
    read_poll,
    started_in,
)
from bot.features.polls.store import KIND, StoredPolls
from bot.features.polls.tool_polls import ToolPolls
from bot.pipeline.feature import AnsweredTurn, Feature, TurnRequest
from bot.pipeline.services import Services
from bot.transcript import Message, encode

VALUE = re.compile(r"(poll_[0-9a-f]{32}):(\d{1,2})")  # of a button: a poll, and a number
MINUTE_MS = 60_000


class Polls(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._polls = StoredPolls(services.store)
        self.actions = {VOTE: self._vote}
        self.kept = {KIND: self._polls.withdraw}
        self.shown = (KIND,)
        self.after_calls = {TOOL: self._add_poll}
        self.tool_stores = {ToolPolls: self._polls_of}

    def _polls_of(self, request: TurnRequest) -> ToolPolls | None:
        """What the tool may start: nothing for somebody unknown, who could not close a poll, and
        where answers show none."""
        channel = self._services.channel(request.conversation)
        if (
            channel is None
            or not request.author.id
            or not channel.validity(request.event.address).shows_cards
        ):
            return None
        stored_in = channel.place(request.conversation).aside(PURPOSE)
        language = self._services.default_language(request.author.id)
        return ToolPolls(self._polls, stored_in, request.author.id, language)

    async def _add_poll(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """The answer with the poll that one of its calls has started."""
        for poll_id in started_in(turn.messages)[:1]:
            poll = await read_poll(self._polls, self._stored_in(turn.conversation), poll_id)
            if isinstance(poll, Poll):
                return replace(reply, card=poll.card(self._services.texts))
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """The delivery that shows a poll anew, with the poll as it stands now.

        After an attempt that failed nothing is noted as shown: what has changed since the first one
        is for the delivery that waits behind. With one more for each attempt, an outage would leave
        more than can be shown in time.
        """
        reply, channel = delivery.reply, self._services.channel(conversation)
        if channel is None or not reply.replaces.startswith(PREFIX):
            return delivery
        pause_s = None if delivery.attempts else channel.abilities.change_pause_s
        poll = await read_poll(self._polls, conversation, reply.replaces, pause_s)
        if not isinstance(poll, Poll):
            return poll
        card = poll.card(self._services.texts)
        return replace(delivery, reply=replace(reply, text=poll.question, card=card))

    async def cards(self, conversation: str, messages: Sequence[Message]) -> Sequence[ButtonCard]:
        """Open polls, and closed ones that these messages have started."""
        stored_in = self._stored_in(conversation)
        return await read_cards(self._polls, self._services.texts, stored_in, messages)

    def places(self, conversation: str) -> Collection[str]:
        """The conversation that keeps the polls."""
        return (self._stored_in(conversation),)

    def _stored_in(self, conversation: str) -> str:
        channel = self._services.channel(conversation)
        return channel.place(conversation).aside(PURPOSE) if channel else conversation

    async def _vote(self, conversation: str, event: InboundEvent) -> bool:
        """Count one press, or tell that person alone why it does not count; a known id counts
        nothing.

        Raises:
            StoreUnavailable: nothing is counted, and the platform must send it again.
        """
        pressed, channel = VALUE.fullmatch(event.target), self._services.channel(conversation)
        if channel is None or not event.author_id or not pressed:
            return False
        conversation = channel.place(conversation).aside(PURPOSE)
        poll_id, press_id = pressed[1], event.message.id
        shows = Reply("", replaces=poll_id, private=True, keep="if_free")
        delivery = Delivery(f"{poll_id}_{press_id}", press_id, shows, event.address)
        outcome = await self._polls.press(
            conversation,
            poll_id,
            press_id,
            person=event.author_id,
            choice=int(pressed[2]),
            delivery=encode(delivery),
        )
        if outcome != "taken":
            await self._refuse(conversation, event, poll_id, outcome)
        self._services.start(conversation, "")
        return outcome == "taken"

    async def _refuse(
        self, conversation: str, event: InboundEvent, poll_id: str, outcome: str
    ) -> None:
        poll = await read_poll(self._polls, conversation, poll_id)
        language = poll.language if isinstance(poll, Poll) else self._services.default_language()
        text = self._services.texts.get(f"poll.{outcome}", language)
        reply = Reply(text, private=True, keep="if_free")
        # Once a minute for each person: in a LINE group everybody reads it.
        notice = f"{poll_id}_{outcome}_{event.author_id}_{event.message.at // MINUTE_MS}"
        delivery = Delivery(notice, event.message.id, reply, event.address)
        await self._services.store.outbox.post(conversation, delivery.id, encode(delivery))


FEATURE = Polls
