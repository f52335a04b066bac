"""Traces as page and terminal show them: turns of several shares, found and joined."""

from __future__ import annotations

import zlib
from binascii import b2a_base64
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from bot.clock import DAY_S
from bot.errors import TurnParked
from bot.features.traces.records import AFTERWARDS, Fact, Piece, Share, Words, unpack_words
from bot.features.traces.store import Traces, hour_of
from bot.prices import cost, load_prices
from bot.transcript import UNREADABLE, Usage

FAILED = "failed"
DAMAGED = (*UNREADABLE, ValueError, zlib.error)  # what records that cannot be read raise
# A turn without an outcome is under way for so long at most:
UNDER_WAY_MS = 600_000
WAITS_MS = DAY_S * 1000  # if it waits for somebody's decision
MOST_TURNS = 500  # of a list
MOST_READ = 50  # turns whose first words are read in one request


@dataclass(frozen=True)
class TracedTurn:
    """A turn: what each process that worked on it has kept, the earliest first."""

    id: str
    shares: Sequence[Share]

    @property
    def first(self) -> Share:
        return self.shares[0]

    @property
    def at(self) -> int:
        """Milliseconds since the epoch."""
        return self.first.at

    @cached_property
    def facts(self) -> list[tuple[Share, int, Fact]]:
        """All facts with their share and number, in the order of their times."""
        found = []
        for share in self.shares:
            found += [(share, number, fact) for number, fact in enumerate(share.facts)]
        return sorted(found, key=lambda each: each[0].at + each[2].at)

    @cached_property
    def outcome(self) -> str:
        """``answered`` or ``failed``; empty for one that is under way or was never ended.

        A process that is killed right after its commit leaves no end: what was delivered tells.
        """
        outcomes = [share.outcome for share in self.shares if share.outcome]
        if outcomes:
            return outcomes[-1]
        facts = [fact for _, _, fact in self.facts]
        deliveries = [fact.id for fact in facts if fact.kind == "delivery"]
        if not any(one.removeprefix(f"{self.id}_").isdecimal() for one in deliveries):
            return ""
        has_failed = any(fact.kind == "failure" and not fact.next for fact in facts)
        return FAILED if has_failed else "answered"

    @cached_property
    def persona(self) -> str:
        """The digest of the model's newest persona; empty where none was asked."""
        return next((share.persona for share in reversed(self.shares) if share.persona), "")

    @cached_property
    def ratings(self) -> list[str]:
        """``good`` and ``bad``, the oldest first; of a person who changed their mind the newest."""
        newest: dict[str, str] = {}
        for _, _, fact in self.facts:
            if fact.kind == "rating":
                newest[fact.person] = fact.outcome
        return list(newest.values())

    @cached_property
    def tools(self) -> list[str]:
        """The names of tools that were called, each once."""
        return list(dict.fromkeys(fact.name for _, _, fact in self.facts if fact.kind == "call"))

    @cached_property
    def failures(self) -> list[str]:
        """What went wrong: kinds of apologies, tools that failed, deliveries that did."""
        found = []
        for _, _, fact in self.facts:
            if fact.kind == "failure" and not fact.next and self.outcome != "answered":
                found.append(fact.outcome)
            elif fact.kind == "call" and fact.outcome == "error":
                found.append(fact.name)
            elif fact.kind == "delivery" and fact.outcome == "refused":
                found.append(fact.outcome)
            elif fact.kind == "event" and fact.outcome == "refused":
                found.append("limit")
        if self.outcome == FAILED and not found:
            found.append(FAILED)
        return list(dict.fromkeys(found))

    @cached_property
    def usages(self) -> dict[str, Usage]:
        """Tokens by model."""
        used: dict[str, Usage] = {}
        for _, _, fact in self.facts:
            if fact.usage is not None:
                used[fact.name] = used.get(fact.name, Usage()) + fact.usage
        return used

    @cached_property
    def usd(self) -> float | None:
        """Estimated dollars; None where a model has no price."""
        return usd_of(self.usages)

    @property
    def ms(self) -> int:
        """From its start to its commit; of one under way until its last fact."""
        for share in reversed(self.shares):
            if share.outcome:
                return share.at + share.ms - self.at
        ends = [self.at]
        for share, _, fact in self.facts:
            if fact.kind not in AFTERWARDS:
                ends.append(share.at + fact.at)
        return max(ends) - self.at

    @property
    def ended(self) -> str:
        """How it ended, in a word; ``open`` for one that is under way or was never ended, ``sent``
        for what is no turn."""
        return self.outcome or ("sent" if self.is_notice else "open")

    @property
    def waits(self) -> bool:
        """Whether it waited for somebody's decision when it was last worked on."""
        return not self.outcome and self.shares[-1].left == TurnParked.__name__

    @property
    def asks_model(self) -> bool:
        return any(fact.kind == "request" for _, _, fact in self.facts)

    @property
    def has_events(self) -> bool:
        """Whether it answers people."""
        return any(fact.kind == "event" for _, _, fact in self.facts)

    @property
    def is_notice(self) -> bool:
        """Whether it is something that was sent without a turn: thanks, a notice, a report."""
        return not self.outcome and all(fact.kind == "delivery" for _, _, fact in self.facts)

    @property
    def is_rating_alone(self) -> bool:
        """Whether nothing but ratings is kept of it."""
        return all(share.is_rating for share in self.shares)

    @property
    def has_words(self) -> bool:
        """Whether words were kept; they may be deleted by now."""
        return any(share.words > share.refused for share in self.shares)

    def is_under_way(self, now_ms: int) -> bool:
        """Whether it may still be answered."""
        most = WAITS_MS if self.waits else UNDER_WAY_MS
        last = self.shares[-1]
        worked_at = last.at + (last.facts[-1].at if last.facts else 0)
        return self.has_events and not self.outcome and now_ms - worked_at < most


