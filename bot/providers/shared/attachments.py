"""Media in a request's JSON: their base64 is made while it is sent, piece by piece, so that nobody holds it whole."""

from __future__ import annotations

import re
import secrets
from base64 import b64encode
from binascii import b2a_base64
from collections.abc import AsyncIterator, Callable, Sequence

PIECE = 48 * 1024  # bytes; a multiple of three, so that the pieces' base64 joins

Inline = Callable[[bytes], str]


def in_base64(data: bytes) -> str:
    """The data as they stand in JSON."""
    return b64encode(data).decode()


class Body:
    """A request's body that is made while it is read, as often as that happens.

    Args:
        pieces: JSON, and the data that stand between as base64, in turn.

    Attributes:
        size: bytes.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        json, data = pieces[::2], pieces[1::2]
        self.size = sum(map(len, json)) + sum(-(-len(one) // 3) * 4 for one in data)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for place, piece in enumerate(self._pieces):
            if place % 2 == 0:
                yield piece
                continue
            view = memoryview(piece)
            for start in range(0, len(piece), PIECE):
                yield b2a_base64(view[start : start + PIECE], newline=False)


class Attachments:
    """The media of one request."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)  # nobody's words can hold it
        self._held: dict[bytes, bytes] = {}

    def stand_in(self, data: bytes) -> str:
        """What stands in the JSON for the data's base64; always the same for the same object."""
        word = f"<{self._mark}-{id(data)}>"
        self._held[word.encode()] = data
        return word

    def body(self, json: bytes) -> bytes | Body:
        """The JSON with the data in their places."""
        pieces = re.split(rb"(<%b-\d+>)" % self._mark.encode(), json) if self._held else [json]
        return Body([self._held.get(piece, piece) for piece in pieces]) if len(pieces) > 1 else json


def length_of(body: bytes | Body) -> dict[str, str]:
    """The header that is needed with a body which is still to be made: not every server takes one of unknown length."""
    return {"content-length": str(body.size)} if isinstance(body, Body) else {}
