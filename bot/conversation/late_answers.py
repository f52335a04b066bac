"""Late answers: where a reply token runs out before the answer is ready, a button is sent that fetches the answer.

The clock decides whose a token is. For its first seconds (``Channel.time_left``) it is the answer's; from then on it
is the button's, and the answer is delivered without a token: it is pushed, or kept until its asker presses. So no
record of spent tokens is needed: whoever takes a turn over reads the same clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Literal

import structlog
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Channel, Delivery, Fetch, InboundEvent, LateAnswer, Question, Reply
from bot.commands import SpokenCommands
from bot.conversation.inbound import InboundMessages
from bot.conversation.journal import TurnJournal, read_entries, readable
from bot.conversation.services import Services
from bot.conversation.triage import CANNED, parse
from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Lease, StoredLateAnswer
from bot.transcript import UNREADABLE, encode

log = structlog.stdlib.get_logger(__name__)

LOOK_S = 10.0  # between two looks at the messages that wait behind a turn
REST_S = 1.0  # after a failure of the store
MOST_FETCHES = 20  # presses that wait in one place

Progress = Literal["waiting", "asked", "sent"]  # sentences of the catalogue, table ``late``

_decode = Decoder(Delivery).decode


class LateButtons:
    """Spends the reply tokens of one conversation on buttons, under its lease."""

    def __init__(self, services: Services, lease: Lease, channel: Channel) -> None:
        self._services = services
        self._store = services.store
        self._lease = lease
        self._channel = channel
        self._fetches = channel.fetches_of(lease.conversation)
        self._told: set[str] = set()

    def time_left(self, address: str) -> float | None:
        """Seconds until the address's token is to be spent on a button; None if it is not."""
        is_due = self._fetches and address and address not in self._told
        return self._channel.time_left(address) if is_due else None

    async def tell_waiting(self) -> float | None:
        """Tell people whose messages wait for a turn of theirs; seconds until the next one is to be told.

        Raises:
            LeaseLost: another process has the turn.
        """
        events = [event for _, event in readable(await self._store.inbox.read(self._lease.conversation))]
        unsent = {event.target for event in events if event.event == "unsent"}
        awaited = [event for event in events if event.message.id not in unsent]
        awaited = [event for event in awaited if _is_awaited(event, self._services.commands)]
        for event in awaited:
            await self.tell(event, event.address)
        times = (self.time_left(event.address) for event in awaited)
        return min((left for left in times if left is not None), default=None)

    async def tell(self, event: InboundEvent, address: str) -> None:
        """Spend a token that is the answer's no more on the button, once whoever does it; it is sent beside the turn.

        Raises:
            LeaseLost: another process has the turn, perhaps since a time when the token was the answer's.
        """
        left = self.time_left(address)
        if left is None or left > 0:
            return
        if asker := event.author_id:
            (known,) = await self._channel.enrich(self._lease.conversation, [event], is_new=False)
            language = self._services.language(known)
            await self._store.leases.renew(self._lease)
            told = f"late_{sha256(address.encode()).hexdigest()[:32]}"
            reply = Reply(self._services.texts.get("late.waiting", language), fetched_by=asker, fleeting=True)
            delivery = Delivery(told, told, reply, address, asker=asker)
            if await self._store.outbox.post(self._fetches, told, encode(delivery)):
                log.info("late.told", message=event.message.id)
        self._told.add(address)


