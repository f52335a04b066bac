"""The frame around an entry of inbox or journal, so that scripts can find one by its id without touching its bytes.

    arrival 18:m-17@1763806429123{"message": …}

That is kind, length of the stamped id in bytes, id, when the store took the entry in (ms of its clock), body. Steps of
a turn have no id, and entries of earlier versions no time.
"""

from __future__ import annotations

from typing import NamedTuple

ARRIVAL = "arrival"  # words for the model
CHANGE = "change"  # of words that came in earlier
CONTROL = "control"  # for the turn under way: stop, or a decision it waits for
ASIDE = "aside"  # anything else; it waits for the end of a turn under way


class Entry(NamedTuple):
    """An entry without its frame; ``kind`` is one word."""

    kind: str
    body: bytes


class Waiting(NamedTuple):
    """An entry of the inbox.

    Attributes:
        frame: by which it is known there.
        accepted_at: when the store took it in, milliseconds of its clock; 0 where an earlier version did.
    """

    kind: str
    body: bytes
    frame: bytes
    accepted_at: int


def pack(kind: str, entry_id: str, body: bytes) -> bytes:
    """Frame a body; ``entry_id`` may be empty."""
    raw_id = entry_id.encode()
    return b"%b %d:%b%b" % (kind.encode(), len(raw_id), raw_id, body)


def unpack(frame: bytes) -> Entry:
    kind, _, body = _parts(frame)
    return Entry(kind, body)


def unpack_waiting(frame: bytes) -> Waiting:
    """Take the frame off an entry of the inbox, and keep it."""
    kind, stamped_id, body = _parts(frame)
    _, stamp, at = stamped_id.rpartition(b"@")
    return Waiting(kind, body, frame, int(at) if stamp and at.isdigit() else 0)


def _parts(frame: bytes) -> tuple[str, bytes, bytes]:
    kind, _, rest = frame.partition(b" ")
    length, _, rest = rest.partition(b":")
    return kind.decode(), rest[: int(length)], rest[int(length) :]
