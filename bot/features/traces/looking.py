"""What an operator asks for in the terminal, read from the store."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bot.clock import DAY_S
from bot.errors import BadInput
from bot.features.traces import summaries
from bot.features.traces.as_text import Look, Turns
from bot.features.traces.reading import (
    TracedTurn,
    Wanted,
    find_last,
    find_turn,
    find_turns,
    read_words,
)
from bot.features.traces.records import Act
from bot.features.traces.settings import Config
from bot.features.traces.store import DIGEST, Traces, day_of
from bot.settings import Settings, config_beside
from bot.store import Store

TERMINAL = "terminal"
LAST = "last"
TURN = re.compile(r"[\w-]{1,100}")  # of what is sent without a turn it is a digest
OF_DELIVERY = re.compile(r"(?<=^turn_[0-9a-f]{32})_(\d{1,3}|back)$")  # behind its turn's id
PERIOD = re.compile(r"(\d{1,4})([mhd])")
UNIT_S = {"m": 60, "h": 3_600, "d": DAY_S}
MOST_OF_ONE = 50  # turns of a conversation


class Asked(NamedTuple):
    """Which conversations are asked for; see ``kaiwa conversations --help``."""

    failed: bool = False
    tool: str = ""
    rated: str = ""
    since: str = ""
    place: str = ""
    limit: int = 50


async def look(settings: Settings, store: Store, which: str) -> Look | Turns:
    """A turn with its words, which is kept in the record of acts, or a conversation's turns.

    Raises:
        BadInput: nothing is kept of it.
    """
    traces, zone = open_traces(settings, store), ZoneInfo(settings.timezone)
    turn, which = None, OF_DELIVERY.sub("", which)
    if which == LAST:
        turn = await find_last(traces)
    elif TURN.fullmatch(which):
        turn = await find_turn(traces, which)
    if turn is None and (DIGEST.fullmatch(which) or not TURN.fullmatch(which)):
        return Turns(await _turns_of(traces, which), zone)
    if turn is None:
        what = "no turn" if which == LAST else f"nothing of {which}"
        raise BadInput(f"{what} is kept: facts last for TRACE_DAYS; see kaiwa conversations")
    words = await read_words(traces, turn)
    if words.by_fact:
        await _note_look(traces, [turn.id])
    return Look(turn, words, zone, store.clock())


async def _turns_of(traces: Traces, conversation: str) -> list[TracedTurn]:
    if not _is_place(conversation):
        raise BadInput(
            f"{conversation!r} is no turn (turn_…), no conversation (line:…, slack:…, console:…, "
            f"or its digest) and not {LAST}; see kaiwa conversations"
        )
    wanted = Wanted(conversation=await traces.digest_of(conversation))
    if turns := await find_turns(traces, wanted, MOST_OF_ONE):
        return turns
    raise BadInput(f"nothing is kept of {conversation!r}: see kaiwa conversations")


def _is_place(name: str) -> bool:
    """Whether it may be the id of a conversation or place, or the digest of one."""
    return ":" in name or bool(DIGEST.fullmatch(name))


async def conversations(
    settings: Settings, store: Store, asked: Asked
) -> tuple[list[summaries.Conversation], tzinfo]:
    """The conversations that are asked for; their ids are words, and a look at them is kept in the
    record of acts.

    Raises:
        BadInput: an option has no such value.
    """
    traces, zone = open_traces(settings, store), ZoneInfo(settings.timezone)
    if asked.rated not in ("", "good", "bad"):
        raise BadInput(f"--rated takes good or bad, not {asked.rated!r}")
    since = read_since(asked.since, store.clock(), zone) if asked.since else 0
    if asked.place and not _is_place(asked.place):
        raise BadInput(f"--place takes an id such as line:… or its digest, not {asked.place!r}")
    place = await traces.digest_of(asked.place)
    wanted = Wanted(
        since=since, place=place, tool=asked.tool, failed=asked.failed, rated=asked.rated
    )
    found = await summaries.conversations(traces, wanted, asked.limit)
    await _note_look(traces, [one.last_turn for one in found if one.id])
    return found, zone


def read_since(text: str, now_ms: int, zone: tzinfo = UTC) -> int:
    """The time that ``--since`` names, milliseconds since the epoch.

    Raises:
        BadInput: it names none.
    """
    if period := PERIOD.fullmatch(text):
        return now_ms - int(period[1]) * UNIT_S[period[2]] * 1000
    try:
        at = datetime.fromisoformat(text)
        return round((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise BadInput(
            f"--since takes 30m, 2h, 3d or a time such as 2026-11-27T18:00, not {text!r}"
        ) from None


async def gaps(settings: Settings, store: Store, days: int) -> list[summaries.Gap]:
    """What people did not get; questions among it are kept in the record of acts."""
    traces = open_traces(settings, store)
    found = await summaries.gaps(traces, _days_ago(store, days))
    await _note_look(traces, dict.fromkeys(gap.turn for gap in found if gap.question))
    return found


async def acts(settings: Settings, store: Store, days: int) -> tuple[list[Act], tzinfo]:
    """The record of acts, the newest first."""
    traces, since = open_traces(settings, store), _days_ago(store, days)
    names = [day_of(since + day * DAY_S * 1000) for day in range(days + 1)]
    found = [act for act in await traces.acts(names) if act.at >= since]
    return found[::-1], ZoneInfo(settings.timezone)


async def report(settings: Settings, store: Store, days: int) -> summaries.Report:
    """The report of some days."""
    return await summaries.report(open_traces(settings, store), days, _days_ago(store, days))


async def _note_look(traces: Traces, turns: Collection[str]) -> None:
    """Keep a look at the words of turns in the record of acts."""
    at = traces.clock()
    if turns:
        await traces.keep_acts(Act(at, turn, TERMINAL, "words") for turn in turns)


def open_traces(settings: Settings, store: Store) -> Traces:
    """The traces of this store.

    Raises:
        BadInput: nothing is traced.
    """
    days = config_beside(Config, settings).trace_days
    if not days:
        raise BadInput("nothing is traced, as TRACE_DAYS is 0; set it to 7 and restart Kaiwa")
    return Traces(store, days)


def _days_ago(store: Store, days: int) -> int:
    return store.clock() - days * DAY_S * 1000
