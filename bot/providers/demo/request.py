"""Reads a turn: the wishes of the user (weather, time, sums, reminders, polls, courtesies) and the
results of tools.

A sentence without a topic (``And Osaka?``) has the topic of the sentence before, which ``Focus``
holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, cast

from bot.providers.demo.arithmetic import take_sums
from bot.providers.demo.places import is_filler, places_alone, places_in, places_mentioned, zone_of
from bot.providers.demo.vocabulary import (
    ASKS_ON,
    BETWEEN_OPTIONS,
    CHART,
    COURTESIES,
    DAYS,
    MENTION,
    PIECES,
    POLL,
    QUESTION,
    REMINDERS,
    SAID_WHERE,
    SENTENCE,
    SPANS,
    THERE,
    TIME_COMMAND,
    TOPIC,
    UMBRELLA,
)
from bot.texts import language_of
from bot.transcript import FACTS_ID, Media, Message, ToolResult, encode

READ_AT_MOST = 500  # characters of a message

MOST_OPTIONS = 10
Topic = Literal["weather", "time", "sum", "reminder", "poll"]
Places = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing the user wants.

    Attributes:
        subject: the place, the sum, what to be reminded of, or a poll's question; empty without a
        place. days: 0 today, 1 tomorrow, 2 the day after; empty without a day. span: until a
        reminder, as an ISO 8601 duration. chart: of the weather. options: of a poll.
    """

    topic: Topic
    subject: str
    days: tuple[int, ...] = ()
    umbrella: bool = False
    span: str = ""
    chart: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Focus:
    """The topic, places and days of the conversation."""

    topic: Topic | None = None
    places: Places = ()
    days: tuple[int, ...] = ()
    umbrella: bool = False


def read(text: str, focus: Focus) -> tuple[list[Wish], Focus]:
    """The wishes of one message, and the focus after it."""
    plain = _normal(text)
    if (alone := _reminder(plain) or _poll(plain)) is not None:
        return [alone], focus
    sums, rest = take_sums(plain)
    wishes: list[Wish] = []
    for sentence in SENTENCE.findall(rest):
        found, focus = _read_sentence(sentence, focus)
        wishes += found
    return [*wishes, *(Wish("sum", expression) for expression in sums)], focus


def _reminder(text: str) -> Wish | None:
    match = next((found for words in REMINDERS if (found := words.search(text))), None)
    if match is None:
        return None
    return Wish(
        "reminder", match["text"].strip(), span=SPANS[match["unit"].lower()].format(match["number"])
    )


def _poll(text: str) -> Wish | None:
    """A poll with two options or more, written behind its question."""
    match = POLL.match(text)
    parts = QUESTION.match(match["english"] or match["japanese"]) if match else None
    if parts is None:
        return None
    question, rest = (
        (parts["question"], parts["options"])
        if parts["question"]
        else (parts["short"], parts["rest"])
    )
    written = (option.strip(' .!?。「」"') for option in BETWEEN_OPTIONS.split(rest))
    options = tuple(dict.fromkeys(filter(None, written)))[:MOST_OPTIONS]
    return (
        Wish("poll", question.strip(" 。\n"), options=options)
        if question.strip() and len(options) > 1
        else None
    )


def courtesy(text: str) -> str:
    """``who``, ``help``, ``thanks``, ``greeting`` or nothing."""
    plain = _normal(text)
    return next((name for name, words in COURTESIES if words.search(plain)), "")


def _normal(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:READ_AT_MOST])[:READ_AT_MOST]
    return TIME_COMMAND.sub("time in ", MENTION.sub(" ", plain.replace("’", "'")))


def _read_sentence(sentence: str, focus: Focus) -> tuple[list[Wish], Focus]:
    chart = CHART.search(sentence) is not None
    sentence = CHART.sub(" ", sentence)
    umbrella = UMBRELLA.search(sentence) is not None
    days, undated = _take_days(sentence)
    asked = _asked(sentence)
    if not asked:
        places = _asked_on(undated, bool(days) or chart, focus)
        if focus.topic is None or places is None:
            return [], focus
        asked, days, umbrella = [(focus.topic, places)], days or focus.days, focus.umbrella
    wishes: list[Wish] = []
    for topic, places in asked:
        if not places and (topic == "weather" or THERE.search(sentence)):
            places = focus.places
        shown = chart and topic == "weather"
        wishes += [Wish(topic, place, days, umbrella, chart=shown) for place in places or ("",)]
        focus = Focus(topic, places or focus.places, days, umbrella)
    return wishes, focus


