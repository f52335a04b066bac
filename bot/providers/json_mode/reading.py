"""A whole answer read leniently: in code fences, behind some prose, as a bare call, with a list of calls."""

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
