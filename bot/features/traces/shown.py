"""Turns as the page ``/inside`` gets them: rows of the list, steps of a turn, words of a step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bot.features.traces.reading import TracedTurn, is_lost
from bot.features.traces.records import Fact, Words

MOST_SHOWN = 512 * 1024  # characters of a text on the page; a download holds all of it
MOST_LINES = 400  # of a difference
STATES = ("answered", "failed")


def turn_row(turn: TracedTurn, now_ms: int) -> dict[str, Any]:
    """A turn in the list."""
    first = turn.first
    return {
        "id": turn.id,
        "at": turn.at,
        "ms": turn.ms,
        "state": state_of(turn, now_ms),
        "channel": first.channel,
        "conversation": first.conversation,
        "place": first.place,
        "person": first.person,
        "persona": turn.persona,
        "ratings": turn.ratings,
        "tools": turn.tools,
        "failures": turn.failures,
        "usd": turn.usd,
        "tokens": sum(usage.total for usage in turn.usages.values()),
        "words": turn.has_words,
    }


def state_of(turn: TracedTurn, now_ms: int) -> str:
    """``answered``, ``failed``, ``under_way``, ``waits`` for somebody's decision; ``sent`` for what
    is no turn; ``lost`` where the process was gone before the end."""
    if turn.outcome:
        return turn.outcome if turn.outcome in STATES else "other"
    if turn.is_notice:
        return "sent"
    if not turn.is_under_way(now_ms):
        return "lost"
    return "waits" if turn.waits else "under_way"


def turn_steps(turn: TracedTurn, now_ms: int) -> list[dict[str, Any]]:
    """The steps of a turn in their order, each with when it began and how long it took."""
    under_way = turn.is_under_way(now_ms)
    steps = []
    asked: dict[str, int] = {}  # when the last request was sent, by model
    for share, number, fact in turn.facts:
        began = share.at + fact.at - turn.at
        if fact.kind in ("response", "call"):  # whose times are those of their ends
            began = max(began - fact.ms, asked.get(fact.asked or fact.name, 0))
        elif fact.kind == "request":
            asked[fact.name] = began
        step = {
            "share": share.share,
            "number": number,
            "began": began,
            "kind": fact.kind,
            "name": fact.name,
            "outcome": fact.outcome,
            "ms": fact.ms,
            "facts": facts_of(fact),
            "lost": fact.kind == "request" and not under_way and is_lost(share.facts, number),
        }
        steps.append(step)
    return steps


def facts_of(fact: Fact) -> dict[str, Any]:
    """What else is known of a step, by the name of its field."""
    found: dict[str, Any] = {}
    for name in ("size", "id", "person", "risk", "next", "wait_ms"):
        if value := getattr(fact, name):
            found[name] = value
    if fact.usage is not None:
        for name in ("input", "cached", "output", "thinking"):
            found[name] = getattr(fact.usage, name)
    return found


def step_words(words: Words, body: bytes | None, cached: bytes) -> dict[str, Any]:
    """The words of a step.

    Args:
        body: of the request or response; None where a part of it is not kept.
        cached: what the vendor kept of the request.
    """
    text = text_of(body or b"")
    return {
        "text": cut(words.text),
        "who": words.who,
        "body": cut(text),
        "cached": cut(text_of(cached)),
        "is_cut": len(text) > MOST_SHOWN,
        "incomplete": body is None,
        "arguments": cut(text_of(words.arguments)),
        "made": cut(text_of(words.made)),
        "result": cut(text_of(words.result)),
    }


def text_of(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 is replaced."""
    return data.decode("utf-8", "replace")


def cut(text: str) -> str:
    """The beginning of a text."""
    return text[:MOST_SHOWN]


def pretty(body: bytes) -> list[str]:
    """The lines of a body: of its JSON, a member each, else as they are. Indents would be the
    longer the deeper it is."""
    text = text_of(body)
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=0)
    return text.encode("utf-8", "backslashreplace").decode().split("\n")  # half a character, too


def difference(before: Sequence[str], after: Sequence[str]) -> dict[str, Any]:
    """What lies between the lines that both begin with and those that both end with: one pass over
    each."""
    most = min(len(before), len(after))
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    gone, new = before[head : len(before) - tail], after[head : len(after) - tail]
    return {
        "same_before": head,
        "same_after": tail,
        "gone": [cut(line) for line in gone[:MOST_LINES]],
        "new": [cut(line) for line in new[:MOST_LINES]],
        "more": max(len(gone) - MOST_LINES, 0) + max(len(new) - MOST_LINES, 0),
    }
