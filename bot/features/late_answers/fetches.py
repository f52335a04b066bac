"""What the button fetches: a late answer, or a sentence that says where it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Literal, NamedTuple

from msgspec.structs import replace

from bot.channels import Button, ButtonCard, Delivery, InboundEvent, KeptDelivery, Reply
from bot.commands import SpokenCommands
from bot.pipeline.journal import (
    TurnJournal,
    Undelivered,
    read_entries,
    read_held,
    read_outbox,
    read_waiting,
)
from bot.pipeline.select import CANNED, parse, unsent_among
from bot.pipeline.services import Services
from bot.texts import Texts, language_of
from bot.transcript import UNREADABLE

FETCH = "late.fetch"  # the action of the button
KEY = "late"  # begins the keys of what is found out when it is sent
# A card looks again after this time whether the answer that is being sent has arrived.
SOON_MS = 500
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


class Fetches:
    """Finds what a press of the button fetches. A late answer is kept until it has arrived."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.store
        self._texts = services.texts

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
        if fetch is None or (fetch.kind == "press" and delivery.attempts):
            return delivery
        is_card, way = fetch.kind == "card", await self._way(conversation, delivery.asker)
        if is_card and way == "always":
            return None
        with_card = _with_words(delivery, way, self._texts, fetch.language)
        if is_card and (not fetch.conversation or way == "press"):
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
            brings = (KeptDelivery(fetch.conversation, wanted[0]),)
            return replace(delivery, brings=brings, more_kept=len(wanted) + reopened > 1)
        if progress in ("asked", "sent"):
            text = self._texts.get(f"late.{progress}", fetch.language)
            return replace(delivery, reply=Reply(text, private=True, keep="if_free"))
        return with_card

    async def load(self, delivery: Delivery) -> Delivery | None:
        """A press with the late answer that it brings; None if that is gone: an earlier attempt has
        brought it, somebody has deleted it, or it is a question that is over.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        for conversation, delivery_id in delivery.brings:
            kept = await read_held(self._store, conversation, delivery.asker)
            unsent = await self._read_unsent(conversation)
            for one in kept:
                if one.delivery.id == delivery_id and await self._is_wanted(
                    conversation, one, unsent
                ):
                    reply = replace(one.delivery.reply, keep="if_free")
                    return self._with_button(replace(delivery, reply=reply))
        return None

    async def with_reminders(self, conversation: str, delivery: Delivery) -> Delivery:
        """An answer with the texts of its asker's reminders that could not be pushed, as far as
        there is room.

        They stand above its own text, the oldest first; what has more than a text waits for a press
        of the button.
        """
        kept = await read_held(self._store, conversation, delivery.asker)
        brings, texts, room = list[KeptDelivery](), list[str](), MOST_BROUGHT
        for _, one in kept if delivery.reply.is_plain else ():
            is_reminder = one.reply.is_plain and not one.address
            if is_reminder and len(one.reply.text) <= room:
                room -= len(one.reply.text)
                brings.append(KeptDelivery(conversation, one.id))
                texts.append(one.reply.text)
        reply = replace(delivery.reply, text="\n\n".join([*texts, delivery.reply.text]))
        more_kept = len(kept) > len(brings)
        return self._with_button(
            replace(delivery, reply=reply, brings=tuple(brings), more_kept=more_kept)
        )

    def _with_button(self, delivery: Delivery) -> Delivery:
        """The delivery with the button that fetches what else is kept for its asker."""
        if not delivery.more_kept:
            return delivery
        reply, texts = delivery.reply, self._texts
        language = language_of(reply.text, self._services.default_language(delivery.asker))
        button = fetch_button("earlier", delivery.asker, texts, language)
        return replace(delivery, reply=replace(reply, buttons=(*reply.buttons, button)))

    async def _way(self, conversation: str, asker: str) -> str:
        """How an answer without a token is sent, as far as that is known."""
        channel = self._services.channel(conversation)
        return "press" if channel is None else (await channel.reach(conversation, asker)).way

    async def _read_answers(
        self, conversation: str, asker: str, changed: Collection[str]
    ) -> tuple[list[str], int]:
        """The ids of the asker's late answers that can be sent, oldest first, and the number of
        those whose turn is about to be reopened."""
        kept = await read_held(self._store, conversation, asker)
        unsent = await self._read_unsent(conversation)
        wanted, reopened = [], 0
        for one in kept:
            if not await self._is_wanted(conversation, one, unsent):
                continue
            if one.delivery.is_reopened_by(changed):
                reopened += 1
            else:
                wanted.append(one.delivery.id)
        return wanted, reopened

    async def _is_wanted(self, conversation: str, one: Undelivered, unsent: set[str]) -> bool:
        """Whether a late answer can be sent; a question that is over is removed.

        Args:
            unsent: ids of messages that are taken back; whoever reads their retraction removes what
                answers them alone.
        """
        answer = one.delivery
        if answer.answers and unsent.issuperset(answer.answers):
            return False
        if not answer.reply.awaited:
            return True
        parked = (await self._read_journal(conversation)).parked
        if parked and parked.card.key == answer.reply.awaited:
            return True
        await self._store.outbox.remove_kept(conversation, one.raw)
        return False

    async def _read_unsent(self, conversation: str) -> set[str]:
        """The messages that are taken back by what waits, or by what a turn under way is
        reading."""
        waiting = await read_waiting(self._store, conversation)
        journal = await self._read_journal(conversation)
        return unsent_among(waiting + journal.all_events)

    async def _progress(self, conversation: str, asker: str) -> tuple[Progress, set[str]]:
        """How far the asker's answer is, and the ids of messages whose changes no turn has dealt
        with."""
        waiting = await read_waiting(self._store, conversation)
        journal = await self._read_journal(conversation)
        outbox = await read_outbox(self._store, conversation)
        new = list(waiting)
        if not journal.steps:
            new += journal.events
        changed = {event.target for event in new if event.is_change}
        if self._is_awaited_by(asker, journal.all_events):
            parked = journal.parked
            if parked and not any(one.reply.awaited == parked.card.key for one in outbox):
                return "asked", changed
            return "waiting", changed
        if self._is_awaited_by(asker, waiting):
            return "waiting", changed
        if not any(one.asker == asker for one in outbox):
            return "sent", changed
        return ("waiting" if outbox[0].not_before else "sending"), changed

    def _is_awaited_by(self, asker: str, events: Iterable[InboundEvent]) -> bool:
        commands = self._services.commands
        return any(event.author_id == asker and is_awaited(event, commands) for event in events)

    async def _read_journal(self, conversation: str) -> TurnJournal:
        try:
            return read_entries(await self._store.journal.read(conversation))
        except UNREADABLE:
            return TurnJournal()


def _with_words(delivery: Delivery, way: str, texts: Texts, language: str) -> Delivery:
    """The delivery; its card says how the answer comes."""
    if delivery.reply.card is None:
        return delivery
    words = texts.get("late.fetched" if way == "press" else "late.pushed", language)
    card = dataclasses.replace(delivery.reply.card, rows=(("", words),))
    return replace(delivery, reply=replace(delivery.reply, card=card))


def is_awaited(event: InboundEvent, commands: SpokenCommands) -> bool:
    """Whether somebody waits for an answer to an event: what people write to each other is only
    translated."""
    to_others = event.unmentioned and parse(event, commands).command is None
    return event.event == CANNED or (event.event == "message" and not to_others)
