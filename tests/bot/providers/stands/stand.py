"""A provider before its vendor's stand-in, which is told in neutral words what to answer and asked what it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bot.providers import Provider, StopReason, ToolChoice
from bot.transcript import Usage

Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class Sent:
    """What the vendor understood of a request.

    Attributes:
        pictures: MIME type and content in base64.
    """

    system: str
    tools: tuple[str, ...]
    choice: ToolChoice | None
    pictures: tuple[tuple[str, str], ...]


class Stand(Protocol):
    """One vendor.

    Attributes:
        provider: speaks real HTTP through the real SDK to the stand-in.
        key: the right key.
        usage: what the stand-in counts for every answer.
        lacks: behaviours of the suite the vendor has no form for.
    """

    provider: Provider
    key: str
    usage: Usage
    lacks: frozenset[str]

    @property
    def streaming(self) -> int:
        """Answers that are going out right now."""
        ...

    @property
    def sent(self) -> list[Sent]:
        """Every request for an answer."""
        ...

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        """Words, each piece in an event of its own; the reason is the vendor's word for it."""
        ...

    def begin(self, *pieces: str, end: str) -> None:
        """Words without an end: ``cut``, ``stalled`` or ``error``, one inside the stream that says "overloaded"."""
        ...

    def calls(self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False) -> None:
        """Parallel calls; interleaved: their pieces come in turns."""
        ...

    def cut_call(self) -> None:
        """A call that was cut by the output limit."""
        ...

    def empty(self) -> None:
        """An answer with a usual end and nothing in it."""
        ...

    def stall(self) -> None:
        """Nothing, for ever."""
        ...

    def fail(self, status: int, message: str = "refused", retry_after: str = "") -> None:
        """An error in the vendor's form."""
        ...
