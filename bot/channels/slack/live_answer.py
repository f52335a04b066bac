"""One turn's answer while it is written: its text and the cards of its tool calls, as far as Slack
does not show them yet.

A card has a title and a state, and no arguments:
https://docs.slack.dev/reference/block-kit/blocks/task-card-block
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bot.channels.replies import head, units
from bot.channels.slack.formatting import LIMIT, open_tag_start, short_line, without_broadcasts
from bot.channels.slack.types import Address
from bot.live_events import (
    AnswerRestarted,
    AnswerText,
    LiveEvent,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)

ENOUGH = 80  # characters; a shorter answer arrives as fast in one piece
BREAK = "\n\n"
MOST_CARDS = 20  # of an answer; Slack takes 50 blocks
TITLE = 256  # UTF-16 code units


class TaskCard(Struct, frozen=True):
    """One call; ``id`` is its number in the turn, as vendors' ids may be long."""

    id: str
    title: str
    status: Literal["in_progress", "complete", "error"] = "in_progress"

    @property
    def chunk(self) -> dict[str, Any]:
        """The card in a stream."""
        return {"type": "task_update", "id": self.id, "title": self.title, "status": self.status}

    @property
    def block(self) -> dict[str, Any]:
        """The card in a message."""
        return {"type": "task_card", "task_id": self.id, "title": self.title, "status": self.status}


class Addition(NamedTuple):
    """What is to be shown next; a card replaces the one with its id."""

    text: str = ""
    cards: tuple[TaskCard, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.cards)

    def then(self, later: Addition) -> Addition:
        """Both in one."""
        cards = {card.id: card for card in (*self.cards, *later.cards)}
        return Addition(self.text + later.text, tuple(cards.values()))


class LiveAnswer:
    """Takes one turn's events (``bot.live_events.Watcher``).

    Args:
        under_way: the answers by turn id, until each has settled.
        shows_cards: the message would have cards.
    """

    def __init__(
        self, address: Address, under_way: dict[str, LiveAnswer], *, shows_cards: bool
    ) -> None:
        self.address = address
        self.turn_id = ""
        self.buffer = TextBuffer()
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()
        self.settled = asyncio.Event()
        self._cards: dict[str, TaskCard] = {}  # by id of the call
        self._changed_cards: dict[str, TaskCard] = {}
        self._under_way = under_way
        self._shows_cards = shows_cards
        self._before: LiveAnswer | None = None  # of the same turn, which has been restarted

    @property
    def is_calling(self) -> bool:
        """Whether a call runs whose card would be shown."""
        is_running = any(card.status == "in_progress" for card in self._cards.values())
        return self._shows_cards and is_running

    async def show(self, event: LiveEvent) -> None:
        """Take an event; it is shown in the background."""
        match event:
            case TurnStarted(turn_id):
                self.turn_id = turn_id
                self._before = self._under_way.get(turn_id)
                self._under_way[turn_id] = self
            case AnswerText(text):
                self.buffer.add(text)
            case ToolStarted():
                self.buffer.pause()
                self._start_card(event)
            case ToolFinished():
                if card := self._cards.get(event.call_id):
                    failed = event.is_error or event.is_rejected
                    card = replace(card, status="error" if failed else "complete")
                    self._set_card(event.call_id, card)
            case AnswerRestarted():
                self.buffer.restart()
            case _:
                return
        self.changed.set()

    def take(self) -> Addition:
        """What is to be shown now."""
        cards = tuple(self._changed_cards.values())
        self._changed_cards = {}
        return Addition(self.buffer.take(), cards)

    def last_cards(self) -> tuple[TaskCard, ...]:
        """All cards when the turn is over: a call that was broken off has failed."""
        cards: list[TaskCard] = []
        for card in self._cards.values():
            is_open = card.status == "in_progress"
            cards.append(replace(card, status="error") if is_open else card)
        return tuple(cards)

    def end(self) -> None:
        """The turn is over: the rest of the text comes with its delivery."""
        self.ended.set()
        self.changed.set()

    def settle(self) -> None:
        """Mark that nothing more is sent to Slack."""
        self.settled.set()
        if self._under_way.get(self.turn_id) is self:
            del self._under_way[self.turn_id]
            if self._before is not None and not self._before.settled.is_set():
                self._under_way[self.turn_id] = self._before

    def _start_card(self, event: ToolStarted) -> None:
        """Add a call; beyond ``MOST_CARDS`` it has no card."""
        if len(self._cards) < MOST_CARDS and event.call_id not in self._cards:
            title = short_line(event.title or event.name, TITLE) or "…"
            self._set_card(event.call_id, TaskCard(str(len(self._cards) + 1), title))

    def _set_card(self, call_id: str, card: TaskCard) -> None:
        self._cards[call_id] = self._changed_cards[call_id] = card


class TextBuffer:
    """Text of an answer that is not in its message yet."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._shown = 0

    @property
    def is_enough(self) -> bool:
        """Whether there is enough text to start a message."""
        return len("".join(self._pieces)) >= ENOUGH

    def add(self, text: str) -> None:
        """Add text."""
        self._pieces.append(text)

    def pause(self) -> None:
        """Drop the text before a tool call; if Slack shows a part of it, keep the rest and end its
        paragraph."""
        kept = "".join(self._pieces).rstrip() + BREAK
        self._pieces = [kept] if self._shown else []

    def restart(self) -> None:
        """Drop the text so far; if Slack shows some of it, end its paragraph."""
        self._pieces = [BREAK] if self._shown else []

    def take(self) -> str:
        """The text to show now; in all no more than one message holds."""
        waiting = "".join(self._pieces)
        if not waiting.strip():
            return ""
        ready = waiting[: open_tag_start(waiting)]
        self._pieces = [waiting[len(ready) :]]
        text = head(without_broadcasts(ready), LIMIT - self._shown)
        self._shown += units(text)
        return text
