"""The frame around an entry of inbox or journal, so that scripts can find one by its id without touching its bytes.

    arrival 4:m-17{"message": …}

That is kind, length of the id in bytes, id, body.
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
    """An entry of the inbox, with the frame by which it is known there."""

    kind: str
    body: bytes
    frame: bytes


def pack(kind: str, entry_id: str, body: bytes) -> bytes:
    """Frame a body; ``entry_id`` may be empty."""
    raw_id = entry_id.encode()
    return b"%b %d:%b%b" % (kind.encode(), len(raw_id), raw_id, body)


def unpack(frame: bytes) -> Entry:
    """Take the frame off."""
    kind, _, rest = frame.partition(b" ")
    length, _, rest = rest.partition(b":")
    return Entry(kind.decode(), rest[int(length) :])
