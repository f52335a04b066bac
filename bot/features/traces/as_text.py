"""A turn as lines of a terminal. What people and models have written is hostile: no character of
it moves the cursor, hides or reorders what stands beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from msgspec.json import encode

from bot.features.traces.reading import TracedTurn, TurnWords, is_lost, usd_of
from bot.features.traces.records import Fact, Share, Words
from bot.safe_text.glyphs import invisible

MOST_SHOWN = 2_000  # characters of a text
LINE = 100  # characters of a text on one line
BAR = 20  # characters
ENDED_HERE = "sent; not recorded: the process ended here"
BROKEN_OFF = "sent; broken off before an answer"
# What a terminal obeys or does not show, and JSON may hold as it is.
UNSEEN_IN_JSON = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


class Look(NamedTuple):
    """A turn as somebody looks at it."""

    turn: TracedTurn
    words: TurnWords
    zone: tzinfo
    now_ms: int


class Turns(NamedTuple):
    """The newest turns of a conversation."""

    turns: list[TracedTurn]
    zone: tzinfo


def visible(text: str) -> str:
    """The text with an escape for each character that a terminal obeys or does not show."""
    if not (hidden := invisible(text)):
        return text
    letters = list(text)
    for place in hidden:
        letters[place] = letters[place].encode("unicode_escape").decode()
    return "".join(letters)


def on_one_line(text: str, most: int = LINE) -> str:
    """The beginning of a text."""
    line = " ".join(text[: 4 * most].split())
    return visible(line if len(line) <= most else f"{line[: most - 1]}…")


def json_text(value: Any) -> str:
    """JSON, in which no character is one that a terminal obeys or does not show."""
    return UNSEEN_IN_JSON.sub(_json_escape, encode(value).decode())


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex(" ", 2).split()
    return "".join(f"\\u{unit}" for unit in units)


def clock_time(at: int, zone: tzinfo = UTC) -> str:
    """A time as people read it, to the second."""
    return datetime.fromtimestamp(at / 1000, zone).strftime("%Y-%m-%d %H:%M:%S")


def money(usd: float | None) -> str:
    """Dollars; a question mark where a model has no price."""
    return "?" if usd is None else f"{usd:.4f}"


def mark_of(turn: TracedTurn) -> str:
    """What went wrong in a turn, and how it was rated, in a few words."""
    return visible(" ".join([*turn.failures, *turn.ratings]))


def waterfall(turn: TracedTurn, kept: TurnWords, zone: tzinfo, now_ms: int) -> Iterator[str]:
    """The lines of a turn: its sums, then each step with its words."""
    yield from _head(turn, kept, zone, now_ms)
    for place, share in enumerate(turn.shares):
        if place:
            yield from _share_line(turn.shares[place - 1], share, zone)
        for number, fact in enumerate(share.facts):
            yield _step(turn, share, fact)
            if words := kept.by_fact.get((share.share, number)):
                yield from _texts(words)
            if _is_unrecorded(turn, share, number, now_ms):
                yield f"    {BROKEN_OFF if share.outcome or share.left else ENDED_HERE}"
    if kept.damaged:
        yield "The rest of the words is damaged and cannot be read."


def _head(turn: TracedTurn, kept: TurnWords, zone: tzinfo, now_ms: int) -> Iterator[str]:
    first, tokens, cached = turn.first, 0, 0
    for usage in turn.usages.values():
        tokens += usage.total
        cached += usage.cached
    ended = turn.outcome or ("sent without a turn" if turn.is_notice else "never ended")
    if turn.is_under_way(now_ms):
        ended = "waits for a decision" if turn.waits else "under way"
    yield f"{visible(turn.id)}  {clock_time(turn.at, zone)}  {visible(ended)}, {_seconds(turn.ms)}"
    whose = f"conversation {first.conversation}"
    if kept.conversation:
        whose += f" ({visible(kept.conversation)})"
    yield f"{visible(first.channel)}  {whose}  place {first.place}  person {first.person or '-'}"
    cost = "without a known price" if turn.usd is None else f"about {money(turn.usd)} USD"
    persona = f", persona {turn.persona}" if turn.persona else ""
    yield f"{tokens:,} tokens, {cached:,} of them cached, {cost}{persona}"
    if wrong := mark_of(turn):
        yield f"! {wrong}"


def _share_line(before: Share, share: Share, zone: tzinfo) -> Iterator[str]:
    if share.is_rating:
        yield f"-- rated later, {clock_time(share.at, zone)}"
        return
    how = "" if before.outcome or before.left else ", which recorded no end"
    yield f"-- another process, {clock_time(share.at, zone)}: goes on after {before.share}{how}"


def _is_unrecorded(turn: TracedTurn, share: Share, number: int, now_ms: int) -> bool:
    """Whether a request has no answer, as the process that sent it is gone."""
    is_request = share.facts[number].kind == "request"
    return is_request and is_lost(share.facts, number) and not turn.is_under_way(now_ms)


def _step(turn: TracedTurn, share: Share, fact: Fact) -> str:
    """One step: when, how long, what."""
    at = share.at + fact.at - turn.at
    # A delivery is noted at its beginning, all else that takes time at its end.
    begun = at if fact.kind == "delivery" else at - fact.ms
    took = f"{fact.ms:,} ms" if fact.ms else ""
    what = " ".join(visible(word) for word in _words_of(fact) if word)
    bar = _bar(begun, fact.ms, turn.ms)
    return f"{begun / 1000:+9.3f} s {took:>10} |{bar}| {fact.kind:<8} {what}".rstrip()


def _words_of(fact: Fact) -> Iterator[str]:
    yield fact.name
    yield fact.outcome
    yield f"{fact.size:,} bytes" if fact.size else ""
    if fact.usage:
        yield f"{fact.usage.total:,} tokens ({fact.usage.cached:,} cached)"
        usd = usd_of({fact.name: fact.usage})
        yield "" if usd is None else f"{money(usd)} USD"
    yield f"risk {fact.risk}" if fact.risk else ""
    if fact.kind == "failure":
        wait = f" in {_seconds(fact.wait_ms)}" if fact.wait_ms else ""
        yield f"then {fact.next}{wait}" if fact.next else "no further attempt"
    yield f"by {fact.person}" if fact.person else ""
    yield fact.id


def _texts(words: Words) -> Iterator[str]:
    yield from _indented("", f"{words.who}: {words.text}" if words.who else words.text)
    yield from _indented("arguments ", words.arguments.decode("utf-8", "replace"))
    yield from _indented("made with ", words.made.decode("utf-8", "replace"))
    yield from _indented("result ", words.result.decode("utf-8", "replace"))


def _indented(name: str, text: str) -> Iterator[str]:
    if not text:
        return
    shown = text[:MOST_SHOWN]
    for place, line in enumerate(shown.split("\n")):
        yield f"    > {name if not place else ''}{visible(line)}"
    if len(shown) < len(text):
        yield f"    > … {len(text) - len(shown):,} more characters: --json prints all"


def _bar(begun: int, ms: int, whole: int) -> str:
    """Where a step lies in its turn."""
    scale = BAR / max(whole, 1)
    start = max(0, min(BAR - 1, int(begun * scale)))
    length = max(1, min(BAR - start, round(ms * scale)))
    return f"{' ' * start}{'=' * length}".ljust(BAR)


def _seconds(ms: int) -> str:
    return f"{ms / 1000:,.2f} s"


def turn_rows(turns: Sequence[TracedTurn], zone: tzinfo) -> Iterator[tuple[str, ...]]:
    """Turns as rows of a table."""
    for turn in turns:
        yield (
            turn.id,
            clock_time(turn.at, zone),
            visible(turn.ended),
            _seconds(turn.ms),
            visible(" ".join(turn.tools)) or "-",
            money(turn.usd),
            mark_of(turn) or "-",
        )
