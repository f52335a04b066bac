"""What the requests of several vendors have in common: portable ids and names, the visible parts, media."""

from __future__ import annotations

import re
import secrets
from base64 import b64encode
from binascii import b2a_base64
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from hashlib import sha256

from bot.transcript import Media, Message, Text

ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")  # OpenAI's length, Anthropic's letters
FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
NAME_CAP = 64
IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}  # others, such as an iPhone's, are refused with a 400


def portable_id(call_id: str) -> str:
    """The id itself, or a short one that is always the same for it."""
    return call_id if ID.fullmatch(call_id) else f"call_{sha256(call_id.encode()).hexdigest()[:32]}"


def portable_name(name: str) -> str:
    """A tool's name; one that a model made up may hold anything, and would spoil every later request."""
    return FOREIGN.sub("_", name)[:NAME_CAP] or "_"


def visible_parts(message: Message, *, sees_pictures: bool = True) -> Iterator[Text | Media]:
    """What a user's message shows to a model: context, words, pictures, and a word for what it cannot see."""
    if message.context:
        yield Text(message.context)
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            yield part
        elif isinstance(part, Media):
            kind = part.mime.partition("/")[0]
            is_seen = part.data and part.mime in IMAGES and sees_pictures
            yield part if is_seen else Text(f"[{kind}: not available]")


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
