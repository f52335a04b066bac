"""Dead letters: undeliverable replies and turns given up, kept for the operator to read and
retry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.store.clients import Scripts
from bot.store.keys import DEAD_LETTER_STREAMS, DEAD_LETTERS, SHARDS, holds, shard_of, unpack

ALL = SHARDS * DEAD_LETTERS
ID = re.compile(r"(\d\d)-(\d{1,15}-\d{1,15})")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A delivery that will not arrive, or the messages of a turn that was given up.

    Attributes:
        id: shard, milliseconds since the epoch and a number, such as ``07-1732233600000-0``.
        conversation: empty where it cannot be read.
        delivery: the entry of the outbox; None for a turn's messages.
        arrivals: the entries of the inbox.
    """

    id: str
    conversation: str
    reason: str
    delivery: bytes | None
    arrivals: tuple[bytes, ...] = ()

    @property
    def at(self) -> int:
        """When it was given up, milliseconds since the epoch."""
        return int(self.id.split("-")[1])

    def names(self, *ids: str) -> bool:
        """Whether it holds one of these ids."""
        parts = (self.conversation.encode(), self.delivery or b"", *self.arrivals)
        return any(holds(part, one) for part in parts for one in ids)


class DeadLetters:
    """The dead letters of the last 30 days, at most ``DEAD_LETTERS`` for each shard."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def count(self) -> int:
        return sum(await self._scripts.ask_each(("XLEN", one) for one in DEAD_LETTER_STREAMS))

    async def read(self, limit: int = ALL) -> list[DeadLetter]:
        """The newest dead letters, newest first."""
        newest = ("+", "-", "COUNT", limit)
        requests = [("XREVRANGE", stream, *newest) for stream in DEAD_LETTER_STREAMS]
        letters: list[DeadLetter] = []
        for shard, entries in enumerate(await self._scripts.ask_each(requests)):
            letters += _letters(shard, entries)
        return sorted(letters, key=lambda letter: letter.at, reverse=True)[:limit]

    async def of(self, conversation: str) -> list[DeadLetter]:
        """Those of one conversation, oldest first."""
        letters = await self._range(shard_of(conversation), "-", "+")
        return [letter for letter in letters if letter.conversation == conversation]

    async def get(self, letter_id: str) -> DeadLetter | None:
        """The dead letter of an id; None where there is none, or the id is malformed."""
        known = ID.fullmatch(letter_id)
        if known is None or int(known[1]) >= SHARDS:
            return None
        return next(iter(await self._range(int(known[1]), known[2], known[2])), None)

    async def _range(self, shard: int, first: str, last: str) -> list[DeadLetter]:
        entries = await self._scripts.ask("XRANGE", DEAD_LETTER_STREAMS[shard], first, last)
        return list(_letters(shard, entries))

    async def revive(self, letter: DeadLetter, delivery: bytes = b"") -> bool:
        """Put a delivery back into the outbox, or messages back into the inbox.

        Args:
            delivery: goes to the outbox instead of the stored one.

        Returns:
            False where it no longer exists.
        """
        own = delivery or letter.delivery or b""
        arguments = [letter.conversation, _place(letter)[1], own]
        return bool(await self._scripts.run("revive", letter.conversation, arguments))

    async def compact(self) -> None:
        """Write the streams anew, so that no byte of a deleted dead letter is left."""
        await self._scripts.ask_each(
            self._scripts.command("compact", [one]) for one in DEAD_LETTER_STREAMS
        )

    async def discard(self, letter: DeadLetter) -> bool:
        """Delete it; False where it no longer exists."""
        stream, entry_id = _place(letter)
        return bool(await self._scripts.ask("XDEL", stream, entry_id))


def _place(letter: DeadLetter) -> tuple[str, str]:
    """Its stream, known even where the conversation cannot be read, and its id there."""
    shard, _, entry_id = letter.id.partition("-")
    return DEAD_LETTER_STREAMS[int(shard)], entry_id


def _letters(
    shard: int, entries: Iterable[tuple[bytes, Mapping[bytes, bytes]]]
) -> Iterator[DeadLetter]:
    for entry_id, fields in entries:
        yield DeadLetter(
            id=f"{shard:02d}-{entry_id.decode()}",
            conversation=fields.get(b"conversation", b"").decode(errors="replace"),
            reason=fields.get(b"reason", b"").decode(errors="replace"),
            delivery=fields.get(b"delivery"),
            arrivals=tuple(
                _body(value) for name, value in fields.items() if name.startswith(b"arrival")
            ),
        )


def _body(frame: bytes) -> bytes:
    """The entry without its frame; bytes without a frame stay as they are."""
    try:
        return unpack(frame).body
    except ValueError:
        return frame
