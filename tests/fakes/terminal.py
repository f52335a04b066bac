"""A terminal small enough to be understood: shows what a person would see, scrolled-out lines
included."""

from __future__ import annotations

import re

from rich.cells import cell_len

SILENT = "mhl"  # colours, and modes such as a hidden cursor
TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b.|[\x00-\x1f]|[^\x00-\x1f\x1b]", re.DOTALL)
UNFINISHED = re.compile(r"(\x1b(?:\[[?\d;]*)?|)\Z")


class TerminalFake:
    """Takes what a program writes to a terminal; fails on what it does not know."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._lines: list[list[str]] = [[]]
        self._row = 0
        self._column = 0
        self._unfinished = ""

    @property
    def text(self) -> str:
        """All lines, without the blanks at their ends."""
        return "\n".join("".join(line).rstrip() for line in self._lines).rstrip("\n")

    def write(self, text: str) -> int:
        whole, self._unfinished, _ = UNFINISHED.split(self._unfinished + text, maxsplit=1)
        for token in TOKEN.finditer(whole):
            if command := token[2]:
                self._obey(command, token[1])
            elif token[0] == "\n":
                self._move_down()
            elif token[0] == "\r":
                self._column = 0
            elif token[0] == "\b":
                self._column -= 1
            elif token[0] != "\a":
                assert token[0] >= " ", f"unknown control character {token[0]!r}"
                self._put(token[0])
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return True

    def _obey(self, command: str, argument: str) -> None:
        if command == "A":  # cursor up, as far as the top of the screen
            top = max(0, len(self._lines) - self.height)
            self._row = max(top, self._row - int(argument or 1))
        elif (command, argument) == ("K", "2"):
            self._lines[self._row] = []
        elif (command, argument) == ("K", ""):
            del self._lines[self._row][self._column :]
        else:
            assert command in SILENT, f"unknown sequence {argument}{command}"

    def _move_down(self) -> None:
        self._column = 0
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append([])

    def _put(self, character: str) -> None:
        cells = cell_len(character)
        assert self._column + cells <= self.width, "a line is wider than the terminal"
        line = self._lines[self._row]
        line += " " * (self._column + cells - len(line))
        line[self._column : self._column + cells] = [character, *[""] * (cells - 1)]
        self._column += cells
