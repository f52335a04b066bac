"""``kaiwa chat``: the Protocol of a screen, and text helpers that both implementations share.

``rich_screen`` draws on a terminal, ``plain_screen`` writes to pipes and files.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from bot.live_events import Answered, LiveEvent, PollShown, ShownFile, ToolStarted
from bot.transcript import encode

LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")
# of text; each stays in force until it is closed
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SHORT = 600  # characters of arguments or of a result: more does not fit on a line


class Drawing(Protocol):
    """An answer while it is generated."""

    def show(self, event: LiveEvent) -> None:
        """Draw one event."""
        ...

    def tick(self) -> None:
        """Draw the next picture of a spinner."""
        ...


class Screen(Protocol):
    """What a conversation is shown on."""

    def draw_answer(self) -> AbstractContextManager[Drawing]:
        """Draw an answer while the context is open."""
        ...

    def show_notice(self, sentence: str) -> None:
        """Show a sentence of Kaiwa itself, beside the conversation."""
        ...

    def show_error(self, sentence: str, note: str = "") -> None:
        """Show a failure; ``note`` is cause and fix for the operator."""
        ...

    def show_answer(self, answer: str) -> None:
        """Show a whole answer."""
        ...

    def show_last_turn(self, question: str, answer: str) -> None:
        """Show the last message and answer of an earlier run."""
        ...


def printable(text: str) -> str:
    """The text without control characters and changes of direction: models and tools may send
    any."""
    text = text.translate(LINE_ENDS)
    return "".join(
        c
        for c in text
        if c in "\n\t" or (unicodedata.category(c) not in ("Cc", "Cs") and c not in BIDI)
    )


def call_text(event: ToolStarted) -> str:
    """A tool call on one line: the tool's title and the arguments; as in Python where it has
    none."""
    given = ", ".join(f"{key}={_json(value)}" for key, value in event.arguments.items())
    return _line(
        " · ".join(filter(None, (event.title, given))) if event.title else f"{event.name}({given})"
    )


def result_text(response: dict[str, Any]) -> str:
    """A tool's result on one line; of an error, its text."""
    error = response.get("error")
    return _line(error if isinstance(error, str) and len(response) == 1 else _json(response))


def poll_text(poll: PollShown, how_to_vote: str) -> str:
    """A poll as lines: its question, each option with its number and its count; below an open one,
    how to vote."""
    counted = enumerate(zip(poll.options, poll.counts, strict=True), 1)
    lines = [f"{number} {option}: {count}" for number, (option, count) in counted]
    return "\n".join([poll.question, *lines, how_to_vote if poll.close else poll.status])


def clock_time(at: int) -> str:
    """Milliseconds since the epoch as hours and minutes of the local time."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M")


def rest_of(answer: str, shown: str) -> str:
    """The part of an answer that has not been shown; all of it where a live event was lost."""
    return answer.removeprefix(shown) if answer.startswith(shown) else answer


def files_text(files: Iterable[ShownFile]) -> str:
    """The words of an answer's files, and their addresses, to be written below the answer."""
    return "".join(f"\n\n{file.text}" + (f"\n{file.url}" if file.url else "") for file in files)


def beside_text(answer: Answered) -> str:
    """What is shown below an answer's text: its files, its cards and its choices, with numbers."""
    cards = "".join(f"\n\n{card.text}" for card in answer.cards)
    choices = " · ".join(f"{number} {choice}" for number, choice in enumerate(answer.choices, 1))
    return files_text(answer.files) + cards + (f"\n\n[{choices}]" if choices else "")


def _json(value: object) -> str:
    return encode(value).decode()


def _line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"