class Wanted(Struct, frozen=True):
    """Which turns are looked for; empty: all.

    Attributes:
        since: milliseconds since the epoch.
        conversation, place, person: keyed digests; ``where`` is of either of the first two.
        channel: such as ``line``.
        persona: its digest.
        failed: failed ones, and those in which a call or delivery did.
        rated: ``good`` or ``bad``.
        usd, ms: at least.
    """

    since: int = 0
    until: int = 0
    conversation: str = ""
    place: str = ""
    where: str = ""
    person: str = ""
    channel: str = ""
    tool: str = ""
    persona: str = ""
    failed: bool = False
    rated: str = ""
    usd: float = 0.0
    ms: int = 0

    def fits(self, turn: TracedTurn) -> bool:
        """Whether a turn is among those."""
        first = turn.first
        return (
            turn.at >= self.since
            and (not self.until or turn.at < self.until)
            and self.conversation in ("", first.conversation)
            and self.place in ("", first.place)
            and self.where in ("", first.conversation, first.place)
            and (not self.person or any(one.person == self.person for one in turn.shares))
            and self.channel in ("", first.channel)
            and (not self.tool or self.tool in turn.tools)
            and self.persona in ("", turn.persona)
            and (not self.failed or bool(turn.failures))
            and (not self.rated or self.rated in turn.ratings)
            and (not self.usd or (turn.usd or 0.0) >= self.usd)
            and (not self.ms or turn.ms >= self.ms)
        )


ALL = Wanted()


def usd_of(usages: Mapping[str, Usage]) -> float | None:
    """Estimated dollars for tokens by model; None where a model has no price."""
    total, prices = 0.0, load_prices()
    for model, usage in usages.items():
        counts = {name: getattr(usage, name) for name in usage.__struct_fields__}
        price = cost(counts, prices.of(model))
        if price is None:
            return None
        total += price
    return total


async def find_turns(
    traces: Traces, wanted: Wanted = ALL, most: int = MOST_TURNS
) -> list[TracedTurn]:
    """The newest turns that fit, the newest first.

    Shares of one turn that are kept in two hours are joined: a process may go on with it, and a
    rating may come, in a later one.
    """
    found: list[TracedTurn] = []
    later: dict[str, list[Share]] = {}  # the rest of turns that began in an hour before
    async for shares in _by_hour(traces, wanted.since):
        turns: dict[str, list[Share]] = {}
        for share in shares:
            turns.setdefault(share.turn, later.pop(share.turn, [])).append(share)
        joined = []
        for turn_id, those in turns.items():
            if any(_begins(share) for share in those):
                joined.append(_joined(turn_id, those))
            else:
                later[turn_id] = those
        found += sorted(filter(wanted.fits, joined), key=lambda turn: turn.at, reverse=True)
        if len(found) >= most:
            return found[:most]
    # The beginning of these is no longer kept, or they are no turns: notices and the like.
    rest = [_joined(turn_id, those) for turn_id, those in later.items()]
    found += [one for one in rest if not one.is_rating_alone and wanted.fits(one)]
    return sorted(found, key=lambda turn: turn.at, reverse=True)[:most]


