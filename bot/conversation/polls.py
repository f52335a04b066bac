"""Polls: a tool starts them, presses of buttons are counted without a turn, and the outbox shows
how they stand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import structlog
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Button, ButtonCard, Channel, Delivery, InboundEvent, Reply
from bot.conversation.intake import Start
from bot.conversation.memory import one_line, store_errors_for_model
from bot.conversation.services import Services
from bot.store import Store, StoredPoll
from bot.store.keys import OPEN_POLLS
from bot.texts import Texts, language_of
from bot.transcript import UNREADABLE, Author, Message, channel_of, encode
from toolset.tool import ToolError

log = structlog.stdlib.get_logger(__name__)

TOOL = "start_poll"
VOTE = "poll.vote"  # the action of all buttons
PREFIX = "poll_"
BESIDE = "polls"  # the purpose of the conversations that keep polls, and show their votes
VALUE = re.compile(r"(poll_[0-9a-f]{32}):(\d{1,2})")
MOST_PAST = 20  # that are shown of a history, apart from open ones
MINUTE_MS = 60_000
NO_WORDS = "invalid parameters: write the question and at least two different options in words"
FULL = (
    f"not started: {OPEN_POLLS} polls are open here already; who started one can close it by its "
    "button"
)
ONE = "not started: one poll in an answer; start the other one when you are asked again"


class Poll(Struct, frozen=True, omit_defaults=True):
    """A poll as it stands.

    Attributes:
        options: each with its number of votes in ``counts``, in the same order.
        voters: number of people.
        multiple: a voter may choose several options.
        language: of the sentences around it.
    """

    id: str
    question: str
    options: tuple[str, ...]
    counts: tuple[int, ...] = ()
    voters: int = 0
    multiple: bool = False
    is_closed: bool = False
    language: str = "en"

    def card(self, texts: Texts) -> ButtonCard:
        """The poll as people see it: a row and a button for each option, and a button that closes
        it."""
        return ButtonCard(
            self.question,
            self._rows(),
            self._status(texts),
            key=self.id,
            buttons=() if self.is_closed else self._buttons(texts),
        )

    def _rows(self) -> tuple[tuple[str, str], ...]:
        """Options with their votes, once there are any: where cards cannot be changed, zeros would
        stay."""
        if not (self.voters or self.is_closed):
            return tuple((option, "") for option in self.options)
        return tuple(zip(self.options, map(str, self.counts), strict=True))

    def _buttons(self, texts: Texts) -> tuple[Button, ...]:
        buttons: list[Button] = []
        for number, option in enumerate(self.options, 1):
            buttons.append(Button(option, VOTE, f"{self.id}:{number}"))
        label = texts.get("poll.close", self.language)
        return (*buttons, Button(label, VOTE, f"{self.id}:0", ends=True))

    def _status(self, texts: Texts) -> str:
        """The sentence below the counts."""
        key = "votes"
        if self.is_closed:
            key = "closed"
        elif self.multiple:
            key = "votes_multiple"
        return texts.get(f"poll.{key}", self.language, voters=self.voters)


_decode = Decoder(Poll).decode


class ToolPolls:
    """The polls of one place for tools (``toolset.stores.Polls``).

    Args:
        stored_in: the conversation that keeps them.
        language: where the question shows none.
    """

    def __init__(self, store: Store, stored_in: str, author: str, language: str) -> None:
        self._store = store
        self._stored_in = stored_in
        self._author = author
        self._language = language
        self._started = ""

    async def start(
        self, question: str, options: Sequence[str], *, multiple: bool, idempotency_key: str
    ) -> str:
        """Start a poll; its id.

        Raises:
            ToolError: no visible words, an option twice, a second poll in a turn, too many open
                ones, or no store.
        """
        asked, lines = one_line(question), tuple(one_line(option) for option in options)
        if not asked or not all(lines) or len({line.casefold() for line in lines}) < len(lines):
            raise ToolError(NO_WORDS)
        poll_id = f"{PREFIX}{sha256(idempotency_key.encode()).hexdigest()[:32]}"
        if self._started not in ("", poll_id):
            raise ToolError(ONE)
        language = language_of(asked, self._language)
        body = encode(Poll(poll_id, asked, lines, multiple=multiple, language=language))
        self._started = (
            poll_id  # before the store answers, as the calls of a response run side by side
        )
        is_stored = False
        try:
            async with store_errors_for_model():
                is_stored = await self._store.polls.start(
                    self._stored_in,
                    poll_id,
                    self._author,
                    body,
                    options=len(lines),
                    multiple=multiple,
                )
        finally:
            self._started = poll_id if is_stored else ""
        if not is_stored:
            raise ToolError(FULL)
        return poll_id


def polls_of(
    store: Store,
    channel: Channel,
    conversation: str,
    event: InboundEvent,
    author: Author,
    language: str,
) -> ToolPolls | None:
    """The polls of a place; None for somebody unknown, who could not close one, and where the
    answer shows none.

    Args:
        event: is answered.
    """
    is_possible = author.id and channel.shows_cards(event.address)
    return (
        ToolPolls(store, channel.beside(conversation, BESIDE), author.id, language)
        if is_possible
        else None
    )


async def show_poll(
    services: Services, stored_in: str, messages: Iterable[Message], reply: Reply
) -> Reply:
    """The reply of a turn with the poll that one of its calls has started.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    found = await _read_polls(services.store, stored_in, _started_in(messages)[:1])
    return replace(reply, card=found[0].card(services.texts)) if found else reply


