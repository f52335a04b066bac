"""What a storm is made of, and the dice by which everything else in it is drawn."""

from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = ("429", "500", "cut", "unheard", "timeout")


@dataclass(frozen=True)
class Plan:
    """A storm.

    Attributes:
        seconds: over which the messages are sent, and processes killed.
        kill_every_s: from one kill to the next.
        trouble: share of messages for which a platform's answer goes wrong.
        kinds: of such troubles.
        slow_s: from a platform's obeying a call to its answer.
        patience_s: how long what is left may take after the last message.
    """

    seed: int
    conversations: int = 60
    messages: int = 5
    seconds: float = 90.0
    processes: int = 3
    kill_every_s: float = 5.0
    trouble: float = 0.3
    kinds: tuple[str, ...] = KINDS
    slow_s: float = 0.5
    patience_s: float = 180.0

    def dice(self, thrower: str) -> random.Random:
        """Dice of one's own: what others throw changes nothing."""
        return random.Random(f"{self.seed}/{thrower}")  # noqa: S311 -- no secret
