"""Presses of polls' buttons."""

from __future__ import annotations

import re

from bot.channels import Delivery, InboundEvent, Reply
from bot.features.polls.poll import PURPOSE, Poll, read_poll
from bot.features.polls.store import StoredPolls
from bot.pipeline.services import Services
from bot.transcript import encode

VALUE = re.compile(r"(poll_[0-9a-f]{32}):(\d{1,2})")  # of a button: a poll, and a number
MINUTE_MS = 60_000


class Votes:
    """Counts presses of polls' buttons (``bot.channels.Accept``). Each is one script, and starts no
    turn.
    """

    def __init__(self, services: Services, polls: StoredPolls) -> None:
        self._services = services
        self._store = services.store
        self._polls = polls
        self._texts = services.texts

    async def __call__(self, conversation: str, event: InboundEvent) -> bool:
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
        language = poll.language if isinstance(poll, Poll) else self._services.defaults.language
        text = self._texts.get(f"poll.{outcome}", language)
        reply = Reply(text, private=True, keep="if_free")
        # Once a minute for each person: in a LINE group everybody reads it.
        notice = f"{poll_id}_{outcome}_{event.author_id}_{event.message.at // MINUTE_MS}"
        delivery = Delivery(notice, event.message.id, reply, event.address)
        await self._store.outbox.post(conversation, delivery.id, encode(delivery))
