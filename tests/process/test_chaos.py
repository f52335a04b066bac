"""The short form of ``make chaos``: whole processes killed under load, the store too, platforms
that fail."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.plan import Plan
from tests.chaos.report import is_clean, report
from tests.chaos.storm import storm

SHORT = Plan(
    seed=4,
    conversations=8,
    messages=3,
    seconds=7,
    processes=2,
    kill_every_s=3,
    kinds=("429", "500", "cut", "unheard"),  # a time-out takes longer than the rest
    slow_s=0.2,
    patience_s=60,
)


async def test_nothing_is_lost_and_nothing_is_said_twice(tmp_path: Path) -> None:
    """Every message has one answer, in order, and nothing is left over; the timeline of what went
    wrong is printed."""
    evidence = await storm(SHORT, tmp_path)
    assert evidence.counts["kills"] == 2
    assert evidence.counts["troubles"] > 0
    assert is_clean(evidence), "\n".join(report(evidence))
