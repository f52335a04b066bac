"""Puts together the answer to a turn: what each wish came to, a courtesy, and at first who speaks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from bot.providers.demo.turn import Turn, call_for
from bot.providers.demo.voice import Voice
from bot.providers.demo.weather import weather
from bot.providers.demo.wishes import Wish, courtesy
from bot.transcript import ToolResult, encode

SHOWN = 300  # characters of a result no rule knows
NAMES_THE_KEY = ("who", "only")


def answer(voice: Voice, turn: Turn, offered: Collection[str]) -> str:
    """The whole answer.

    Args:
        offered: the names of the tools there are.
    """
    lines = [_granted(voice, wish, turn.result(wish)) for wish in turn.wishes]
    lines += [voice.say("cannot_see")] if turn.has_media else []
    lines = lines or [_unasked(result) for result in turn.results.values()]
    courteous = "" if lines else courtesy(turn.text) or "only"
    lines += _courtesies(voice, courteous, offered)
    if turn.is_first and courteous not in NAMES_THE_KEY:
        lines += ["", voice.say("first")]
    return "\n".join(lines)


def _courtesies(voice: Voice, courteous: str, offered: Collection[str]) -> Iterator[str]:
    if courteous in ("who", "only", "thanks", "greeting"):
        yield voice.say(courteous)
    if courteous in ("who", "only", "help", "greeting"):
        tools = ("get_weather", "get_current_time", "calculate")
        examples = voice.join("listed", (voice.say(f"can_{tool}") for tool in tools if tool in offered))
        yield voice.say("abilities", examples=examples) if examples else voice.say("no_abilities")


def _granted(voice: Voice, wish: Wish, result: ToolResult | None) -> str:
    if result is None:
        return _open(voice, wish)
    if result.is_error:
        return _failed(voice, wish, str(result.response.get("error", "")))
    match wish.topic:
        case "weather":
            return weather(voice, wish, result.response)
        case "time":
            return _time(voice, wish, result.response)
        case "sum":
            sign = "≈" if result.response.get("is_exact") is False else "="
            return f"{wish.subject} {sign} {result.response.get('result', '?')}"


def _open(voice: Voice, wish: Wish) -> str:
    """Why nothing was looked up: something is missing, or the tool."""
    if call_for(wish):
        return voice.say("no_tool", subject=_subject(voice, wish))
    return voice.say("zone_not_known", subject=wish.subject) if wish.subject else voice.say("ask_place")


def _failed(voice: Voice, wish: Wish, error: str) -> str:
    key = f"{wish.topic}_failed"
    if wish.topic == "weather" and "location" in error:
        key = "place_not_found"
    if wish.topic == "sum" and "division by zero" in error:
        key = "division_by_zero"
    return voice.say(key, subject=_subject(voice, wish))


def _subject(voice: Voice, wish: Wish) -> str:
    return wish.subject or voice.say("the_time")


def _time(voice: Voice, wish: Wish, response: Mapping[str, Any]) -> str:
    now = datetime.fromisoformat(response["datetime"])
    day = max(wish.days, default=0)
    then = now + timedelta(days=day)
    values = {
        "time": f"{now:%H:%M}",
        "weekday": voice.say("weekdays").split()[then.weekday()],
        "date": voice.say("date", year=then.year, month=then.month, day=then.day),
    }
    if day:
        return voice.say("other_day", day=voice.say(f"day_{day}"), **values)
    if wish.subject:
        return voice.say("time_there", place=wish.subject, **values)
    return voice.say("time", zone=response.get("time_zone", ""), **values)


def _unasked(result: ToolResult) -> str:
    """A result that answers no wish: another provider or a forced tool choice called for it."""
    return f"{result.name}: {encode(result.response).decode()[:SHOWN]}"
