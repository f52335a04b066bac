"""The frame around an entry of inbox or journal: scripts find an entry by its id without decoding
its body.

    arrival 18:m-17@1763806429123{"message": …}

That is: kind, length of ``id@time`` in bytes, id, time of acceptance (ms of the store's clock),
body. Steps of a turn have no id, and neither have entries that a turn has given back.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ARRIVAL = "arrival"  # a message for the model
CHANGE = "change"  # an edit or deletion of an earlier message
CONTROL = "control"  # for the turn under way: /stop, or the approval it waits for
ASIDE = "aside"  # anything else; waits for the end of the turn under way


class Entry(NamedTuple):
    """An entry without its frame; ``kind`` is one word."""

    kind: str
    body: bytes


class InboxEntry(NamedTuple):
    """An entry of the inbox.

    Attributes:
        frame: the stored bytes, which identify it.
        accepted_at: milliseconds by the store's clock; 0 for one that a turn has given back.
    """

    kind: str
    body: bytes
    frame: bytes
    accepted_at: int


def pack(kind: str, entry_id: str, body: bytes) -> bytes:
    """Frame a body; ``entry_id`` may be empty."""
    raw_id = entry_id.encode()
    return b"%b %d:%b%b" % (kind.encode(), len(raw_id), raw_id, body)


def holds(data: bytes, name: str) -> bool:
    """Whether stored bytes, readable or not, hold an id as a whole word."""
    word = rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode())
    return bool(name) and re.search(word, data) is not None


def unpack(frame: bytes) -> Entry:
    kind, _, body = _parts(frame)
    return Entry(kind, body)


def unpack_waiting(frame: bytes) -> InboxEntry:
    """Unpack an entry of the inbox."""
    kind, stamped_id, body = _parts(frame)
    _, stamp, at = stamped_id.rpartition(b"@")
    return InboxEntry(kind, body, frame, int(at) if stamp and at.isdigit() else 0)


def _parts(frame: bytes) -> tuple[str, bytes, bytes]:
    kind, _, rest = frame.partition(b" ")
    length, _, rest = rest.partition(b":")
    return kind.decode(), rest[: int(length)], rest[int(length) :]
