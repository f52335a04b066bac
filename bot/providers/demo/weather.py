"""Puts a weather report into a sentence; whatever it lacks is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.providers.demo.voice import Voice
from bot.providers.demo.wishes import Wish

UMBRELLA_FROM = 40  # percent chance of rain
RELATIVE_DAYS = ("today", "tomorrow", "day after tomorrow")

Report = Mapping[str, Any]


def weather(voice: Voice, wish: Wish, report: Report) -> str:
    """The weather at a place: now and today, or the days that were asked for."""
    place = _place(voice, wish.subject, str(report.get("location") or wish.subject))
    days = {day.get("day"): day for day in report.get("days", ())}
    asked = [days[name] for name in map(RELATIVE_DAYS.__getitem__, wish.days or (0,)) if name in days]
    now = [] if wish.days and 0 not in wish.days else [_now(voice, report)]
    reading = voice.join("followed", [*now, *(_day(voice, day) for day in asked)])
    if not reading:
        return voice.say("no_forecast", place=place) if wish.days else voice.say("weather_failed", subject=place)
    lines = [
        voice.say("weather", place=place, reading=reading),
        _advice(voice, asked) if wish.umbrella else "",
        voice.say("another_place") if report.get("note") else "",
    ]
    return "\n".join(filter(None, lines))


def _place(voice: Voice, asked: str, found: str) -> str:
    return found if asked.casefold() in found.casefold() else voice.say("place_found", asked=asked, found=found)


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
    """In Fahrenheit where the report has it: then the user's country counts so."""
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
    return max((float(chance) for chance in day.get("rain_chance", {}).values() if chance), default=None)
