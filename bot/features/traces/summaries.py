"""Turns in numbers: by conversation, what people did not get, and the report of some days."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from bot.features.traces.reading import (
    FAILED,
    TracedTurn,
    Wanted,
    find_turns,
    read_first_words,
    usd_of,
)
from bot.features.traces.records import Words
from bot.features.traces.store import Traces
from bot.transcript import Usage

MOST_TURNS = 50_000  # that are counted
SOON_MS = 5_000
NOTHING: Mapping[str, Words] = {}


class Conversation(Struct, frozen=True):
    """Turns of a conversation.

    Attributes:
        conversation: its keyed digest; ``id`` is its real one, where words are kept.
        last_at: when the newest one began, milliseconds since the epoch; ``last_turn`` is its id.
        failed: turns, those included in which a call or a delivery did.
    """

    conversation: str
    id: str
    channel: str
    place: str
    last_at: int
    last_turn: str
    turns: int
    failed: int
    good: int
    bad: int
    tools: list[str]
    usd: float | None


class Gap(Struct, frozen=True):
    """Something that a person did not get.

    Attributes:
        week: such as ``2026-W48`` (UTC).
        kind: ``rating``, ``tool``, ``limit``, ``delivery`` or ``turn``.
        what: the tool, or the kind of failure.
        question: the words of the turn's first message, while they are kept.
    """

    at: int
    week: str
    channel: str
    place: str
    kind: str
    what: str
    turn: str
    question: str = ""


class Money(Struct, frozen=True):
    """What a model has cost in a place (its keyed digest) with a persona."""

    model: str
    persona: str
    channel: str
    place: str
    tokens: int
    usd: float | None


class Report(Struct, frozen=True):
    """What some days were like.

    Attributes:
        turns: all; ``answers`` are those that asked a model and did not fail, ``soon`` those of
            them that took five seconds at most.
        failures: failed turns, calls and deliveries by cause.
        gaps: by kind.
        usd: of all models that have a price.
    """

    days: int
    people: int
    turns: int
    answers: int
    soon: int
    failures: dict[str, int]
    money: list[Money]
    usd: float
    good: int
    bad: int
    gaps: dict[str, int]


async def conversations(traces: Traces, wanted: Wanted, most: int) -> list[Conversation]:
    """Conversations with turns that fit, the one with the newest first."""
    by_conversation: dict[str, list[TracedTurn]] = defaultdict(list)
    for turn in await find_turns(traces, wanted, MOST_TURNS):
        if not turn.is_notice:
            by_conversation[turn.first.conversation].append(turn)
    shown = list(by_conversation.values())[:most]
    worded = [next(filter(lambda turn: turn.has_words, turns), turns[0]) for turns in shown]
    words = await read_first_words(traces, worded)
    found = []
    for turns, of_words in zip(shown, worded, strict=True):
        kept = words.get(of_words.id)
        found.append(_conversation(turns, kept.conversation if kept else ""))
    return found


def _conversation(turns: Sequence[TracedTurn], conversation_id: str) -> Conversation:
    newest, ratings, tools = turns[0], Counter[str](), dict[str, None]()
    for turn in turns:
        ratings.update(turn.ratings)
        tools.update(dict.fromkeys(turn.tools))
    return Conversation(
        newest.first.conversation,
        conversation_id,
        newest.first.channel,
        newest.first.place,
        newest.at,
        newest.id,
        len(turns),
        sum(bool(turn.failures) for turn in turns),
        ratings["good"],
        ratings["bad"],
        list(tools),
        usd_of(_usages(turns)),
    )


async def gaps(traces: Traces, since: int) -> list[Gap]:
    """What people asked and did not get, the newest first, with words while they are kept."""
    turns = await find_turns(traces, Wanted(since=since), MOST_TURNS)
    lacking = [turn for turn in turns if any(_lacks(turn))]
    words = await read_first_words(traces, [turn for turn in lacking if turn.has_words])
    return _gaps(lacking, words)


def _gaps(turns: Sequence[TracedTurn], words: Mapping[str, Words]) -> list[Gap]:
    found = []
    for turn in turns:
        question = words[turn.id].text if turn.id in words else ""
        year, week, _ = datetime.fromtimestamp(turn.at / 1000, UTC).isocalendar()
        name, channel, place = f"{year}-W{week:02}", turn.first.channel, turn.first.place
        for kind, what in _lacks(turn):
            found.append(Gap(turn.at, name, channel, place, kind, what, turn.id, question))
    return found


def _lacks(turn: TracedTurn) -> Iterator[tuple[str, str]]:
    """Kind and name of each thing that a turn lacks, once."""
    if "bad" in turn.ratings:
        yield "rating", "bad"
    found: dict[tuple[str, str], None] = {}
    for _, _, fact in turn.facts:
        if fact.kind == "call" and fact.outcome == "error":
            found["tool", fact.name] = None
        elif fact.kind == "event" and fact.outcome == "refused":
            found["limit", "refused"] = None
        elif fact.kind == "delivery" and fact.outcome == "refused":
            found["delivery", fact.outcome] = None
        elif fact.kind == "failure" and not fact.next and turn.outcome == FAILED:
            found["turn", fact.outcome] = None
    yield from found
    if turn.outcome == FAILED and not any(kind == "turn" for kind, _ in found):
        yield "turn", FAILED


async def report(traces: Traces, days: int, since: int) -> Report:
    """What the turns since then were like."""
    found = await find_turns(traces, Wanted(since=since), MOST_TURNS)
    turns = [turn for turn in found if turn.has_events]  # others are notices and the like
    people, failures, ratings = set[str](), Counter[str](), Counter[str]()
    for turn in turns:
        people.update(share.person for share in turn.shares if share.person)
        failures.update(turn.failures)
        ratings.update(turn.ratings)
    answers = [turn for turn in turns if turn.asks_model and turn.outcome not in ("", FAILED)]
    spent = _money(turns)
    return Report(
        days,
        len(people),
        len(turns),
        len(answers),
        sum(turn.ms <= SOON_MS for turn in answers),
        dict(failures.most_common()),
        spent,
        round(sum(one.usd or 0.0 for one in spent), 4),
        ratings["good"],
        ratings["bad"],
        dict(Counter(gap.kind for gap in _gaps(turns, NOTHING)).most_common()),
    )


def _money(turns: Sequence[TracedTurn]) -> list[Money]:
    """What each model has cost in each place with each persona, the most first."""
    by_place: dict[tuple[str, str, str], list[TracedTurn]] = defaultdict(list)
    for turn in turns:
        by_place[turn.persona, turn.first.channel, turn.first.place].append(turn)
    found = []
    for where, those in by_place.items():
        for model, usage in _usages(those).items():
            found.append(Money(model, *where, usage.total, usd_of({model: usage})))
    return sorted(found, key=lambda one: (one.usd or 0.0, one.tokens), reverse=True)


def _usages(turns: Sequence[TracedTurn]) -> dict[str, Usage]:
    used: dict[str, Usage] = {}
    for turn in turns:
        for model, usage in turn.usages.items():
            used[model] = used.get(model, Usage()) + usage
    return used
