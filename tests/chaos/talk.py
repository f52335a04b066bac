"""What people ask and what they are shown; a marker in every message tells which answer belongs to
it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

MARKER = re.compile(r"q\d+n\d+")


@dataclass(slots=True)
class Asked:
    """A message.

    Attributes:
        needs_tool: it cannot be answered without one.
        acknowledged: the platform was told that it has arrived.
        at: when it was written, in seconds since the epoch.
    """

    marker: str
    needs_tool: bool = False
    acknowledged: bool = False
    at: float = field(default_factory=time.time)

    @property
    def words(self) -> str:
        """What the model reads."""
        return f"{self.marker}: {'please calculate 6 * 7' if self.needs_tool else 'hello'}"


@dataclass(slots=True)
class Talk:
    """One conversation, under the id that Kaiwa gives it."""

    conversation: str
    asked: list[Asked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Shown:
    """A message that somebody sees in a conversation.

    Attributes:
        at: seconds since the epoch.
        via: the platform's call.
        delivery: the bot's own id for it, where the platform knows one.
    """

    at: float
    conversation: str
    text: str
    via: str
    delivery: str = ""

    @property
    def markers(self) -> list[str]:
        """The messages it answers."""
        return MARKER.findall(self.text)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a time; without a conversation it concerns all."""

    at: float
    who: str
    what: str
    conversation: str = ""


@dataclass(slots=True)
class Chronicle:
    """What happened, as it happened."""

    events: list[Event] = field(default_factory=list)

    def note(self, who: str, what: str, conversation: str = "") -> None:
        """Write it down."""
        self.events.append(Event(time.time(), who, what, conversation))
