"""A JSON answer: the reply while it is written, and the whole, read leniently (code fences, prose,
bare calls)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.safe_text.glyphs import without_surrogates
from bot.transcript import encode

JSON = dict[str, Any]

WORDS = {"reply", "tool_call", "tool_calls"}
TEXTS = ("thought", "reply")
ARGUMENTS = ("arguments", "parameters", "args")
BRACKET = re.compile(r"[{\[]")
# So many brackets may begin no JSON: each may cost a read of the whole text.
TRIES = 30
MARKS = ('"tool_call', '"reply"', '"arguments"', '"thought"')


def _number(text: str) -> float:
    """A float of JSON; Python reads NaN, Infinity and 1e999 too."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number of JSON")
    return number


# Small models write line breaks as they are.
_decoder = json.JSONDecoder(strict=False, parse_float=_number, parse_constant=_number)


@dataclass(frozen=True, slots=True)
class Reading:
    """The words and the calls of an answer, and what the model thought before."""

    reply: str
    calls: tuple[tuple[str, JSON], ...]
    thought: str = ""


def read(text: str, may_call: bool) -> Reading | None:
    """The first object in a text that holds words or calls; None without one."""
    try:
        for found in _objects(text):
            reading = _reading(found, may_call)
            if reading.reply.strip() or reading.calls:
                return reading
    except RecursionError:
        # The text is nested far deeper than any answer.
        return None
    return None


def looks_like_json(text: str) -> bool:
    """Whether an unreadable text is JSON in pieces, which no user should see."""
    return text.lstrip().startswith(("{", "[", "```")) or any(mark in text for mark in MARKS)


def _objects(text: str) -> Iterator[Any]:
    """The JSON in a text, outermost first; the search ends after ``TRIES`` brackets that begin
    none."""
    place = tries = 0
    while tries < TRIES and (bracket := BRACKET.search(text, place)):
        try:
            found, place = _decoder.raw_decode(text, bracket.start())
            if isinstance(found, dict):
                for key in TEXTS:
                    if isinstance(found.get(key), str):
                        found[key] = without_surrogates(found[key])
            # Encoding refuses half a surrogate pair in a call, which Python reads.
            encode(found)
        except ValueError:
            tries += 1
            place = max(place, bracket.end())
        else:
            yield found


def _reading(found: Any, may_call: bool) -> Reading:
    called = tuple(_called(found)) if may_call else ()
    if not isinstance(found, dict):
        return Reading("", called, "")
    reply = "" if called else _text(found.get("reply"))
    return Reading(reply, called, _text(found.get("thought")))


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _called(found: Any) -> Iterator[tuple[str, JSON]]:
    """The calls in an object: under our own key, under OpenAI's, or the object itself."""
    if isinstance(found, list):
        for one in found:
            yield from _called(one)
    elif isinstance(found, dict) and found.keys() & WORDS:
        for word in ("tool_call", "tool_calls"):
            yield from _called(found.get(word))
    elif isinstance(found, dict):
        call = found
        if isinstance(found.get("function"), dict):
            call = found["function"]
        arguments = _object(next((call[word] for word in ARGUMENTS if word in call), None))
        if isinstance(call.get("name"), str) and call["name"] and arguments is not None:
            yield call["name"], arguments


def _object(arguments: Any) -> JSON | None:
    """Arguments as an object, which some models write as a string; None where they are not JSON."""
    if isinstance(arguments, str):
        try:
            arguments = _decoder.decode(arguments)
            encode(arguments)
        except ValueError:
            return None
    return arguments if isinstance(arguments, dict) else None


HIGH_SURROGATE = re.compile(r"\\ud[89ab]", re.IGNORECASE)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
CALL, REPLY = "tool_call", "reply"


class GrowingReply:
    """Reads an unfinished object, letter by letter, for the value of its key ``reply``.

    Beside a call nothing is shown: those words are guesses about a result that is still to come.
    """

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._depth = 0
        self._string: list[str] | None = None  # being written
        self._escape = ""  # being written
        # This is the key of the top object whose value is being written.
        self._key = ""
        self._calling = False

    def take(self, text: str) -> str:
        """Read more of the object and return what it adds to the reply."""
        more = "".join(letter for one in text for letter in self._take(one))
        self._shown.append(more)
        return more

    @property
    def shown(self) -> str:
        """The reply so far."""
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
        """The letter of an escape sequence, once it is whole; letters beyond the first plane take
        two escapes."""
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
            return without_surrogates(json.loads(f'"{pieces}"'))
        except ValueError:
            return "\N{REPLACEMENT CHARACTER}"