def _asked(sentence: str) -> list[tuple[Topic, Places]]:
    """The topics a sentence names, each with its places; ``time and weather in Rome`` gives both
    the one place."""
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
    named = next((places for _, places in asked if places), None) or places_mentioned(
        _take_days(sentence)[1]
    )
    return [(topic, tuple(places or named)) for topic, places in asked]


def _asked_on(sentence: str, dated: bool, focus: Focus) -> Places | None:
    """The places of a sentence that continues the last topic; None for any other sentence."""
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


EXAMPLES = {
    "en": ("Tokyo", "New York", "Paris"),
    "ja": ("東京", "大阪", "札幌"),
}  # for whoever names no place
LOOK_BACK = 20  # messages before this turn that set the focus

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, as the rules read it.

    Attributes:
        results: by the ``signature`` of their calls.
        is_first: the model has given no answer before.
    """

    text: str
    wishes: tuple[Wish, ...]
    focus: Focus
    results: Mapping[bytes, ToolResult]
    language: str
    is_first: bool
    has_media: bool

    def result(self, wish: Wish) -> ToolResult | None:
        """The result of the call for a wish."""
        call = call_for(wish)
        return self.results.get(signature(*call)) if call else None


def read_turn(messages: Sequence[Message], language: str) -> Turn:
    """The newest turn: all messages after the model's last answer.

    Args:
        language: of a text of no language, such as ``3 * 7``.
    """
    messages = [message for message in messages if message.id != FACTS_ID]  # data, no wishes
    start = next(
        (place for place in range(len(messages), 0, -1) if _is_answer(messages[place - 1])), 0
    )
    current = messages[start:]
    focus = Focus()
    for message in messages[max(0, start - LOOK_BACK) : start]:
        if message.role == "user":
            language = language_of(message.text, language)
            _, focus = read(message.text, focus)
    wishes: list[Wish] = []
    asked = [message for message in current if message.role == "user"]
    for message in asked:
        language = language_of(message.text, language)
        found, focus = read(message.text, focus)
        wishes += found
    return Turn(
        text="\n".join(message.text for message in asked),
        wishes=tuple(dict.fromkeys(_with_examples(wish, language) for wish in wishes)),
        focus=focus,
        results=_results(current),
        language=language,
        is_first=start == 0,
        has_media=any(isinstance(part, Media) for message in asked for part in message.parts),
    )


def _with_examples(wish: Wish, language: str) -> Wish:
    """The wish for the weather of no place, with places to choose from."""
    return (
        replace(wish, options=EXAMPLES[language])
        if wish.topic == "weather" and not wish.subject
        else wish
    )


def call_for(wish: Wish) -> Call | None:
    """The tool call for a wish; None where the wish lacks a place, or its time zone is unknown."""
    if wish.topic == "sum":
        return "calculate", {"expression": wish.subject}
    if wish.topic == "reminder":
        return "set_reminder", {"text": wish.subject, "in": wish.span}
    if wish.topic == "poll":
        return "start_poll", {"question": wish.subject, "options": list(wish.options)}
    if wish.topic == "weather" and not wish.subject:
        return ("offer_choices", {"choices": list(wish.options)}) if wish.options else None
    if wish.topic == "weather":
        chart = {"chart": True} if wish.chart else {}
        return "get_weather", {"location": wish.subject, **chart}
    if not wish.subject:
        return "get_current_time", {}
    zone = zone_of(wish.subject)
    return ("get_current_time", {"time_zone": zone}) if zone else None


def signature(name: str, arguments: Mapping[str, Any]) -> bytes:
    """A key of a call, the same for equal calls."""
    return encode((name, sorted(arguments.items())))


def _is_answer(message: Message) -> bool:
    return message.role == "model" and not message.calls


def _results(messages: Sequence[Message]) -> dict[bytes, ToolResult]:
    results = {result.call_id: result for message in messages for result in message.results}
    calls = [call for message in messages for call in message.calls]
    return {
        signature(call.name, call.arguments): results[call.id]
        for call in calls
        if call.id in results
    }
