"""What is told of a storm: counts, times, and the timeline of every conversation that went
wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tests.chaos.evidence import Evidence
from tests.chaos.judge import Verdict

FAULTS = {
    "lost": "lost",
    "answered twice": "twice",
    "  of these a LINE reply unknown past its minute": "line_window",
    "  of these a Slack post between look-up and post": "slack_window",
    "out of order": "reordered",
    "shown without an answer (apologies)": "unmarked",
}


def report(evidence: Evidence) -> Iterator[str]:
    """Line by line."""
    plan, verdicts = evidence.plan, evidence.verdicts()
    yield (
        f"seed {plan.seed}: {plan.conversations} × {plan.messages} messages, {plan.processes} "
        "processes"
    )
    yield ", ".join(f"{what}: {count}" for what, count in evidence.counts.items())
    unacknowledged = sum(not asked.acknowledged for talk in evidence.talks for asked in talk.asked)
    yield f"never acknowledged, given up by the platform: {unacknowledged}"
    for what, fault in FAULTS.items():
        yield f"{what}: {sum(len(getattr(verdict, fault)) for verdict in verdicts.values())}"
    for what, found in evidence.left.items():
        yield f"{what}: {len(found)}{': ' + ', '.join(found[:20]) if found else ''}"
    yield take_over(evidence.waits)
    for conversation, verdict in verdicts.items():
        if verdict != Verdict():
            yield from timeline(evidence, conversation, verdict)


def is_clean(evidence: Evidence) -> bool:
    """Whether nothing was lost, doubled, reordered or left behind, but for the windows that are
    known."""
    return all(verdict.is_clean for verdict in evidence.verdicts().values()) and not any(
        evidence.left.values()
    )


def take_over(waits: list[float]) -> str:
    """How long conversations waited after a kill."""
    if not waits:
        return "taken over after a kill: no conversation was under way"
    found = sorted(waits)
    p50, p99 = (found[min(int(len(found) * share), len(found) - 1)] for share in (0.5, 0.99))
    return f"taken over after a kill: p50 {p50:.1f} s, p99 {p99:.1f} s ({len(found)} conversations)"


def timeline(evidence: Evidence, conversation: str, verdict: Verdict) -> Iterator[str]:
    """Everything that concerns one conversation."""
    yield ""
    yield f"{conversation}: {verdict}"
    for event in evidence.timeline(conversation):
        clock = time.strftime("%H:%M:%S", time.localtime(event.at))
        yield f"  {clock}.{int(event.at % 1 * 1000):03d}  {event.who:<12} {event.what}"
