"""Reads what a user wants: weather, time, sums, or a few social words, in English and Japanese.

A sentence without a topic of its own (``And Osaka?``) takes it from the one before; ``Focus`` carries it on.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import chain
from typing import Literal, cast

from bot.providers.demo.arithmetic import take_sums
from bot.providers.demo.places import is_filler, places_alone, places_in, places_mentioned
from bot.providers.demo.vocabulary import (
    ASKS_ON,
    COURTESIES,
    DAYS,
    MENTION,
    PIECES,
    SAID_WHERE,
    SENTENCE,
    THERE,
    TIME_COMMAND,
    TOPIC,
    UMBRELLA,
)

READ_AT_MOST = 500  # characters of a message

Topic = Literal["weather", "time", "sum"]
Places = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing the user wants.

    Attributes:
        subject: the place or the sum; empty where no place was said.
        days: 0 today, 1 tomorrow, 2 the day after; empty where no day was said.
    """

    topic: Topic
    subject: str
    days: tuple[int, ...] = ()
    umbrella: bool = False


@dataclass(frozen=True, slots=True)
class Focus:
    """What the conversation is about."""

    topic: Topic | None = None
    places: Places = ()
    days: tuple[int, ...] = ()
    umbrella: bool = False


def read(text: str, focus: Focus) -> tuple[list[Wish], Focus]:
    """The wishes of one message, and what the conversation is about after it."""
    sums, rest = take_sums(_normal(text))
    wishes: list[Wish] = []
    for sentence in SENTENCE.findall(rest):
        found, focus = _read_sentence(sentence, focus)
        wishes += found
    return [*wishes, *(Wish("sum", expression) for expression in sums)], focus


def courtesy(text: str) -> str:
    """``who``, ``help``, ``thanks``, ``greeting`` or nothing."""
    plain = _normal(text)
    return next((name for name, words in COURTESIES if words.search(plain)), "")


def _normal(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:READ_AT_MOST])[:READ_AT_MOST]
    return TIME_COMMAND.sub("time in ", MENTION.sub(" ", plain.replace("’", "'")))


def _read_sentence(sentence: str, focus: Focus) -> tuple[list[Wish], Focus]:
    umbrella = UMBRELLA.search(sentence) is not None
    days, undated = _take_days(sentence)
    asked = _asked(sentence)
    if not asked:
        places = _asked_on(undated, bool(days), focus)
        if focus.topic is None or places is None:
            return [], focus
        asked, days, umbrella = [(focus.topic, places)], days or focus.days, focus.umbrella
    wishes: list[Wish] = []
    for topic, places in asked:
        if not places and (topic == "weather" or THERE.search(sentence)):
            places = focus.places
        wishes += [Wish(topic, place, days, umbrella) for place in places or ("",)]
        focus = Focus(topic, places or focus.places, days, umbrella)
    return wishes, focus


def _asked(sentence: str) -> list[tuple[Topic, Places]]:
    """The topics a sentence names, each with its places; ``time and weather in Rome`` gives both the one place."""
    asked: list[tuple[Topic, list[str]]] = []
    before: list[str] = []
    for piece in PIECES.split(sentence) if TOPIC.search(sentence) else ():
        topics = dict.fromkeys(cast(Topic, match.lastgroup) for match in TOPIC.finditer(piece))
        _, rest = _take_days(TOPIC.sub(" ", piece))
        if topics:
            places = places_in(rest) if SAID_WHERE.search(rest) else [*before, *places_in(rest)]
            asked += [(topic, places) for topic in topics]
            before = []
        else:
            (asked[-1][1] if asked else before).extend(places_alone(rest, expected=True))
    named = next((places for _, places in asked if places), None) or places_mentioned(_take_days(sentence)[1])
    return [(topic, tuple(places or named)) for topic, places in asked]


def _asked_on(sentence: str, dated: bool, focus: Focus) -> Places | None:
    """The places of a sentence that names no topic but goes on with the last one; None where it does not."""
    pieces = [piece for piece in PIECES.split(sentence) if not is_filler(piece)]
    if not pieces:
        return focus.places if dated else None
    expected = ASKS_ON.search(sentence) is not None or not focus.places
    found = [places_alone(piece, expected) for piece in pieces]
    return tuple(chain.from_iterable(found)) if all(found) else None


def _take_days(text: str) -> tuple[tuple[int, ...], str]:
    """The days a text names, in order, and the text without them."""
    days = []
    for day, words in DAYS:
        text, count = words.subn(" ", text)
        days += [day] * (count > 0)
    return tuple(sorted(days)), text