async def find_turn(traces: Traces, turn_id: str) -> TracedTurn | None:
    """A turn by its id; None if nothing is kept of it."""
    shares: list[Share] = []
    async for those in _by_hour(traces, 0, turn_id):
        shares += those
    return _joined(turn_id, shares) if shares else None


async def find_last(traces: Traces) -> TracedTurn | None:
    """The newest turn that answers people."""
    turns = await find_turns(traces)
    return next((turn for turn in turns if turn.has_events), None)


@dataclass(frozen=True)
class TurnWords:
    """The words of a turn.

    Attributes:
        by_fact: by share and number of the fact.
        prompts: what requests share, by digest.
        damaged: the rest could not be read.
    """

    by_fact: Mapping[tuple[str, int], Words] = field(default_factory=dict)
    prompts: Mapping[str, bytes] = field(default_factory=dict)
    damaged: bool = False

    @property
    def conversation(self) -> str:
        """The conversation's id, if it was kept."""
        return next((one.conversation for one in self.by_fact.values() if one.conversation), "")

    def body(self, pieces: Iterable[Piece]) -> bytes | None:
        """The bytes of a request or a response; None if a part of them is not kept."""
        return join_pieces(pieces, self.prompts.get)

    def cached(self, words: Words) -> bytes:
        """What the vendor kept of a request, as JSON; empty where that is not kept here."""
        return self.prompts.get(words.cached, b"")


async def read_words(traces: Traces, turn: TracedTurn) -> TurnWords:
    """The words that are kept of a turn."""
    stored = await traces.words(turn.first.shard, turn.id)
    found: dict[tuple[str, int], Words] = {}
    damaged = False
    try:
        for words in unpack_words(stored):
            found[words.share, words.number] = words
    except DAMAGED:
        damaged = True
    digests = set[str]()
    for words in found.values():
        digests.update(data.decode() for kind, data in words.pieces if kind == "shared")
        if words.cached:
            digests.add(words.cached)
    return TurnWords(found, await traces.prompts(sorted(digests)), damaged)


async def read_first_words(traces: Traces, turns: Sequence[TracedTurn]) -> dict[str, Words]:
    """The words of the first step, by turn: of turns of which they are kept. Those of a later step
    may have reached the store first."""
    found: dict[str, Words] = {}
    for start in range(0, len(turns), MOST_READ):
        some = turns[start : start + MOST_READ]
        stored = await traces.first_words((turn.first.shard, turn.id) for turn in some)
        for turn, records in zip(some, stored, strict=True):
            with suppress(*DAMAGED):  # damaged, or longer
                for words in unpack_words(records):
                    found.setdefault(turn.id, words)
                    if words.conversation:
                        found[turn.id] = words
                        break
    return found


def join_pieces(pieces: Iterable[Piece], prompt: Callable[[str], bytes | None]) -> bytes | None:
    """The bytes as they went out; None if a part is not kept."""
    body = bytearray()
    for kind, data in pieces:
        if kind == "json":
            body += data
        elif kind == "file":
            body += b2a_base64(data, newline=False)
        elif kind == "shared" and (kept := prompt(data.decode())) is not None:
            body += kept
        else:
            return None
    return bytes(body)


def is_lost(facts: Sequence[Fact], number: int) -> bool:
    """Whether no answer to a request was kept, nor why there is none. Several models may be asked
    at once, and one of them twice: an answer is taken for that of the newest open request."""
    model, newer = facts[number].name, 0
    for fact in facts[number + 1 :]:
        if (fact.asked or fact.name) == model and fact.kind in ("response", "failure"):
            if not newer:
                return False
            newer -= 1
        elif fact.name == model and fact.kind == "request":
            newer += 1
    return True


async def _by_hour(traces: Traces, since: int, turn: str = "*") -> AsyncIterator[list[Share]]:
    """All shares of an hour, hour by hour, the newest first."""
    for hour in await traces.hours():
        if since and hour < hour_of(since):
            return
        shares: dict[tuple[str, str], Share] = {}
        async for those in traces.shares(hour, turn):
            shares.update({(share.turn, share.share): share for share in those})
        yield list(shares.values())


def _joined(turn_id: str, shares: Iterable[Share]) -> TracedTurn:
    by_time = sorted(shares, key=lambda share: (share.is_rating, share.at))
    return TracedTurn(turn_id, by_time)


def _begins(share: Share) -> bool:
    """Whether a turn began with this share."""
    return not share.resumed and any(fact.kind == "event" for fact in share.facts)
