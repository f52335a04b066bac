"""Writes the answer to a turn: the outcome of each wish, a courtesy, and an introduction in the
first answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

from bot.providers.demo.request import Turn, Wish, call_for, courtesy
from bot.texts import Texts
from bot.transcript import ToolResult, encode


@dataclass(frozen=True, slots=True)
class Voice:
    """The sentences of the table ``demo`` in one language."""

    texts: Texts
    language: str

    def say(self, key: str, **values: object) -> str:
        """One sentence with its values."""
        return self.texts.get(f"demo.{key}", self.language, **values)

    def join(self, key: str, parts: Iterable[str]) -> str:
        """The parts that are not empty, joined by a sentence with ``before`` and ``then``."""
        said = [part for part in parts if part]
        return (
            reduce(lambda before, then: self.say(key, before=before, then=then), said)
            if said
            else ""
        )


UMBRELLA_FROM = 40  # percent chance of rain
RELATIVE_DAYS = ("today", "tomorrow", "day after tomorrow")

Report = Mapping[str, Any]


def weather(voice: Voice, wish: Wish, report: Report) -> str:
    """The weather of a place: now and today, or on the days of the wish."""
    place = _place(voice, wish.subject, str(report.get("location") or wish.subject))
    days = {day.get("day"): day for day in report.get("days", ())}
    asked = [
        days[name] for name in map(RELATIVE_DAYS.__getitem__, wish.days or (0,)) if name in days
    ]
    now = [] if wish.days and 0 not in wish.days else [_now(voice, report)]
    reading = voice.join("followed", [*now, *(_day(voice, day) for day in asked)])
    if not reading:
        return (
            voice.say("no_forecast", place=place)
            if wish.days
            else voice.say("weather_failed", subject=place)
        )
    lines = [
        voice.say("weather", place=place, reading=reading),
        _advice(voice, asked) if wish.umbrella else "",
        voice.say("another_place") if report.get("note") else "",
    ]
    return "\n".join(filter(None, lines))


def _place(voice: Voice, asked: str, found: str) -> str:
    return (
        found
        if asked.casefold() in found.casefold()
        else voice.say("place_found", asked=asked, found=found)
    )


def _now(voice: Voice, report: Report) -> str:
    parts = [str(report.get("condition", "")).lower(), _temperature(voice, report, "current_temp")]
    return voice.say("now", reading=voice.join("listed", parts)) if any(parts) else ""


def _day(voice: Voice, day: Report) -> str:
    low, high = (_temperature(voice, day, extreme) for extreme in ("low", "high"))
    rain = _rain(day)
    details = [
        str(day.get("condition", "")).lower() if day["day"] != "today" else "",
        voice.say("high_and_low", low=low, high=high) if low and high else low or high,
        "" if rain is None else voice.say("rain", percent=f"{rain:g}"),
    ]
    name = voice.say(f"day_{RELATIVE_DAYS.index(day['day'])}")
    return voice.say("day", day=name, details=voice.join("listed", details)) if any(details) else ""


def _temperature(voice: Voice, holder: Report, name: str) -> str:
    """In Fahrenheit where the report has it, as it has for countries that use it."""
    for unit, key in (("fahrenheit", f"{name}_f"), ("celsius", f"{name}_c")):
        if holder.get(key):
            return voice.say(unit, value=holder[key])
    return ""


def _advice(voice: Voice, days: list[Report]) -> str:
    chances = [rain for day in days if (rain := _rain(day)) is not None]
    if not chances:
        return ""
    return voice.say("umbrella" if max(chances) >= UMBRELLA_FROM else "no_umbrella")


def _rain(day: Report) -> float | None:
    """The highest chance of the day in percent."""
    return max(
        (float(chance) for chance in day.get("rain_chance", {}).values() if chance), default=None
    )


SHOWN = 300  # characters of a result without a wish
NAMES_THE_KEY = ("who", "only")


def answer(voice: Voice, turn: Turn, offered: Collection[str]) -> str:
    """The whole answer.

    Args:
        offered: names of the tools.
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
        tools = ("get_weather", "get_current_time", "calculate", "set_reminder", "start_poll")
        examples = voice.join(
            "listed", (voice.say(f"can_{tool}") for tool in tools if tool in offered)
        )
        yield voice.say("abilities", examples=examples) if examples else voice.say("no_abilities")


def _granted(voice: Voice, wish: Wish, result: ToolResult | None) -> str:
    if wish.topic == "weather" and not wish.subject:
        return voice.say("ask_place")
    if result is None:
        return _open(voice, wish)
    if result.is_error:
        return _failed(voice, wish, str(result.response.get("error", "")))
    match wish.topic:
        case "weather":
            return weather(voice, wish, result.response)
        case "time":
            return _time(voice, wish, result.response)
        case "reminder":
            return voice.say(
                "reminder",
                at=str(result.response.get("at", "")).replace("T", " "),
                text=wish.subject,
            )
        case "poll":
            return voice.say("poll")
        case "sum":
            sign = "≈" if result.response.get("is_exact") is False else "="
            return f"{wish.subject} {sign} {result.response.get('result', '?')}"


def _open(voice: Voice, wish: Wish) -> str:
    """Why a wish has no result: its time zone is unknown, or there is no tool for it."""
    if call_for(wish):
        return voice.say("no_tool", subject=_subject(voice, wish))
    return voice.say("zone_not_known", subject=wish.subject)


def _failed(voice: Voice, wish: Wish, error: str) -> str:
    if wish.topic in ("reminder", "poll"):
        return voice.say(f"{wish.topic}_failed", why=error)
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
    """A result without a wish: another provider or a forced tool choice made the call."""
    return f"{result.name}: {encode(result.response).decode()[:SHOWN]}"
