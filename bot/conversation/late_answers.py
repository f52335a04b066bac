"""Late answers: where a reply token runs out before the answer is ready, a button is sent that
fetches the answer.

The clock decides whose a token is. For its first seconds (``Channel.time_left``) it is the
answer's; from then on it is the button's, and the answer is delivered without a token: it is
pushed, or kept until its asker presses. So no record of spent tokens is needed: whoever takes a
turn over reads the same clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Literal

import structlog
from msgspec.structs import replace

from bot.channels import Channel, Delivery, Fetch, InboundEvent, LateAnswer, Question, Reply
from bot.commands import SpokenCommands
from bot.conversation.inbound import InboundMessages
from bot.conversation.journal import TurnJournal, read_entries, readable
from bot.conversation.services import Services
from bot.conversation.triage import CANNED, parse
from bot.conversation.undelivered import decode_delivery, is_reopened_by
from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Lease, StoredLateAnswer
from bot.transcript import UNREADABLE, encode

log = structlog.stdlib.get_logger(__name__)

LOOK_S = 10.0  # between two looks at the messages that wait behind a turn
REST_S = 1.0  # after a failure of the store
SOON_MS = 500  # until a card looks again whether the answer that is being sent has arrived
MOST_FETCHES = 200  # presses that wait in one place …
MOST_BROUGHT = 2_000  # characters of reminders above one answer
MOST_OF_ASKER = 5  # … and of one person: each of these brings an answer, or says that there is none

Progress = Literal["waiting", "asked", "sending", "sent"]
SENTENCES: Mapping[Progress, str] = {
    "waiting": "waiting",
    "asked": "asked",
    "sending": "waiting",
    "sent": "sent",
}


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
        """Tell people whose messages wait for a turn of theirs; seconds until the next one is to be
        told.

        Raises:
            LeaseLost: another process has the turn.
        """
        events = [
            event for _, event in readable(await self._store.inbox.read(self._lease.conversation))
        ]
        unsent = {event.target for event in events if event.event == "unsent"}
        awaited = [event for event in events if event.message.id not in unsent]
        awaited = [event for event in awaited if _is_awaited(event, self._services.commands)]
        for event in awaited:
            await self.tell(event, event.address)
        times = (self.time_left(event.address) for event in awaited)
        return min((left for left in times if left is not None), default=None)

    async def tell(self, event: InboundEvent, address: str, *, always: bool = False) -> None:
        """Spend a token that is the answer's no more on the button, once whoever does it; it is
        sent beside the turn.

        Args:
            always: show the button even if no answer is waited for by then, as nobody may have got
            one.

        Raises:
            LeaseLost: another process has the turn, perhaps since a time when the token was the
            answer's.
        """
        left = self.time_left(address)
        if left is None or left > 0:
            return
        if asker := event.author_id:
            (known,) = await self._channel.enrich(self._lease.conversation, [event], is_new=False)
            language = self._services.language(known)
            await self._store.leases.renew(self._lease)
            told = f"late_{sha256(address.encode()).hexdigest()[:32]}"
            words = self._services.texts.get("late.waiting", language)
            fetch = None if always else Fetch(self._lease.conversation, language)
            reply = Reply(words, fetched_by=asker, fleeting=True, fetches=fetch)
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
    """The delivery that answers a press of the button."""
    language = event.message.author.locale if event.message.author else ""
    reply = Reply(
        "", settles="fetch", private=True, fleeting=True, fetches=Fetch(event.target, language)
    )
    press = event.message.id
    return Delivery(f"fetch_{press}", press, reply, event.address, asker=event.author_id)


class Fetches:
    """Finds what a press of the button fetches. A late answer stays where it is kept until it has
    arrived."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.store
        self._texts = services.texts
        self._commands = services.commands

    async def choose(self, delivery: Delivery) -> Delivery | int | None:
        """Decide what a press gets, and whether the card with the button is still needed; others
        stay as they are.

        A press gets the asker's oldest late answer, or a sentence. Further attempts send the same.

        Returns:
            None for a card whose answer has been pushed; a time (ms of the store's clock) when to
            look again for one whose answer is being pushed.

        Raises:
            StoreUnavailable: it cannot be decided.
        """
        fetch, is_card = delivery.reply.fetches, bool(delivery.reply.fetched_by)
        if fetch is None or delivery.late is not None:
            return delivery
        if is_card and not await self._is_pushed(fetch.conversation, delivery.asker):
            return delivery
        # In the order in which messages and answers move, so that none is missed.
        progress, edited = await self._progress(fetch.conversation, delivery.asker)
        wanted, reopened = await self._read_kept(fetch.conversation, delivery.asker, edited)
        progress = "waiting" if reopened else progress
        if is_card:
            if wanted or progress == "waiting":
                return delivery
            return (
                await self._store.now_ms(fetch.conversation) + SOON_MS
                if progress == "sending"
                else None
            )
        if wanted:
            late = LateAnswer(fetch.conversation, wanted[0])
            return replace(delivery, late=late, more_late=len(wanted) + reopened > 1)
        sentence = SENTENCES[progress]
        text, again = self._texts.get(f"late.{sentence}", fetch.language), sentence == "waiting"
        reply = Reply(text, fetched_by=delivery.asker if again else "", private=True, fleeting=True)
        return replace(delivery, reply=reply, late=LateAnswer(fetch.conversation))

    async def _is_pushed(self, conversation: str, asker: str) -> bool:
        """Whether an answer without a token is sent, as far as that is known."""
        channel = self._services.channel(conversation)
        return channel is not None and await channel.reaches(conversation, asker)

    async def _read_kept(
        self, conversation: str, asker: str, edited: Collection[str]
    ) -> tuple[list[str], int]:
        """The ids of the asker's late answers that can be sent, oldest first, and the number of
        those whose turn is about to be reopened."""
        kept = [
            one for one in await self._store.late_answers.read(conversation) if one.asker == asker
        ]
        unsent = await self._read_unsent(conversation)
        answers = [
            answer for one in kept if (answer := await self._read_wanted(conversation, one, unsent))
        ]
        wanted = [answer.id for answer in answers if not is_reopened_by(answer, edited)]
        return wanted, len(answers) - len(wanted)

    async def load(self, conversation: str, delivery: Delivery) -> Delivery | None:
        """The delivery as it is sent; None if its late answer is gone: an earlier attempt has
        brought it, somebody has deleted it, or it is a question that is over.

        Args:
            conversation: whose outbox holds it.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        late = delivery.late
        if late is None or not late.id:
            return (
                await self._bring_kept(conversation, delivery) if delivery.more_late else delivery
            )
        kept = await self._store.late_answers.read(late.kept_in)
        found = next(
            (one for one in kept if (one.asker, one.delivery_id) == (delivery.asker, late.id)), None
        )
        unsent = await self._read_unsent(late.kept_in)
        answer = await self._read_wanted(late.kept_in, found, unsent) if found else None
        return replace(delivery, reply=answer.reply) if answer else None

    async def _bring_kept(self, conversation: str, delivery: Delivery) -> Delivery:
        """The delivery with the texts of its asker's reminders that could not be pushed, as far as
        there is room.

        They stand above its own text, the oldest first; what has more than a text waits for a press
        of the button.
        """
        if not delivery.reply.is_plain:
            return delivery
        kept = [
            one
            for one in await self._store.late_answers.read(conversation)
            if one.asker == delivery.asker
        ]
        brought: list[Delivery] = []
        room = MOST_BROUGHT
        for one in kept:
            answer = _read(one.delivery)
            is_reminder = answer and not answer.address and answer.reply.is_plain
            if answer and is_reminder and len(answer.reply.text) <= room:
                room -= len(answer.reply.text)
                brought.append(answer)
        text = "\n\n".join([*(answer.reply.text for answer in brought), delivery.reply.text])
        ids = tuple(answer.id for answer in brought)
        more_late = len(kept) > len(brought)
        return replace(
            delivery, reply=replace(delivery.reply, text=text), brings=ids, more_late=more_late
        )

    async def _read_wanted(
        self, conversation: str, one: StoredLateAnswer, unsent: set[str]
    ) -> Delivery | None:
        """A late answer that can be sent; a question that is over is removed, and what cannot be
        read given up.

        Args:
            unsent: ids of messages that are taken back; whoever reads their retraction removes what
            answers them alone.
        """
        answer = _read(one.delivery)
        if answer and answer.answers and unsent.issuperset(answer.answers):
            return None
        question = answer.reply.question if answer else None
        if answer and (question is None or await self._is_open(conversation, question)):
            return answer
        given_up = "" if answer else "cannot be read"
        await self._store.late_answers.remove(
            conversation, one.asker, one.delivery_id, given_up=given_up
        )
        return None

    async def _read_unsent(self, conversation: str) -> set[str]:
        """The messages that are taken back by what waits, or by what a turn under way is
        reading."""
        waiting = [event for _, event in readable(await self._store.inbox.read(conversation))]
        events = [*waiting, *(await self._read_journal(conversation)).all_events]
        return {event.target for event in events if event.event == "unsent"}

    async def _is_open(self, conversation: str, question: Question) -> bool:
        asked = (await self._read_journal(conversation)).open_question
        return asked is not None and asked.question.id == question.id

    async def _progress(self, conversation: str, asker: str) -> tuple[Progress, set[str]]:
        """How far the asker's answer is, and the ids of messages whose edits no turn has dealt
        with."""
        waiting = [event for _, event in readable(await self._store.inbox.read(conversation))]
        journal = await self._read_journal(conversation)
        outbox = [_read(raw) for raw in await self._store.outbox.read(conversation)]
        new = [*waiting, *([] if journal.steps else journal.events)]
        edited = {event.target for event in new if event.event == "edited"}
        if self._is_awaited_by(asker, journal.all_events):
            question = journal.open_question.question if journal.open_question else None
            is_sending = any(one and one.reply.question == question for one in outbox)
            return "asked" if question and not is_sending else "waiting", edited
        if self._is_awaited_by(asker, waiting):
            return "waiting", edited
        if not any(one and one.asker == asker for one in outbox):
            return "sent", edited
        return "waiting" if outbox[0] and outbox[0].not_before else "sending", edited

    def _is_awaited_by(self, asker: str, events: Iterable[InboundEvent]) -> bool:
        return any(
            event.author_id == asker and _is_awaited(event, self._commands) for event in events
        )

    async def _read_journal(self, conversation: str) -> TurnJournal:
        try:
            return read_entries(await self._store.journal.read(conversation))
        except UNREADABLE:
            return TurnJournal()


def _is_awaited(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether somebody waits for an answer to an event: what they say to each other is only
    translated."""
    to_others = event.unmentioned and parse(event, commands).command is None
    return event.event == CANNED or (event.event == "message" and not to_others)


def _read(raw: bytes) -> Delivery | None:
    try:
        return decode_delivery(raw)
    except UNREADABLE:
        log.error("delivery.unreadable", cause="a late answer or a delivery before it")
        return None
