"""The reply out of a JSON object that is still being written, letter by letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

HIGH_SURROGATE = re.compile(r"\\ud[89ab]", re.IGNORECASE)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
CALL, REPLY = "tool_call", "reply"


class GrowingReply:
    """Follows the strings and brackets of the object; what is a value of ``reply`` at its top is shown.

    Nothing is shown beside a call: there the words are guesses about a result that is still to come.

    """

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._depth = 0
        self._string: list[str] | None = None  # the one that is being written
        self._escape = ""  # an escape sequence that is being written
        self._key = ""  # the one at the top whose value is being written
        self._calling = False

    def take(self, text: str) -> str:
        """Take more of the object in and tell what is new in the reply."""
        more = "".join(letter for one in text for letter in self._take(one))
        self._shown.append(more)
        return more

    @property
    def shown(self) -> str:
        """All of the reply so far."""
        return "".join(self._shown)

    def _take(self, letter: str) -> Iterator[str]:
        if self._string is not None:
            yield from self._in_string(letter)
        elif letter == '"':
            self._string = []
        elif letter in "{[":
            self._calling = self._calling or (self._depth == 1 and self._key == CALL)
            self._depth += 1
        elif letter in "}]":
            self._depth -= 1
        elif letter == "," and self._depth == 1:
            self._key = ""

    def _in_string(self, letter: str) -> Iterator[str]:
        assert self._string is not None  # noqa: S101 -- the caller has looked
        if self._escape or letter == "\\":
            letter = self._unescaped(letter)
        elif letter == '"':
            if self._depth == 1 and not self._key:
                self._key = "".join(self._string)
            self._string = None
            return
        self._string.append(letter)
        if self._depth == 1 and self._key == REPLY and not self._calling:
            yield letter

    def _unescaped(self, letter: str) -> str:
        """The letter an escape stands for, once it is whole; two escapes may make one letter beyond the first plane."""
        self._escape += letter
        pieces = self._escape
        if len(pieces) == 1:
            return ""
        if not pieces.startswith("\\u"):
            self._escape = ""
            return ESCAPES.get(pieces[1], pieces[1])
        if len(pieces) < 6 or (HIGH_SURROGATE.match(pieces) and len(pieces) < 12):
            return ""
        self._escape = ""
        try:
            return str(json.loads(f'"{pieces}"')).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        except ValueError:
            return "\N{REPLACEMENT CHARACTER}"
