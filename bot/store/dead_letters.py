"""Dead letters: undeliverable replies and turns given up, kept for the operator to read and
retry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.store.clients import Client, ask, translate_errors
from bot.store.frames import holds, unpack
from bot.store.keys import DEAD_LETTERS, SHARDS, Keys, dead_letter_streams
from bot.store.scripts import Scripts

ALL = SHARDS * DEAD_LETTERS
READ_S = 20.0
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

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def count(self) -> int:
        async with translate_errors():
            return sum(
                await self._client.execute_each(
                    ("XLEN", stream) for stream in dead_letter_streams()
                )
            )

    async def read(self, limit: int = ALL) -> list[DeadLetter]:
        """The newest dead letters, newest first."""
        requests = (
            ("XREVRANGE", stream, "+", "-", "COUNT", limit) for stream in dead_letter_streams()
        )
        async with translate_errors(READ_S):
            shards = await self._client.execute_each(requests)
        letters = [
            letter for shard, entries in enumerate(shards) for letter in _letters(shard, entries)
        ]
        return sorted(letters, key=lambda letter: letter.at, reverse=True)[:limit]

    async def of(self, conversation: str) -> list[DeadLetter]:
        """Those of one conversation, oldest first."""
        stream = Keys(conversation).dead
        entries = await ask(self._client, "XRANGE", stream, "-", "+")
        letters = _letters(dead_letter_streams().index(stream), entries)
        return [letter for letter in letters if letter.conversation == conversation]

    async def get(self, letter_id: str) -> DeadLetter | None:
        """The dead letter of an id; None where there is none, or the id is malformed."""
        known = ID.fullmatch(letter_id)
        if known is None or int(known[1]) >= SHARDS:
            return None
        shard, entry_id = int(known[1]), known[2]
        stream = dead_letter_streams()[shard]
        entries = await ask(self._client, "XRANGE", stream, entry_id, entry_id)
        return next(_letters(shard, entries), None)

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
        requests = [self._scripts.command("compact", [one]) for one in dead_letter_streams()]
        async with translate_errors(READ_S):
            await self._client.execute_each(requests)

    async def discard(self, letter: DeadLetter) -> bool:
        """Delete it; False where it no longer exists."""
        stream, entry_id = _place(letter)
        return bool(await ask(self._client, "XDEL", stream, entry_id))


def _place(letter: DeadLetter) -> tuple[str, str]:
    """Its stream, known even where the conversation cannot be read, and its id there."""
    shard, _, entry_id = letter.id.partition("-")
    return dead_letter_streams()[int(shard)], entry_id


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
