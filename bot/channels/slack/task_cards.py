"""Task cards: what a streamed answer shows of its tool calls. A card has a title and a state, and
no arguments.

https://docs.slack.dev/reference/block-kit/blocks/task-card-block
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bot.channels.slack.formatting import one_line

MOST = 20  # cards of an answer; Slack takes 50 blocks
TITLE = 256  # UTF-16 code units

Status = Literal["in_progress", "complete", "error"]


class TaskCard(Struct, frozen=True):
    """One call; ``id`` is its number in the turn, as vendors' ids may be long."""

    id: str
    title: str
    status: Status = "in_progress"

    @property
    def chunk(self) -> dict[str, Any]:
        """The card in a stream."""
        return {"type": "task_update", "id": self.id, "title": self.title, "status": self.status}

    @property
    def block(self) -> dict[str, Any]:
        """The card in a message."""
        return {"type": "task_card", "task_id": self.id, "title": self.title, "status": self.status}


class TaskCards:
    """The cards of a turn."""

    def __init__(self) -> None:
        self._cards: dict[str, TaskCard] = {}
        self._changed: set[str] = set()

    @property
    def is_running(self) -> bool:
        """Whether a call runs."""
        return any(card.status == "in_progress" for card in self._cards.values())

    def start(self, call_id: str, title: str) -> None:
        """Add a call; beyond ``MOST`` it has no card."""
        if len(self._cards) < MOST and call_id not in self._cards:
            self._set(call_id, TaskCard(str(len(self._cards) + 1), one_line(title, TITLE) or "…"))

    def finish(self, call_id: str, *, failed: bool) -> None:
        """Show a call's end."""
        if card := self._cards.get(call_id):
            self._set(call_id, replace(card, status="error" if failed else "complete"))

    def take(self) -> list[TaskCard]:
        """The cards that have changed since the last time."""
        taken = [card for call_id, card in self._cards.items() if call_id in self._changed]
        self._changed.clear()
        return taken

    def at_end(self) -> tuple[TaskCard, ...]:
        """All cards when the turn is over: a call that was broken off has failed."""
        cards: list[TaskCard] = []
        for card in self._cards.values():
            if card.status == "in_progress":
                card = replace(card, status="error")
            cards.append(card)
        return tuple(cards)

    def _set(self, call_id: str, card: TaskCard) -> None:
        self._cards[call_id] = card
        self._changed.add(call_id)
