"""The terminal: a Protocol for what a conversation is shown on, and what every implementation needs.

``rich_screen`` draws on a terminal, ``plain_screen`` writes where the output goes elsewhere; ``machine`` knows the
computer, ``background`` lets the keyboard have the main thread.
"""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from bot.live_events import LiveEvent
from bot.transcript import encode

LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")
TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # directions of text, open until they are closed
SHORT = 600  # characters of arguments or of a result: more never fits on a line


class Drawing(Protocol):
    """One answer while it is drawn."""

    def show(self, event: LiveEvent) -> None:
        """Draw one event."""
        ...

    def tick(self) -> None:
        """Time has passed: whatever turns while one waits turns on."""
        ...


class Screen(Protocol):
    """Where a conversation is shown."""

    def answering(self) -> AbstractContextManager[Drawing]:
        """Draw an answer while the context is open."""
        ...

    def tell(self, sentence: str) -> None:
        """Say something of ours, beside the conversation."""
        ...

    def complain(self, sentence: str, note: str = "") -> None:
        """Say that something failed; ``note`` is cause and fix for an operator."""
        ...

    def give(self, answer: str) -> None:
        """Show a whole answer."""
        ...

    def recall(self, question: str, answer: str) -> None:
        """Show what was said last, before the conversation goes on."""
        ...


def printable(text: str) -> str:
    """The text without what steers a terminal or turns round what stands after it: models and tools say anything."""
    text = text.translate(LINE_ENDS)
    return "".join(c for c in text if c in "\n\t" or (unicodedata.category(c) not in ("Cc", "Cs") and c not in TURNS))


def call_text(name: str, arguments: dict[str, Any]) -> str:
    """A tool call as code would write it, on one line."""
    given = ", ".join(f"{key}={_json(value)}" for key, value in arguments.items())
    return _line(f"{name}({given})")


def result_text(response: dict[str, Any]) -> str:
    """A tool's result on one line; an error's own words."""
    error = response.get("error")
    return _line(error if isinstance(error, str) and len(response) == 1 else _json(response))


def clock_time(at: int) -> str:
    """A moment, milliseconds since the epoch, as the clock here will show it."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M")


def unseen(answer: str, shown: str) -> str:
    """What of an answer has not been shown; all of it where words were lost on their way."""
    return answer.removeprefix(shown) if answer.startswith(shown) else answer


def _json(value: object) -> str:
    return encode(value).decode()


def _line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"