class TokenWatch:
    """Watches the reply tokens of a turn, and of the messages that wait behind it."""

    def __init__(self, buttons: LateButtons, inbound: InboundMessages) -> None:
        self._buttons = buttons
        self._inbound = inbound

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Watch while the context is open: while the answer is made."""
        over = asyncio.Event()
        watching = asyncio.create_task(self._watch(over))
        try:
            yield
        finally:
            over.set()
            await watching  # not cancelled: without its button, a late answer could not be fetched

    async def _watch(self, over: asyncio.Event) -> None:
        pause_s = self._own_time_left()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(pause_s, 0)):
                    await over.wait()
            try:
                if self._inbound.newest:
                    await self._buttons.tell(self._inbound.newest, self._inbound.address)
                if over.is_set():
                    return
                next_s = await self._buttons.tell_waiting()
                pause_s = min(self._own_time_left(), LOOK_S if next_s is None else next_s)
            except LeaseLost:
                return
            except StoreUnavailable as error:
                log.warning("late.not_told", cause=str(error))
                if over.is_set():
                    return
                pause_s = REST_S

    def _own_time_left(self) -> float:
        left = self._buttons.time_left(self._inbound.address) if self._inbound.newest else None
        return LOOK_S if left is None else min(left, LOOK_S)


def fetch_of(event: InboundEvent) -> Delivery:
    """The delivery that answers a press of the button. Older versions send nothing for what it seems to settle."""
    language = event.message.author.locale if event.message.author else ""
    reply = Reply("", settles="fetch", private=True, fleeting=True, fetches=Fetch(event.target, language))
    press = event.message.id
    return Delivery(f"fetch_{press}", press, reply, event.address, asker=event.author_id)


class Fetches:
    """Finds what a press of the button fetches. A late answer stays where it is kept until it has arrived."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._texts = services.texts
        self._commands = services.commands

    async def choose(self, press: Delivery) -> Delivery:
        """Decide what the press gets: the asker's oldest late answer, or a sentence. Further attempts send the same.

        Raises:
            StoreUnavailable: it cannot be decided.
        """
        fetch = press.reply.fetches
        if fetch is None or press.late is not None:
            return press
        # In the order in which messages and answers move, so that none is missed.
        progress = await self._progress(fetch.conversation, press.asker)
        unsent = await self._read_unsent(fetch.conversation)
        kept = [one for one in await self._store.late_answers.read(fetch.conversation) if one.asker == press.asker]
        for number, one in enumerate(kept, 1):
            if await self._read_wanted(fetch.conversation, one, unsent):
                late = LateAnswer(fetch.conversation, one.delivery_id)
                return replace(press, late=late, more_late=number < len(kept))
        text = self._texts.get(f"late.{progress}", fetch.language)
        reply = Reply(text, fetched_by=press.asker if progress == "waiting" else "", private=True, fleeting=True)
        return replace(press, reply=reply, late=LateAnswer(fetch.conversation))

    async def load(self, delivery: Delivery) -> Delivery | None:
        """The delivery as it is sent; None if its late answer is gone: an earlier attempt has brought it, somebody has
        deleted it, or it is a question that is over.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        late = delivery.late
        if late is None or not late.id:
            return delivery
        kept = await self._store.late_answers.read(late.kept_in)
        found = next((one for one in kept if (one.asker, one.delivery_id) == (delivery.asker, late.id)), None)
        unsent = await self._read_unsent(late.kept_in)
        answer = await self._read_wanted(late.kept_in, found, unsent) if found else None
        return replace(delivery, reply=answer.reply) if answer else None

    async def _read_wanted(self, conversation: str, one: StoredLateAnswer, unsent: set[str]) -> Delivery | None:
        """A late answer that can be sent; a question that is over is removed, and what cannot be read given up.

        Args:
            unsent: ids of messages that are taken back; whoever reads their retraction removes what answers them alone.
        """
        answer = _read(one.delivery)
        if answer and answer.answers and unsent.issuperset(answer.answers):
            return None
        question = answer.reply.question if answer else None
        if answer and (question is None or await self._is_open(conversation, question)):
            return answer
        given_up = "" if answer else "cannot be read"
        await self._store.late_answers.remove(conversation, one.asker, one.delivery_id, given_up=given_up)
        return None

    async def _read_unsent(self, conversation: str) -> set[str]:
        """The messages that are taken back by what waits, or by what a turn under way is reading."""
        waiting = [event for _, event in readable(await self._store.inbox.read(conversation))]
        events = [*waiting, *(await self._read_journal(conversation)).all_events]
        return {event.target for event in events if event.event == "unsent"}

    async def _is_open(self, conversation: str, question: Question) -> bool:
        asked = (await self._read_journal(conversation)).open_question
        return asked is not None and asked.question.id == question.id

    async def _progress(self, conversation: str, asker: str) -> Progress:
        """How far the asker's answer is."""
        waiting = [event for _, event in readable(await self._store.inbox.read(conversation))]
        journal = await self._read_journal(conversation)
        outbox = [_read(raw) for raw in await self._store.outbox.read(conversation)]
        if self._is_awaited_by(asker, journal.all_events):
            question = journal.open_question.question if journal.open_question else None
            is_sending = any(one and one.reply.question == question for one in outbox)
            return "asked" if question and not is_sending else "waiting"
        is_waiting = self._is_awaited_by(asker, waiting) or any(one and one.asker == asker for one in outbox)
        return "waiting" if is_waiting else "sent"

    def _is_awaited_by(self, asker: str, events: Iterable[InboundEvent]) -> bool:
        return any(event.author_id == asker and _is_awaited(event, self._commands) for event in events)

    async def _read_journal(self, conversation: str) -> TurnJournal:
        try:
            return read_entries(await self._store.journal.read(conversation))
        except UNREADABLE:
            return TurnJournal()


def _is_awaited(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether somebody waits for an answer to an event: what they say to each other is only translated."""
    to_others = event.unmentioned and parse(event, commands).command is None
    return event.event == CANNED or (event.event == "message" and not to_others)


def _read(raw: bytes) -> Delivery | None:
    try:
        return _decode(raw)
    except UNREADABLE:
        log.error("delivery.unreadable", cause="a late answer or a delivery before it")
        return None
