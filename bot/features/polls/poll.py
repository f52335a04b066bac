"""A poll, its card, and how both are read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Button, ButtonCard
from bot.features.polls.store import StoredPoll, StoredPolls
from bot.texts import Texts
from bot.transcript import UNREADABLE, Message

log = structlog.stdlib.get_logger(__name__)

TOOL = "start_poll"
VOTE = "poll.vote"  # the action of all buttons
PREFIX = "poll_"  # of ids
PURPOSE = "polls"  # of the side conversations that keep polls, and show their votes
MOST_PAST = 20  # that are shown of a history, apart from open ones


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
        return (*buttons, Button(label, VOTE, f"{self.id}:0", closes=True))

    def _status(self, texts: Texts) -> str:
        """The sentence below the counts."""
        key = "votes"
        if self.is_closed:
            key = "closed"
        elif self.multiple:
            key = "votes_multiple"
        return texts.get(f"poll.{key}", self.language, voters=self.voters)


_decode = Decoder(Poll).decode


async def read_poll(
    polls: StoredPolls, stored_in: str, poll_id: str, pause_s: float | None = None
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
    stored = await polls.show(stored_in, poll_id, pause_ms)
    if not isinstance(stored, StoredPoll):
        return stored
    try:
        poll = _decode(stored.body)
    except UNREADABLE:
        log.error("poll.unreadable")
        return None
    return replace(poll, counts=stored.counts, voters=stored.voters, is_closed=stored.is_closed)


async def read_cards(
    polls: StoredPolls, texts: Texts, stored_in: str, messages: Iterable[Message]
) -> list[ButtonCard]:
    """The newest polls that calls in these messages have started, oldest first, then the open polls
    of a place, those with the newest votes last.

    Raises:
        StoreUnavailable: they cannot be read.
    """
    is_open = await polls.open_ids(stored_in)
    past = [poll_id for poll_id in started_in(messages) if poll_id not in is_open]
    ids = [*past[-MOST_PAST:], *is_open]
    found = await asyncio.gather(*(read_poll(polls, stored_in, poll_id) for poll_id in ids))
    return [poll.card(texts) for poll in found if isinstance(poll, Poll)]


def started_in(messages: Iterable[Message]) -> list[str]:
    """The ids of the polls that calls in these messages have started."""
    ids = dict[str, None]()
    for message in messages:
        for result in message.results:
            if result.name == TOOL and not result.is_error:
                ids[str(result.response.get("poll", ""))] = None
    return list(ids)
