"""What the commands print."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path

from bot.errors import BadInput
from bot.features.traces.as_text import (
    Look,
    Turns,
    clock_time,
    json_text,
    money,
    on_one_line,
    turn_rows,
    visible,
    waterfall,
)
from bot.features.traces.export import as_object, write_raw
from bot.features.traces.reading import TracedTurn, TurnWords
from bot.features.traces.records import Act
from bot.features.traces.summaries import Conversation, Gap, Report
from bot.reports import print_table

NOT_KEPT = "no words are kept of it: TRACE_WORDS_HOURS says for how long they are"
REFUSED = (
    "no words are kept of it: the conversation is private (/private on), or they were deleted "
    "meanwhile, or the store was full"
)
OF_NO_TURN = "no words are kept of what is sent without a turn"
DELETED = "its words are deleted: TRACE_WORDS_HOURS is over, or somebody had them deleted"


def print_turn(look: Look, *, as_json: bool, raw: Path | None) -> None:
    """Print a turn, or write its requests and responses into a file.

    Raises:
        BadInput: its words are not kept, or the file cannot be written.
    """
    why = _why_no_words(look.turn)
    if raw:
        if not look.words.by_fact:
            raise BadInput(f"{look.turn.id}: {why}")
        count, missing = write_raw(raw, look.turn, look.words)
        print(f"{count} requests and responses in {raw}", file=sys.stderr)
        if missing:
            print(f"{missing} are left out: a part of them is not kept", file=sys.stderr)
    elif as_json:
        print(json_text(as_object(look.turn, look.words)))
    else:
        for line in waterfall(look.turn, look.words, look.zone, look.now_ms):
            print(line)
        if not look.words.by_fact:
            print(why, file=sys.stderr)


def _why_no_words(turn: TracedTurn) -> str:
    if turn.has_words:
        return DELETED
    if turn.is_notice:
        return OF_NO_TURN
    return REFUSED if any(share.refused for share in turn.shares) else NOT_KEPT


def print_turns(found: Turns, *, as_json: bool) -> None:
    """Print the turns of a conversation, without words."""
    if as_json:
        print(json_text([as_object(turn, TurnWords()) for turn in found.turns]))
        return
    head = ("turn", "when", "outcome", "took", "tools", "USD", "what went wrong")
    print_table(head, turn_rows(found.turns, found.zone), elastic=len(head) - 1)


def print_conversations(found: Sequence[Conversation], zone: tzinfo, *, as_json: bool) -> None:
    """Print conversations, one a line."""
    if as_json:
        print(json_text(found))
        return
    rows = []
    for one in found:
        numbers = str(one.turns), str(one.failed), f"{one.good}/{one.bad}", money(one.usd)
        tools = visible(" ".join(one.tools)) or "-"
        name = on_one_line(one.id) or f"{visible(one.channel)}:…"
        when = clock_time(one.last_at, zone)
        rows.append((one.last_turn, one.conversation, when, *numbers, name, tools))
    head = ("newest turn", "conversation", "last", "turns", "failed", "good/bad", "USD")
    if rows:
        print_table((*head, "id", "tools"), rows, elastic=len(head))
    print(f"{len(rows)} conversations; kaiwa trace shows one, or a turn", file=sys.stderr)


def print_gaps(found: Sequence[Gap], *, as_json: bool) -> None:
    """Print what people did not get: by week, place and kind, each with its newest question."""
    if as_json:
        print(json_text(found))
        return
    groups: dict[tuple[str, str, str, str, str], list[Gap]] = {}
    for gap in found:
        key = (gap.week, gap.channel, gap.place, gap.kind, gap.what)
        groups.setdefault(key, []).append(gap)
    rows = []
    for key, those in groups.items():
        question = next((gap.question for gap in those if gap.question), "")
        names = [visible(name) for name in key]
        rows.append((those[0].turn, *names, str(len(those)), on_one_line(question) or "-"))
    head = ("newest turn", "week", "channel", "place", "kind", "what", "how often", "question")
    if rows:
        print_table(head, rows, elastic=len(head) - 1)
    print(f"{len(found)} gaps", file=sys.stderr)


def print_acts(found: Sequence[Act], zone: tzinfo, *, as_json: bool) -> None:
    """Print the record of acts, the newest first."""
    if as_json:
        print(json_text(found))
        return
    rows = []
    for act in found:
        decided = f"{act.decided} by {act.by or 'rules'}" if act.decided else "-"
        what = visible(act.what)
        when, who = clock_time(act.at, zone), act.who or "-"
        rows.append((act.turn, when, who, what, decided, act.outcome or "-"))
    if rows:
        head = ("turn", "when", "who", "what", "decided", "outcome")
        print_table(head, rows, elastic=len(head) - 1)
    print(f"{len(rows)} acts", file=sys.stderr)


def print_report(found: Report, *, as_json: bool) -> None:
    """Print the report."""
    if as_json:
        print(json_text(found))
        return
    rows = [("people", f"{found.people:,}"), ("turns", f"{found.turns:,}")]
    rows += [("answers", f"{found.answers:,}"), ("within 5 s", f"{found.soon:,}")]
    rows += [("good ratings", f"{found.good:,}"), ("bad ratings", f"{found.bad:,}")]
    rows += [(f"failed: {visible(name)}", f"{count:,}") for name, count in found.failures.items()]
    rows += [(f"gaps: {visible(name)}", f"{count:,}") for name, count in found.gaps.items()]
    for one in found.money:
        what = f"{one.model} {one.persona} in {one.channel} {one.place}"
        rows.append((visible(what), f"{money(one.usd)} USD"))
    print_table(("what", ""), rows)
    print(f"about {found.usd:.2f} USD in {found.days} days", file=sys.stderr)
