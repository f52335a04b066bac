"""Which parts of a long suite the gate runs: every nth from a random offset; ``--nightly`` runs all
of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
OFFSETS = 120  # divisible by every step in use, so that each part has the same chance


@dataclass(frozen=True, slots=True)
class Sample:
    """What is chosen in one run.

    Attributes:
        everything: nothing is left out.
        offset: where the choice begins; printed in the header of the run, given again by
        ``--offset``.
    """

    everything: bool
    offset: int

    def step(self, every: int) -> int:
        """How far the chosen are apart."""
        return 1 if self.everything else every

    def of(self, items: Sequence[T], every: int) -> list[T]:
        """Every nth of the items."""
        step = self.step(every)
        return list(items[self.offset % step :: step])
