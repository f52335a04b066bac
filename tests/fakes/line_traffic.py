"""What the stand-in for LINE was asked, and what people see of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from tests.fakes.line_events import JSON


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in; ``call`` is the route's name, ``places`` what stands in its path,
    ``at`` seconds since the epoch."""

    call: str
    path: str
    headers: dict[str, str]
    raw: bytes
    places: dict[str, str] = field(default_factory=dict)
    at: float = field(default_factory=time.time, compare=False)

    @property
    def body(self) -> Any:
        """The decoded JSON."""
        return msgspec.json.decode(self.raw)

    @property
    def form(self) -> dict[str, str]:
        """The decoded form."""
        return dict(parse_qsl(self.raw.decode()))


@dataclass(frozen=True, slots=True)
class Sent:
    """Messages that people see; ``ids`` are LINE's, by which they can be quoted; ``at`` in seconds
    since the epoch."""

    call: str
    to: str
    messages: list[JSON]
    ids: list[str] = field(default_factory=list, compare=False)
    at: float = field(default_factory=time.time, compare=False)

    @property
    def texts(self) -> list[str]:
        """Their words, a bubble each; of a picture, its address."""
        return [_words(message) for message in self.messages]

    @property
    def buttons(self) -> dict[str, JSON]:
        """What can be pressed, by what stands on it."""
        return {
            action["label"]: action for message in self.messages for action in _actions(message)
        }


@dataclass(slots=True)
class Token:
    """A reply token: where it leads, when it was given, by ``time.monotonic()``."""

    place: str
    issued_at: float
    used: bool = False


@dataclass(slots=True)
class Image:
    """What somebody has sent; so many requests are told that it is not ready, of a broken recording
    all."""

    data: bytes
    content_type: str
    pending: int
    is_broken: bool = False

    @property
    def is_recording(self) -> bool:
        """Whether LINE converts it."""
        return self.content_type.startswith(("audio/", "video/"))


def _actions(message: JSON) -> list[JSON]:
    footers = [bubble.get("footer", {}) for bubble in _bubbles(message)]
    pressed = [button["action"] for footer in footers for button in footer.get("contents", ())]
    quick = [item["action"] for item in message.get("quickReply", {}).get("items", ())]
    return [*message.get("template", {}).get("actions", ()), *pressed, *quick]


def _words(message: JSON) -> str:
    """Of bubbles, a line for each text and each row."""
    if message["type"] == "flex":
        parts = [part for bubble in _bubbles(message) for part in bubble["body"]["contents"]]
        return "\n".join(map(_read, parts))
    if message["type"] == "image":
        return str(message["originalContentUrl"])
    words: str = message["text"] if "text" in message else message["template"]["text"]
    return words


def _bubbles(message: JSON) -> list[JSON]:
    contents: JSON = message.get("contents", {})
    bubbles: list[JSON] = contents.get("contents", [contents])
    return bubbles


def _read(part: JSON) -> str:
    cells = part.get("contents", [part])
    return " | ".join(cell["text"] for cell in cells)
