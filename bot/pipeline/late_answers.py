"""Late answers: where a reply token runs out before the answer is ready, a button is sent that
fetches the answer.

The clock decides whose a token is. For its first seconds (``Channel.time_left``) it is the
answer's; from then on it is the button's, and the answer is delivered without a token: it is
pushed, or stored until its asker presses. So no record of spent tokens is needed: whoever takes a
turn over reads the same clock.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Literal, NamedTuple

import structlog
from msgspec.structs import replace

from bot.channels import (
    Button,
    ButtonCard,
    Channel,
    Delivery,
    InboundEvent,
    LateAnswer,
    Reach,
    Reply,
)
from bot.commands import SpokenCommands
from bot.errors import LeaseLost, StoreUnavailable
from bot.pipeline.feature import Feature
from bot.pipeline.journal import TurnJournal, read_entries, read_waiting
from bot.pipeline.prepare import InboundMessages
from bot.pipeline.select import CANNED, parse
from bot.pipeline.services import Services
from bot.pipeline.undelivered import decode_delivery, is_reopened_by
from bot.store import Bound, Lease, StoredLateAnswer
from bot.texts import LANGUAGES, Texts, language_of
from bot.transcript import UNREADABLE, encode

FETCH = "late.fetch"  # the action of the button
PURPOSE = "late"  # of the side conversations that answer presses
KEY = "late"  # begins the keys of what is found out when it is sent

log = structlog.stdlib.get_logger(__name__)

# Between two looks at the messages that wait behind a turn.
LOOK_S = 10.0
# After a failure of the store.
REST_S = 1.0
# A card looks again after this time whether the answer that is being sent has arrived.
SOON_MS = 500
# So many presses wait in one place, and so many of one person: each of these brings an answer, or a
# sentence that there is none.
MOST_FETCHES, MOST_OF_ASKER = 200, 5
# Reminders above one answer have at most so many characters.
MOST_BROUGHT = 2_000

Progress = Literal["waiting", "asked", "sending", "sent"]


class Fetch(NamedTuple):
    """What a card or a press is about; the key of its reply holds it.

    Attributes:
        kind: ``press``, or ``card`` for the card with the button.
        language: of the sentences.
        conversation: whose late answers are meant; empty for a card that is needed in any case.
    """

    kind: str
    language: str
    conversation: str = ""

    @property
    def key(self) -> str:
        """See ``Reply.replaces``."""
        return " ".join((KEY, *self))


def fetch_of(reply: Reply) -> Fetch | None:
    """What a reply is about; None if it is none of ours."""
    first, *parts = reply.replaces.split(" ")
    return Fetch(*parts) if first == KEY else None


def fetch_button(label: str, asker: str, texts: Texts, language: str) -> Button:
    """A button that fetches late answers for one person."""
    value = f"{language}:{sha256(asker.encode()).hexdigest()[:32]}"
    return Button(texts.get(f"late.{label}", language), FETCH, value)


def card_for(event: InboundEvent, texts: Texts, language: str) -> ButtonCard:
    """The card that says that the answer to an event takes longer; how it comes is added when it is
    sent."""
    note = texts.get("late.group" if event.group else "late.kept", language)
    button = fetch_button("button", event.author_id, texts, language)
    return ButtonCard(texts.get("late.waiting", language), (), note, buttons=(button,))


def outbox_of_presses(channel: Channel, conversation: str) -> str:
    """The conversation whose outbox answers presses; none of their answers waits for a turn."""
    return channel.side_conversation(conversation, PURPOSE)


class LateButtons:
    """Spends the reply tokens of one conversation on buttons, under its lease."""

    def __init__(self, services: Services, lease: Lease, channel: Channel) -> None:
        self._services = services
        self._store = services.store
        self._lease = lease
        self._channel = channel
        self._fetches = outbox_of_presses(channel, lease.conversation)
        self._spent: set[str] = set()

    def time_left(self, address: str) -> float | None:
        """Seconds until the address's token is to be spent on a button; None if it is not."""
        if self._channel.expires and address and address not in self._spent:
            return self._channel.time_left(address)
        return None

    async def send_to_waiting(self) -> float | None:
        """Send buttons to people whose messages wait for a turn of theirs; seconds until the next
        one is due.

        Raises:
            LeaseLost: another process has the turn.
        """
        events = await read_waiting(self._store, self._lease.conversation)
        unsent = _unsent_among(events)
        times = []
        for event in events:
            is_unsent = event.message.id in unsent
            if is_unsent or not _is_awaited(event, self._services.commands):
                continue
            await self.send(event, event.address)
            if (left := self.time_left(event.address)) is not None:
                times.append(left)
        return min(times, default=None)

    async def send(self, event: InboundEvent, address: str, *, always: bool = False) -> None:
        """Spend a reply token on the button as soon as the answer may not use it any more.

        The button is sent beside the turn, once for each token, whichever process sends it.

        Args:
            always: send the button even if no answer is waited for by then, as nobody may have got
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
            button = f"late_{sha256(address.encode()).hexdigest()[:32]}"
            card = card_for(event, self._services.texts, language)
            fetch = Fetch("card", language, "" if always else self._lease.conversation)
            reply = Reply("", card=card, replaces=fetch.key, keep="if_free")
            delivery = Delivery(button, button, reply, address, asker=asker)
            if await self._store.outbox.post(self._fetches, button, encode(delivery)):
                log.info("late.told", message=event.message.id)
        self._spent.add(address)


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
            # It is not cancelled: without its button, a late answer could not be fetched.
            await watching

    async def _watch(self, over: asyncio.Event) -> None:
        pause_s = self._own_time_left()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(pause_s, 0)):
                    await over.wait()
            try:
                if self._inbound.newest:
                    await self._buttons.send(self._inbound.newest, self._inbound.address)
                if over.is_set():
                    return
                next_s = await self._buttons.send_to_waiting()
                pause_s = min(self._own_time_left(), LOOK_S if next_s is None else next_s)
            except LeaseLost:
                return
            except StoreUnavailable as error:
                log.warning("late.not_told", cause=str(error))
                if over.is_set():
                    return
                pause_s = REST_S

    def _own_time_left(self) -> float:
        if self._inbound.newest:
            left = self._buttons.time_left(self._inbound.address)
            if left is not None:
                return min(left, LOOK_S)
        return LOOK_S


class FetchPresses:
    """Takes presses of the button for late answers (``bot.channels.Accept``); what they bring is
    found when they are answered."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, conversation: str, event: InboundEvent) -> bool:
        """Take a press; others than the asker press in vain.

        Raises:
            StoreUnavailable: nothing is stored, and the platform must send it again.
        """
        language, channel = event.target.partition(":")[0], self._services.channel(conversation)
        if channel is None or not channel.expires or language not in LANGUAGES:
            return False
        card = card_for(event, self._services.texts, language)
        if not event.author_id or event.target != card.buttons[0].value:
            return False
        press, fetches = event.message.id, outbox_of_presses(channel, conversation)
        key = Fetch("press", language, conversation).key
        reply = Reply("", card=card, replaces=key, private=True, keep="if_free")
        fetch = Delivery(f"fetch_{press}", press, reply, event.address, asker=event.author_id)
        alike = b'"asker":' + encode(fetch.asker)
        bound = Bound(MOST_FETCHES, alike, MOST_OF_ASKER)
        taken = await self._services.store.outbox.post(fetches, fetch.id, encode(fetch), bound)
        self._services.start(fetches, "")
        return taken


