"""``kaiwa chat``: one conversation on a terminal or between pipes, and what is written of it."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

from bot.live_events import Answered, ApprovalAsked, PollShown, ToolStarted
from bot.transcript import encode

LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")
# Directions of text; each stays in force until it is closed.
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SHORT = 600  # characters of arguments or of a result: more does not fit on a line


def printable(text: str) -> str:
    """The text without control characters and changes of direction: models and tools send any."""
    return "".join(
        character
        for character in text.translate(LINE_ENDS)
        if character in "\n\t"
        or (unicodedata.category(character) not in ("Cc", "Cs") and character not in BIDI)
    )


def call_text(event: ToolStarted) -> str:
    """A tool call on one line: title and arguments, or as in Python where it has no title."""
    given = ", ".join(f"{key}={_json(value)}" for key, value in event.arguments.items())
    if not event.title:
        return _line(f"{event.name}({given})")
    return _line(f"{event.title} · {given}" if given else event.title)


def result_text(response: dict[str, Any]) -> str:
    """A tool's result on one line; of an error, its text."""
    error = response.get("error")
    return _line(error if isinstance(error, str) and len(response) == 1 else _json(response))


def question_text(event: ApprovalAsked, how_to_answer: str) -> str:
    """The lines below a question's tool: arguments, remarks, and how to answer until when."""
    lines = [*event.shown.splitlines(), *event.remarks]
    lines.append(how_to_answer.format(time=clock_time(event.until)))
    return printable("".join(f"\n  {line}" for line in lines))


def poll_text(poll: PollShown, how_to_vote: str) -> str:
    """A poll as lines: its question, its options with numbers and counts, and how to vote."""
    lines = [poll.question]
    for number, option in enumerate(poll.options, 1):
        lines.append(f"{number} {option}: {poll.counts[number - 1]}")
    return "\n".join([*lines, how_to_vote if poll.close else poll.status])


def clock_time(at: int) -> str:
    """Milliseconds since the epoch as hours and minutes of the local time."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M")


def beside_text(answer: Answered) -> str:
    """What is below an answer's text: files in words, cards, and choices with numbers."""
    parts = [f"{file.text}\n{file.url}" if file.url else file.text for file in answer.files]
    parts += [card.text for card in answer.cards]
    choices = [f"{number} {choice}" for number, choice in enumerate(answer.choices, 1)]
    if choices:
        parts.append(f"[{' · '.join(choices)}]")
    return "".join(f"\n\n{part}" for part in parts)


def _json(value: object) -> str:
    return encode(value).decode()


def _line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"
