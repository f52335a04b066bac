"""How much a server may say, and how fast: otherwise it would take the event loop from everybody
else."""

from __future__ import annotations

import re
import time

import anyio
from pydantic import ValidationError

LINE_BYTES = 4 * 1024 * 1024  # of a message
MOST_VALUES = 50_000  # of a message: to read and check so many takes a tenth of a second
TEXT = re.compile(
    rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL
)  # to the end, if it has none: always linear
MARKS = (b",", b"[", b"{")  # a value has one, about
A_SECOND = 500  # messages, each of up to PIECE bytes
PIECE = 32 * 1024
TOO_DEEP = "recursion limit exceeded"  # pydantic's words
# in JSON that cost as much as a message: a megabyte of empty lists takes a quarter of a second
VALUES = 200


class Pace:
    """The messages of one connection."""

    def __init__(self) -> None:
        self._began = 0.0
        self._spent = 0

    async def keep(self, messages: int, data: bytes) -> None:
        """Wait as long as what came in this second should have taken."""
        now = time.monotonic()
        if now - self._began >= 1:
            self._began, self._spent = now, 0
        self._spent += messages + len(data) // PIECE + data.count(b",") // VALUES
        if self._spent > A_SECOND:
            await anyio.sleep(max(self._began + self._spent / A_SECOND - now, 0))


def has_too_many_values(message: bytes) -> bool:
    """Whether a message in JSON would take the event loop for long. Texts are one value, whatever
    is in them."""
    return _values(message) > MOST_VALUES and _values(TEXT.sub(b"", message)) > MOST_VALUES


def is_nested_too_deeply(error: ValidationError) -> bool:
    """Whether a message could not be read because of its levels."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return first["type"] == "json_invalid" and TOO_DEEP in first["msg"]


def _values(message: bytes) -> int:
    return sum(message.count(mark) for mark in MARKS)
