"""What people see beside an answer: files, a card, and choices. A call returns them beside its
object, as ``Shown``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_ROWS = 16
LONGEST_TITLE, LONGEST_LABEL, LONGEST_VALUE, LONGEST_NOTE = 80, 40, 120, 200
MOST_CHOICES = 4
LONGEST_CHOICE = 40
JOINER = "\u200d"  # of emoji


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file that a call makes for the user, such as a chart.

    Attributes:
        text: the content in words, where the file cannot be shown.
    """

    name: str
    mime: str
    data: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """Figures under a title, a label and a value in each row; each text is one line.

    Attributes:
        key: of the card with buttons that stands for it where people can press one; empty for most.
    """

    title: str
    rows: tuple[tuple[str, str], ...] = ()
    note: str = ""
    key: str = ""

    @property
    def text(self) -> str:
        """The card in words, a line for each row."""
        rows = map(row_text, self.rows)
        return "\n".join(filter(None, (self.title, *rows, self.note)))


def row_text(row: tuple[str, str]) -> str:
    """A row of a card in words; a part of it may be empty."""
    return ": ".join(filter(None, row))


class ModelUse(NamedTuple):
    """Tokens of a model that a call has asked itself."""

    model: str
    input: int
    output: int


class Shown(NamedTuple):
    """What ``call`` returns in place of the object, if people see something beside the answer.

    Attributes:
        choices: short texts that the person may press instead of writing.
        used: is counted among the person's tokens.
    """

    response: dict[str, Any]
    files: Sequence[ToolFile] = ()
    card: Card | None = None
    choices: Sequence[str] = ()
    used: ModelUse | None = None


def bounded_card(card: Card | None) -> Card | None:
    """The card with one line for each text, none too long, and without empty rows; None without
    words."""
    if card is None:
        return None
    rows = [
        (_line(label, LONGEST_LABEL), _line(value, LONGEST_VALUE))
        for label, value in card.rows[:MOST_ROWS]
    ]
    shown = Card(
        _line(card.title, LONGEST_TITLE),
        tuple(filter(any, rows)),
        _line(card.note, LONGEST_NOTE),
        _line(card.key, LONGEST_LABEL),
    )
    return shown if shown.title or shown.rows else None


def bounded_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """The choices, each once and in one line; none where fewer than two are left. None begins like
    a command."""
    lines = dict.fromkeys(_line(choice.lstrip(" /／"), LONGEST_CHOICE) for choice in choices)
    lines.pop("", None)
    if len(lines) < 2:
        return ()
    return tuple(lines)[:MOST_CHOICES]


def _line(text: str, most: int) -> str:
    """The text with single spaces and without invisible characters."""
    seen = "".join(
        letter for letter in text if letter.isprintable() or letter.isspace() or letter == JOINER
    )
    line = " ".join(seen.split()).strip(f" {JOINER}")
    return line if len(line) <= most else f"{line[: most - 1]}…"
