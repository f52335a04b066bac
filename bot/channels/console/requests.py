"""What the page posts: read, or refused with a status and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from starlette.requests import Request

from bot.body import read_body
from bot.errors import KaiwaError

T = TypeVar("T")
MAX_BODY = 64 * 1024


class Refused(KaiwaError):
    """A request that is answered with a status and a sentence of the catalogue."""

    def __init__(self, status: int, key: str) -> None:
        self.status = status
        self.key = key


class Said(Struct):
    """What the page posts as a message."""

    text: str
    id: str | None = None
    locale: str = ""
    time_zone: str = ""


class Pressed(Struct):
    """What it posts as a decision."""

    question: str
    approved: bool


class Nothing(Struct):
    """What it posts to stop."""


decode_said = Decoder(Said).decode
decode_pressed = Decoder(Pressed).decode
decode_nothing = Decoder(Nothing).decode


async def posted(request: Request, decode: Callable[[bytes], T], complaint: str) -> T:
    """The body of a request.

    Args:
        complaint: key of the sentence that says what should have been sent.
    """
    # Pages of other sites can send forms and plain text here, but no JSON without asking first.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, complaint)
    body = await read_body(request, MAX_BODY)
    if body is None:
        raise Refused(413, "too_long")
    try:
        return decode(body)
    except (DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, complaint) from error
