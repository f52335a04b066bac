"""One turn's answer while it is written: its text and its cards, as far as Slack does not show them
yet."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from bot.channels.replies import head, units
from bot.channels.slack.formatting import LIMIT, open_tag_start, without_broadcasts
from bot.channels.slack.task_cards import TaskCard, TaskCards
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
        self.cards = TaskCards()
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()
        self.settled = asyncio.Event()
        self._under_way = under_way
        self._shows_cards = shows_cards
        self._before: LiveAnswer | None = None  # of the same turn, which has been restarted

    @property
    def is_calling(self) -> bool:
        """Whether a call runs whose card would be shown."""
        return self._shows_cards and self.cards.is_running

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
                self.cards.start(event.call_id, event.title or event.name)
            case ToolFinished():
                self.cards.finish(event.call_id, failed=event.is_error or event.is_rejected)
            case AnswerRestarted():
                self.buffer.restart()
            case _:
                return
        self.changed.set()

    def take(self) -> Addition:
        """What is to be shown now."""
        return Addition(self.buffer.take(), tuple(self.cards.take()))

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


class TextBuffer:
    """Text of an answer that is not in its message yet."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._shown = 0

    @property
    def is_enough(self) -> bool:
        """Whether there is enough text to start a message."""
        return self._length >= ENOUGH

    def add(self, text: str) -> None:
        """Add text."""
        self._pieces.append(text)
        self._length += len(text)

    def pause(self) -> None:
        """Drop the text before a tool call; if Slack shows a part of it, keep the rest and end its
        paragraph."""
        self._set_waiting("".join(self._pieces).rstrip() + BREAK if self._shown else "")

    def restart(self) -> None:
        """Drop the text so far; if Slack shows some of it, end its paragraph."""
        self._set_waiting(BREAK if self._shown else "")

    def take(self) -> str:
        """The text to show now; in all no more than one message holds."""
        waiting = "".join(self._pieces)
        if not waiting.strip():
            return ""
        ready = waiting[: open_tag_start(waiting)]
        self._set_waiting(waiting[len(ready) :])
        text = head(without_broadcasts(ready), LIMIT - self._shown)
        self._shown += units(text)
        return text

    def _set_waiting(self, text: str) -> None:
        self._pieces, self._length = [text], len(text)
