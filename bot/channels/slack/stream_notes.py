"""Which message a turn's words are streamed into, noted before the first of them and kept for the delivery."""

from __future__ import annotations

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels.kv import KeyValue
from bot.transcript import encode

KEPT_S = 7 * 86_400  # as long as a delivery waits at most


class Stream(Struct, frozen=True, omit_defaults=True):
    """A message that has been begun for a turn.

    Attributes:
        ts: empty while it is not known whether Slack has begun it.
        delivery: the one that makes it its own; no other may.
    """

    channel: str
    thread: str
    ts: str = ""
    delivery: str = ""


_decode = Decoder(Stream).decode


class StreamNotes:
    """The streams of turns, for whichever process goes on. Every method raises ``StoreUnavailable``."""

    def __init__(self, notes: KeyValue) -> None:
        self._notes = notes

    async def get(self, turn_id: str) -> Stream | None:
        """The turn's stream, where one has been begun."""
        value = await self._notes.get(_name(turn_id))
        try:
            return _decode(value) if value else None
        except DecodeError:
            return None

    async def keep(self, turn_id: str, stream: Stream) -> None:
        """Note how it stands."""
        await self._notes.set(_name(turn_id), encode(stream), KEPT_S)

    async def forget(self, turn_id: str) -> None:
        """There is no such message, or none any more."""
        await self._notes.set(_name(turn_id), b"", 1)


def _name(turn_id: str) -> str:
    return f"slack:stream:{turn_id}"
