"""A provider before its vendor's stand-in, which is told in neutral words what to answer and asked
what it was sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bot.providers import Provider, StopReason, ToolChoice
from bot.transcript import Usage, encode

WHOLE = "calls come whole"
Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class Sent:
    """What the vendor understood of a request.

    Attributes:
        pictures: MIME type and content in base64.
        strict: names of the tools that are declared strict.
        text: all of the request, quotes inside quotes without their backslashes.
    """

    system: str
    tools: tuple[str, ...]
    choice: ToolChoice | None
    pictures: tuple[tuple[str, str], ...]
    strict: tuple[str, ...]
    text: str


class Subject(ABC):
    """One vendor.

    Attributes:
        provider: speaks real HTTP to the stand-in, through the SDK where it has one.
        key: the right key.
        variable: where an operator sets it.
        usage: what the stand-in counts for every answer.
        lacks: behaviours of the suite the vendor has no form for, and what there is instead.
        too_long: the vendor's words for a request beyond 200,000 tokens; empty where it takes any.
    """

    key: str
    variable: str
    usage: ClassVar[Usage] = Usage(input=100, cached=40, output=10, thinking=5)
    lacks: Mapping[str, str]
    too_long: str

    def __init__(self, fake: Any, provider: Provider) -> None:
        self.fake = fake
        self.provider = provider

    @property
    def streaming(self) -> int:
        """Answers that are going out right now."""
        return int(self.fake.streaming)

    @property
    def connections(self) -> int:
        """How many connections requests have come by."""
        return len(self.fake.connections)

    @property
    @abstractmethod
    def sent(self) -> list[Sent]:
        """Every request for an answer."""

    @abstractmethod
    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        """Words, each piece in an event of its own; the reason is the vendor's word for it."""

    def begin(self, *pieces: str, end: str) -> None:
        """Words without an end: ``cut``, ``stalled`` or ``error``, one inside the stream that says
        "overloaded"."""
        if end == "error":
            self.break_off(*pieces)
        else:
            self.fake.say(*pieces, end=end)

    @abstractmethod
    def break_off(self, *pieces: str) -> None:
        """Words, and then an error inside the stream."""

    @abstractmethod
    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        """Parallel calls; interleaved: their pieces come in turns."""

    @abstractmethod
    def think(self) -> None:
        """A thought, and then nothing, for ever."""

    @abstractmethod
    def cut_call(self) -> None:
        """A call that was cut by the output limit."""

    @abstractmethod
    def odd_text(self, json: str) -> None:
        """A text, as the JSON that a server writes for it."""

    @abstractmethod
    def odd_call(self, arguments: str) -> None:
        """A call of ``get_weather`` with these arguments, as the JSON that a model or its server
        writes."""

    @abstractmethod
    def empty(self) -> None:
        """An answer with a usual end and nothing in it."""

    def stall(self) -> None:
        """Nothing, for ever."""
        self.fake.stall()

    def fail(self, status: int, message: str = "refused", retry_after: str = "") -> None:
        """An error in the vendor's form."""
        wait = {"retry_after": retry_after} if retry_after else {}
        self.fake.fail(status, message, **wait)


def with_json(value: Any, json: str) -> bytes:
    """The JSON of a value, with this JSON in place of the text ``@@``."""
    return encode(value).replace(b'"@@"', json.encode())


def text_of(body: dict[str, Any]) -> str:
    """All of a request, quotes inside quotes without their backslashes."""
    return encode(body).decode().replace("\\", "")
