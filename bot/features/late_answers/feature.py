"""Late answers: where a reply token expires before the answer is ready, a button is sent that
fetches the answer.

Until ``Validity.left_s`` of the message's address is 0, its token sends the answer. After that it
sends only the button, and the answer goes without a token: it is pushed, or kept until its asker
presses. Whoever takes a turn over reads the same clock, so no spent token is recorded.
"""

from __future__ import annotations

from hashlib import sha256

import structlog

from bot.channels import Channel, Delivery, InboundEvent, Reply
from bot.errors import StoreUnavailable
from bot.features.late_answers.fetches import (
    FETCH,
    Fetch,
    Fetches,
    card_for,
    fetch_of,
    is_awaited,
)
from bot.pipeline.feature import Feature, ParkedTurn
from bot.pipeline.journal import read_waiting
from bot.pipeline.select import unsent_among
from bot.pipeline.services import Services
from bot.store import Bound, Lease
from bot.texts import LANGUAGES
from bot.transcript import encode

# Of the conversations beside others whose outboxes answer presses; there nothing waits for a turn.
PURPOSE = "late"
# After a failure of the store.
REST_S = 1.0
# So many presses wait in one place, and so many of one person: each of these brings an answer, or a
# sentence that there is none.
MOST_FETCHES, MOST_OF_ASKER = 200, 5

log = structlog.stdlib.get_logger(__name__)


class LateAnswers(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._fetches = Fetches(services)
        self.actions = {FETCH: self._press}

    async def while_waiting(
        self,
        lease: Lease,
        asked: InboundEvent | None = None,
        parked: ParkedTurn | None = None,
    ) -> float | None:
        """Send buttons to people whose tokens are not the answer's any more."""
        channel = self._services.channel(lease.conversation)
        if channel is None or not channel.abilities.expires:
            return None
        try:
            events = await read_waiting(self._services.store, lease.conversation)
            people, unsent, times = [asked] if asked else [], unsent_among(events), list[float]()
            for event in events:
                if event.message.id not in unsent and is_awaited(event, self._services.commands):
                    people.append(event)
            for event in people:
                await self._send_button(lease, channel, event)
                left = channel.validity(event.address).left_s
                if left and left > 0:
                    times.append(left)
        except StoreUnavailable as error:
            log.warning("late.not_told", cause=str(error))
            return REST_S
        return min(times, default=None)

    async def address_expired(self, lease: Lease, event: InboundEvent, *, private: bool) -> None:
        """Send a button that fetches the reply, which is late; nobody may have got what is for one
        person, as that is not pushed."""
        if (channel := self._services.channel(lease.conversation)) is not None:
            await self._send_button(lease, channel, event, always=private)

    async def _send_button(
        self, lease: Lease, channel: Channel, event: InboundEvent, *, always: bool = False
    ) -> None:
        """Spend a reply token on the button as soon as the answer may not use it any more: once,
        whichever process does it.

        Args:
            always: send the button even if no answer is waited for by then.

        Raises:
            LeaseLost: another process has the turn, perhaps since a time when the token was the
                answer's.
        """
        left = channel.validity(event.address).left_s
        if left is None or left > 0 or not event.author_id:
            return
        conversation, store = lease.conversation, self._services.store
        language = await self._services.known_language(conversation, event)
        await store.leases.renew(lease)
        button = f"late_{sha256(event.address.encode()).hexdigest()[:32]}"
        card = card_for(event, self._services.texts, language)
        fetch = Fetch("card", language, "" if always else conversation)
        reply = Reply("", card=card, replaces=fetch.key, keep="if_free")
        delivery = Delivery(button, button, reply, event.address, asker=event.author_id)
        beside = channel.place(conversation).aside(PURPOSE)
        if await store.outbox.post(beside, button, encode(delivery)):
            log.info("late.told", message=event.message.id)

    async def _press(self, conversation: str, event: InboundEvent) -> bool:
        """Take a press of the button; others than the asker press in vain. What it brings is found
        when it is answered.

        Raises:
            StoreUnavailable: nothing is stored, and the platform must send it again.
        """
        language, channel = event.target.partition(":")[0], self._services.channel(conversation)
        if channel is None or not channel.abilities.expires or language not in LANGUAGES:
            return False
        card = card_for(event, self._services.texts, language)
        if not event.author_id or event.target != card.buttons[0].value:
            return False
        press, beside = event.message.id, channel.place(conversation).aside(PURPOSE)
        key = Fetch("press", language, conversation).key
        reply = Reply("", card=card, replaces=key, private=True, keep="if_free")
        fetch = Delivery(f"fetch_{press}", press, reply, event.address, asker=event.author_id)
        bound = Bound(MOST_FETCHES, b'"asker":' + encode(fetch.asker), MOST_OF_ASKER)
        taken = await self._services.store.outbox.post(beside, fetch.id, encode(fetch), bound)
        self._services.start(beside, "")
        return taken

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """What a press has been found to fetch; see ``Fetches.choose``."""
        return await self._fetches.choose(conversation, delivery)

    def holds(self, conversation: str, delivery: Delivery) -> bool:
        """Whether its asker can press a button for it. What answers no message, as a reminder,
        comes with the answer to the next one; a question of a routine would wait too long for
        that."""
        channel = self._services.channel(conversation)
        is_awaited_there = delivery.address or not delivery.reply.awaited
        is_kept = delivery.asker and is_awaited_there and delivery.reply.keep == "always"
        return bool(is_kept and channel and channel.abilities.expires)

    async def with_held(self, conversation: str, delivery: Delivery) -> Delivery | None:
        """A press with the late answer that it brings; an answer with reminders, and with the
        button for late ones."""
        if fetch_of(delivery.reply):
            return await self._fetches.load(delivery)
        return await self._fetches.with_reminders(conversation, delivery)


FEATURE = LateAnswers
