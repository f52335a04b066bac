"""A JSON answer: its reply shown while it is written, and the whole read leniently (code fences, prose, bare calls)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.transcript import encode

JSON = dict[str, Any]

WORDS = {"reply", "tool_call", "tool_calls"}
ARGUMENTS = ("arguments", "parameters", "args")
BRACKET = re.compile(r"[{\[]")
TRIES = 30  # brackets that begin no JSON: from each of them the whole text may be read
MARKS = ('"tool_call', '"reply"', '"arguments"', '"thought"')

_decoder = json.JSONDecoder(strict=False)  # small models write line breaks as they are


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says."""

    reply: str
    calls: tuple[tuple[str, JSON], ...]


def read(text: str, may_call: bool) -> Reading | None:
    """What the first object in a text says that is an answer; None where there is none that says anything."""
    try:
        for found in _objects(text):
            reading = _reading(found, may_call)
            if reading.reply.strip() or reading.calls:
                return reading
    except RecursionError:  # brackets within brackets, far beyond any answer
        return None
    return None


def looks_like_json(text: str) -> bool:
    """Whether a text that could not be read is an object all the same, and so nothing for a person's eyes."""
    return text.lstrip().startswith(("{", "[", "```")) or any(mark in text for mark in MARKS)


def _objects(text: str) -> Iterator[Any]:
    """Whatever JSON stands in a text, outermost first; after some brackets that are none it is not looked for."""
    place = tries = 0
    while tries < TRIES and (bracket := BRACKET.search(text, place)):
        try:
            found, place = _decoder.raw_decode(text, bracket.start())
            encode(found)  # half a surrogate pair is a letter to Python and to nobody else
        except ValueError:
            tries += 1
            place = max(place, bracket.end())
        else:
            yield found


def _reading(found: Any, may_call: bool) -> Reading:
    said = found if isinstance(found, dict) else {}
    called = [call for call in _called(found) if may_call]
    reply = said.get("reply")
    return Reading(reply if isinstance(reply, str) and not called else "", tuple(called))


def _called(found: Any) -> Iterator[tuple[str, JSON]]:
    """The calls in an object: under our own word, under OpenAI's, or the object itself."""
    if isinstance(found, list):
        for one in found:
            yield from _called(one)
    elif isinstance(found, dict) and found.keys() & WORDS:
        for word in ("tool_call", "tool_calls"):
            yield from _called(found.get(word))
    elif isinstance(found, dict):
        call = found["function"] if isinstance(found.get("function"), dict) else found
        arguments = _object(next((call[word] for word in ARGUMENTS if word in call), None))
        if isinstance(call.get("name"), str) and call["name"] and arguments is not None:
            yield call["name"], arguments


def _object(arguments: Any) -> JSON | None:
    """Arguments as an object; some models write them as a string."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    return arguments if isinstance(arguments, dict) else None


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