class Fetches:
    """Finds what a press of the button fetches. A late answer stays where it is stored until it has
    arrived."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.store
        self._texts = services.texts
        self._commands = services.commands

    async def choose(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """Decide what a press gets, and whether the card with the button is still needed; others
        stay as they are.

        A press gets the asker's oldest late answer, or a sentence. Further attempts send the same.

        Args:
            conversation: whose outbox holds it.

        Returns:
            None for a card whose answer has been pushed; a time (ms of the store's clock) when to
            look again for one whose answer is being pushed.

        Raises:
            StoreUnavailable: it cannot be decided.
        """
        fetch = fetch_of(delivery.reply)
        if fetch is None or delivery.late is not None:
            return delivery
        is_card, reach = fetch.kind == "card", await self._reach(conversation, delivery.asker)
        if is_card and reach == "always":
            return None
        with_card = _with_words(delivery, reach, self._texts, fetch.language)
        if is_card and (not fetch.conversation or reach == "press"):
            return with_card
        # In the order in which messages and answers move, so that none is missed.
        progress, changed = await self._progress(fetch.conversation, delivery.asker)
        wanted, reopened = await self._read_answers(fetch.conversation, delivery.asker, changed)
        if reopened:
            progress = "waiting"
        if is_card:
            if wanted or progress == "waiting":
                return with_card
            if progress == "sending":
                return await self._store.now_ms(fetch.conversation) + SOON_MS
            return None
        if wanted:
            late = LateAnswer(fetch.conversation, wanted[0])
            return replace(delivery, late=late, more_late=len(wanted) + reopened > 1)
        reply = with_card.reply
        if progress in ("asked", "sent"):
            text = self._texts.get(f"late.{progress}", fetch.language)
            reply = Reply(text, private=True, keep="if_free")
        return replace(delivery, reply=reply, late=LateAnswer(fetch.conversation))

    async def _reach(self, conversation: str, asker: str) -> Reach:
        """How an answer without a token is sent, as far as that is known."""
        channel = self._services.channel(conversation)
        return "press" if channel is None else await channel.reach(conversation, asker)

    async def _read_late(self, conversation: str, asker: str) -> list[StoredLateAnswer]:
        """The stored late answers of one asker."""
        stored = await self._store.late_answers.read(conversation)
        return [one for one in stored if one.asker == asker]

    async def _read_answers(
        self, conversation: str, asker: str, changed: Collection[str]
    ) -> tuple[list[str], int]:
        """The ids of the asker's late answers that can be sent, oldest first, and the number of
        those whose turn is about to be reopened."""
        stored = await self._read_late(conversation, asker)
        unsent = await self._read_unsent(conversation)
        wanted, reopened = [], 0
        for one in stored:
            answer = await self._read_wanted(conversation, one, unsent)
            if answer and is_reopened_by(answer, changed):
                reopened += 1
            elif answer:
                wanted.append(answer.id)
        return wanted, reopened

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
            if delivery.more_late:
                delivery = await self._with_reminders(conversation, delivery)
            return self._with_button(delivery)
        stored = await self._read_late(late.stored_in, delivery.asker)
        unsent = await self._read_unsent(late.stored_in)
        for one in stored:
            if one.delivery_id == late.id:
                answer = await self._read_wanted(late.stored_in, one, unsent)
                return answer and self._with_button(replace(delivery, reply=answer.reply))
        return None

    def _with_button(self, delivery: Delivery) -> Delivery:
        """The delivery with the button that fetches what else is kept for its asker."""
        if not delivery.more_late:
            return delivery
        reply, texts = delivery.reply, self._texts
        language = language_of(reply.text, self._services.defaults.language)
        button = fetch_button("earlier", delivery.asker, texts, language)
        return replace(delivery, reply=replace(reply, buttons=(*reply.buttons, button)))

    async def _with_reminders(self, conversation: str, delivery: Delivery) -> Delivery:
        """The delivery with the texts of its asker's reminders that could not be pushed, as far as
        there is room.

        They stand above its own text, the oldest first; what has more than a text waits for a press
        of the button.
        """
        if not delivery.reply.is_plain:
            return delivery
        stored = await self._read_late(conversation, delivery.asker)
        ids, texts = list[str](), list[str]()
        room = MOST_BROUGHT
        for one in stored:
            answer = _read(one.delivery)
            is_reminder = answer and not answer.address and answer.reply.is_plain
            if answer and is_reminder and len(answer.reply.text) <= room:
                room -= len(answer.reply.text)
                ids.append(answer.id)
                texts.append(answer.reply.text)
        reply = replace(delivery.reply, text="\n\n".join([*texts, delivery.reply.text]))
        more_late = len(stored) > len(ids)
        return replace(delivery, reply=reply, brings=tuple(ids), more_late=more_late)

    async def _read_wanted(
        self, conversation: str, one: StoredLateAnswer, unsent: set[str]
    ) -> Delivery | None:
        """A late answer that can be sent; a question that is over is removed, and what cannot be
        read given up.

        Args:
            unsent: ids of messages that are taken back; whoever reads their retraction removes what
                answers them alone.
        """
        answer, given_up = _read(one.delivery), ""
        if answer is None:
            given_up = "cannot be read"
        elif answer.answers and unsent.issuperset(answer.answers):
            return None
        else:
            question_id = answer.reply.awaited
            if not question_id or await self._is_open(conversation, question_id):
                return answer
        await self._store.late_answers.remove(
            conversation, one.asker, one.delivery_id, given_up=given_up
        )
        return None

    async def _read_unsent(self, conversation: str) -> set[str]:
        """The messages that are taken back by what waits, or by what a turn under way is
        reading."""
        waiting = await read_waiting(self._store, conversation)
        journal = await self._read_journal(conversation)
        return _unsent_among(waiting + journal.all_events)

    async def _is_open(self, conversation: str, question_id: str) -> bool:
        asked = (await self._read_journal(conversation)).open_question
        return asked is not None and asked.question.id == question_id

    async def _progress(self, conversation: str, asker: str) -> tuple[Progress, set[str]]:
        """How far the asker's answer is, and the ids of messages whose changes no turn has dealt
        with."""
        waiting = await read_waiting(self._store, conversation)
        journal = await self._read_journal(conversation)
        outbox = [_read(raw) for raw in await self._store.outbox.read(conversation)]
        new = list(waiting)
        if not journal.steps:
            new += journal.events
        changed = {event.target for event in new if event.is_change}
        if self._is_awaited_by(asker, journal.all_events):
            asked = journal.open_question
            if asked and not any(one and one.reply.awaited == asked.question.id for one in outbox):
                return "asked", changed
            return "waiting", changed
        if self._is_awaited_by(asker, waiting):
            return "waiting", changed
        if not any(one and one.asker == asker for one in outbox):
            return "sent", changed
        if outbox[0] and outbox[0].not_before:
            return "waiting", changed
        return "sending", changed

    def _is_awaited_by(self, asker: str, events: Iterable[InboundEvent]) -> bool:
        return any(
            event.author_id == asker and _is_awaited(event, self._commands) for event in events
        )

    async def _read_journal(self, conversation: str) -> TurnJournal:
        try:
            return read_entries(await self._store.journal.read(conversation))
        except UNREADABLE:
            return TurnJournal()


class LateAnswers(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self.actions = {FETCH: FetchPresses(services)}
        self._fetches = Fetches(services)

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """What a press has been found to fetch; see ``Fetches.choose``."""
        return await self._fetches.choose(conversation, delivery)


def _with_words(delivery: Delivery, reach: Reach, texts: Texts, language: str) -> Delivery:
    """The delivery; its card says how the answer comes."""
    if delivery.reply.card is None:
        return delivery
    words = texts.get("late.fetched" if reach == "press" else "late.pushed", language)
    card = dataclasses.replace(delivery.reply.card, rows=(("", words),))
    return replace(delivery, reply=replace(delivery.reply, card=card))


def _unsent_among(events: Iterable[InboundEvent]) -> set[str]:
    """The ids of the messages that these events take back."""
    return {event.target for event in events if event.event == "unsent"}


def _is_awaited(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether somebody waits for an answer to an event: what people write to each other is only
    translated."""
    to_others = event.unmentioned and parse(event, commands).command is None
    return event.event == CANNED or (event.event == "message" and not to_others)


def _read(raw: bytes) -> Delivery | None:
    try:
        return decode_delivery(raw)
    except UNREADABLE:
        log.error("delivery.unreadable", cause="a late answer or a delivery before it")
        return None
