"""Times that come again, by the rules of RFC 5545, on the clock of a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

RULE_CAP = 200  # characters
PARTS = {
    "FREQ": re.compile(r"HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY"),
    "INTERVAL": re.compile(r"[1-9]\d{0,2}"),
    "COUNT": re.compile(r"[1-9]\d{0,2}"),
    "UNTIL": re.compile(r"\d{8}(T\d{6}Z?)?"),
    "BYDAY": re.compile(
        r"(?:[+-]?[1-5])?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:[+-]?[1-5])?(?:MO|TU|WE|TH|FR|SA|SU)){0,13}"
    ),
    "BYMONTHDAY": re.compile(r"-?(?:[1-9]|[12]\d|3[01])(?:,-?(?:[1-9]|[12]\d|3[01])){0,30}"),
    "BYMONTH": re.compile(r"(?:[1-9]|1[0-2])(?:,(?:[1-9]|1[0-2])){0,11}"),
    "WKST": re.compile(r"MO|TU|WE|TH|FR|SA|SU"),
}
# What a frequency allows beside INTERVAL, COUNT, UNTIL and WKST. dateutil would look for a day that
# never comes until the year 9999, one period after the other.
ALLOWED = {
    "HOURLY": {"BYDAY"},
    "DAILY": {"BYDAY", "BYMONTHDAY", "BYMONTH"},
    "WEEKLY": {"BYDAY", "BYMONTH"},
    "MONTHLY": {"BYDAY", "BYMONTHDAY", "BYMONTH"},
    "YEARLY": {"BYDAY", "BYMONTHDAY", "BYMONTH"},
}
ANY_INTERVAL = {"MONTHLY", "YEARLY"}  # with those; an hour takes at most 23
DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
HORIZON = timedelta(
    days=5 * 366
)  # a rule that names no day within it, such as 30 February, is refused
FOLD = timedelta(hours=3)  # a clock is put back by less


class BadRuleError(ValueError):
    """A rule that cannot be read; the text says what is allowed."""


def next_time(rule: str, start: datetime, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first time of a rule after a moment; None if there is none.

    A time that the clock skips comes as much later; a time that it shows twice comes once.

    Args:
        start: the first time on the clock of the zone, without a zone.
        after: with a zone.

    Raises:
        BadRuleError: the rule cannot be read.
    """
    local = after.astimezone(zone).replace(tzinfo=None)
    for candidate in _candidates(rule, start, local - FOLD, zone):
        at = candidate.replace(tzinfo=zone).astimezone(UTC)
        if at > after:
            return at.astimezone(zone)
    return None


def is_hourly(rule: str) -> bool:
    """Whether a rule repeats every hour, the shortest time that a rule can name.

    Raises:
        BadRuleError: the rule cannot be read.
    """
    parts = _parts(rule) if rule else {}
    return parts.get("FREQ") == "HOURLY" and int(parts.get("INTERVAL", "1")) == 1


def _candidates(rule: str, start: datetime, since: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    parts = _parts(rule)
    count = int(parts.pop("COUNT", "0"))
    end = max(since, start) + HORIZON
    if until := parts.pop("UNTIL", ""):
        end = min(end, _read_until(until, zone))
    if parts["FREQ"] == "HOURLY" and not count and since > start:
        step = timedelta(hours=int(parts.get("INTERVAL", "1")))
        start += (since - start) // step * step  # in a year it has thousands of times
    times = iter(_rrule(parts, start, end))
    for candidate in islice(times, count) if count else times:
        if candidate >= since:
            yield candidate


def _rrule(parts: dict[str, str], start: datetime, end: datetime) -> Iterable[datetime]:
    from dateutil.rrule import rrulestr

    rule = ";".join(
        [*(f"{name}={value}" for name, value in parts.items()), f"UNTIL={end:%Y%m%dT%H%M%S}"]
    )
    try:
        times: Iterable[datetime] = rrulestr(rule, dtstart=start)
    except (ValueError, TypeError, IndexError) as error:
        raise BadRuleError("repeat is not a valid RRULE") from error
    return times


def _parts(rule: str) -> dict[str, str]:
    pairs = [
        pair.partition("=")
        for pair in rule.removeprefix("RRULE:").strip().rstrip(";").upper().split(";")
    ]
    parts = {name: value for name, _, value in pairs}
    known = all(name in PARTS and PARTS[name].fullmatch(value) for name, value in parts.items())
    if len(rule) > RULE_CAP or len(parts) < len(pairs) or "FREQ" not in parts or not known:
        allowed = ", ".join(name for name in PARTS if name != "FREQ")
        raise BadRuleError(
            "repeat must be an RRULE of RFC 5545: FREQ=HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY with "
            f"{allowed}"
        )
    if not _can_come(parts):
        raise BadRuleError(
            "repeat names no day, or combines what cannot be combined; write a simpler rule"
        )
    return parts


def _can_come(parts: dict[str, str]) -> bool:
    """Whether a rule names days that come soon."""
    frequency, interval = parts["FREQ"], int(parts.get("INTERVAL", "1"))
    by = {name for name in parts if name.startswith("BY")}
    months = [int(month) for month in parts.get("BYMONTH", "").split(",") if month] or range(1, 13)
    days = [abs(int(day)) for day in parts.get("BYMONTHDAY", "").split(",") if day] or [1]
    week = parts.get("BYDAY", "").split(",")
    is_counted, is_mixed = len(max(week, key=len)) > len("MO"), len(min(week, key=len)) == len("MO")
    return (
        by <= ALLOWED[frequency]
        and (
            interval == 1
            or not by
            or frequency in ANY_INTERVAL
            or (frequency == "WEEKLY" and by == {"BYDAY"})
        )
        and (frequency != "HOURLY" or interval < 24)
        and any(day <= DAYS[month - 1] for month in months for day in days)
        and not (is_counted and (frequency not in ANY_INTERVAL or "BYMONTHDAY" in by or is_mixed))
    )


def _read_until(text: str, zone: ZoneInfo) -> datetime:
    """The end of a rule on the clock of the zone; with a Z it is given in UTC."""
    try:
        end = datetime.strptime(
            text.rstrip("Z") if "T" in text else f"{text}T235959", "%Y%m%dT%H%M%S"
        )
        return (
            end.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
            if text.endswith("Z")
            else end
        )
    except (ValueError, OverflowError) as error:
        raise BadRuleError("UNTIL is no date; without an end, leave it out") from error