async def read_poll(
    store: Store, stored_in: str, poll_id: str, pause_s: float | None = None
) -> Poll | int | None:
    """A poll as it stands; None if it is gone.

    Args:
        pause_s: given where a delivery shows it.

    Returns:
        A time (ms of the store's clock) where it was shown less than ``pause_s`` ago: then it may
        be shown again.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    pause_ms = None if pause_s is None else round(pause_s * 1000)
    stored = await store.polls.show(stored_in, poll_id, pause_ms)
    return _filled(stored) if isinstance(stored, StoredPoll) else stored


async def read_cards(
    store: Store, texts: Texts, stored_in: str, messages: Iterable[Message]
) -> list[ButtonCard]:
    """The newest polls that calls in these messages have started, oldest first, then the open polls
    of a place, those with the newest votes last.

    Raises:
        StoreUnavailable: they cannot be read.
    """
    is_open = await store.polls.open_ids(stored_in)
    past = [poll_id for poll_id in _started_in(messages) if poll_id not in is_open]
    polls = await _read_polls(store, stored_in, [*past[-MOST_PAST:], *is_open])
    return [poll.card(texts) for poll in polls]


def _started_in(messages: Iterable[Message]) -> list[str]:
    """The ids of the polls that calls in these messages have started."""
    ids = dict[str, None]()
    for message in messages:
        for result in message.results:
            if result.name == TOOL and not result.is_error:
                ids[str(result.response.get("poll", ""))] = None
    return list(ids)


async def _read_polls(store: Store, stored_in: str, ids: Iterable[str]) -> list[Poll]:
    found = await asyncio.gather(*(read_poll(store, stored_in, poll_id) for poll_id in ids))
    return [poll for poll in found if isinstance(poll, Poll)]


def _filled(stored: StoredPoll) -> Poll | None:
    try:
        poll = _decode(stored.body)
    except UNREADABLE:
        log.error("poll.unreadable")
        return None
    return replace(poll, counts=stored.counts, voters=stored.voters, is_closed=stored.is_closed)


class Votes:
    """Counts presses of polls' buttons (``bot.channels.Accept``). Each is one script, and starts no
    turn.

    Args:
        channels: by name.
        start: tells this process's worker of a conversation that is due.
        language: of sentences about a poll that is gone.
    """

    def __init__(
        self,
        store: Store,
        texts: Texts,
        channels: Mapping[str, Channel],
        start: Start,
        language: str = "en",
    ) -> None:
        self._store = store
        self._texts = texts
        self._channels = channels
        self._start = start
        self._language = language

    async def __call__(self, conversation: str, event: InboundEvent) -> bool:
        """Count one press, or tell that person alone why it does not count; a known id counts
        nothing.

        Raises:
            StoreUnavailable: nothing is counted, and the platform must send it again.
        """
        pressed = VALUE.fullmatch(event.target)
        if not event.author_id or not pressed:
            return False
        conversation = self._channels[channel_of(conversation)].beside(conversation, BESIDE)
        poll_id, press_id = pressed[1], event.message.id
        shows = Reply("", replaces=poll_id, private=True, fleeting=True, free=True)
        delivery = Delivery(f"{poll_id}_{press_id}", press_id, shows, event.address)
        outcome = await self._store.polls.press(
            conversation,
            poll_id,
            press_id,
            person=event.author_id,
            choice=int(pressed[2]),
            delivery=encode(delivery),
        )
        if outcome != "taken":
            await self._refuse(conversation, event, poll_id, outcome)
        self._start(conversation, "")
        return outcome == "taken"

    async def _refuse(
        self, conversation: str, event: InboundEvent, poll_id: str, outcome: str
    ) -> None:
        poll = await read_poll(self._store, conversation, poll_id)
        language = poll.language if isinstance(poll, Poll) else self._language
        text = self._texts.get(f"poll.{outcome}", language)
        reply = Reply(text, private=True, fleeting=True, free=True)
        # Once a minute for each person: in a LINE group everybody reads it.
        notice = f"{poll_id}_{outcome}_{event.author_id}_{event.message.at // MINUTE_MS}"
        delivery = Delivery(notice, event.message.id, reply, event.address)
        await self._store.outbox.post(conversation, delivery.id, encode(delivery))


async def fill_in(
    services: Services, channel: Channel, conversation: str, reply: Reply, *, again: bool = False
) -> Reply | int | None:
    """The reply that shows a poll anew, with the poll as it stands now; other replies as they are.

    Args:
        again: an earlier attempt has failed. What has changed since the first one is for the
            delivery that waits behind: with one more for each attempt, an outage would leave more
            than can be shown in time.

    Returns:
        None where the poll is gone; a time (ms of the store's clock) before which it is not to be
        shown again.

    Raises:
        StoreUnavailable: the poll cannot be read.
    """
    if not reply.replaces.startswith(PREFIX):
        return reply
    pause_s = None if again else channel.change_pause_s
    poll = await read_poll(services.store, conversation, reply.replaces, pause_s)
    if not isinstance(poll, Poll):
        return poll
    return replace(reply, text=poll.question, card=poll.card(services.texts))
