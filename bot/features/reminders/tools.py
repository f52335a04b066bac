"""``set_reminder``, ``list_reminders``, ``cancel_reminder``: what Kaiwa says or does later, by
itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from typing import Any, cast
from zoneinfo import ZoneInfo

from bot.features.reminders.personal import PersonalReminders
from bot.features.reminders.recurrence import BadRuleError, is_hourly, next_time
from bot.features.reminders.reminder import Reminder
from bot.pipeline.feature import store_errors_for_model
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.text import one_line

FARTHEST = timedelta(days=2 * 366)
LONG_AGO = timedelta(days=31)  # a rule that begins earlier would be gone through from there
DURATION = re.compile(
    r"P(?:(\d{1,3})W)?(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?"
)
UNITS = ("weeks", "days", "hours", "minutes", "seconds")
NOWHERE = "reminders work in conversations only, for people whose id the platform tells"
HOURLY_TEXT = (
    "invalid parameters: only a routine may repeat every hour; a text may come every two hours, as "
    "with FREQ=HOURLY;INTERVAL=2, or less often"
)
JOINER = "\u200d"  # holds emoji together


class SetReminder(Tool):
    """Keeps a reminder or a routine."""

    name = "set_reminder"
    description = (
        "Sets a reminder (a text shown later) or, with `routine`, a task that you carry out later "
        "with your tools. Use it whenever the user wants to be reminded, woken up, or told "
        "something regularly. Give either `at` or `in`. Confirm with the time in the result."
    )
    risk = "low"
    titles = words(en="Set a reminder", ja="リマインダーを設定")
    writes = True
    timeout_s = 15  # LINE's SDK may be loaded first, to read the quota

    def __init__(self, now: Callable[[tzinfo], datetime] = datetime.now) -> None:
        self._now = now

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Keep it.

        Raises:
            ToolError: the time cannot be read or is over, or the reminder cannot be kept.
        """
        zone = context.zone
        now = self._now(zone)
        repeat = str(arguments.get("repeat", "")).strip()
        at, start = _first_time(arguments, zone, now)
        if repeat and now - LONG_AGO < at <= now + FARTHEST:
            at = await asyncio.to_thread(_matching, repeat, start, at, now)
            start = _shown_by_clock(at, start)
        if not now - timedelta(minutes=1) < at <= now + FARTHEST:
            when, clock = f"{at:%Y-%m-%d %H:%M}", f"{now:%Y-%m-%d %H:%M}"
            raise ToolError(
                f"invalid parameters: {when} is over or more than two years away; it is {clock}"
            )
        routine = bool(arguments.get("routine"))
        if repeat and is_hourly(repeat) and not routine:
            raise ToolError(HOURLY_TEXT)
        reminder_id = sha256(context.idempotency_key.encode()).hexdigest()[:8]
        reminder = Reminder(
            reminder_id, _visible(arguments["text"]), at, repeat, routine, start=start
        )
        await _reminders(context).add(reminder)
        return _shown(reminder)


class ListReminders(Tool):
    """Lists them."""

    name = "list_reminders"
    description = (
        "Lists the user's reminders and routines here. Use it when asked, and before "
        "cancel_reminder. `rests`: it failed too often and does not come again."
    )
    risk = "low"
    needs_conversation = True
    titles = words(en="List reminders", ja="リマインダー一覧")
    timeout_s = 5

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """All of the user's, the next first."""
        async with store_errors_for_model():
            reminders = await _reminders(context).read()
        return {"reminders": [_shown(reminder) for reminder in reminders]}


class CancelReminder(Tool):
    """Deletes one."""

    name = "cancel_reminder"
    description = (
        "Cancels a reminder or routine of the user. Use it when one is no longer wanted; to "
        "change one, cancel it and set a new one."
    )
    risk = "low"
    titles = words(en="Cancel a reminder", ja="リマインダーを取り消す")
    writes = True
    timeout_s = 5

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Delete it.

        Raises:
            ToolError: there is none with this id.
        """
        async with store_errors_for_model():
            is_cancelled = await _reminders(context).cancel(arguments["id"])
        if not is_cancelled:
            raise ToolError("no reminder of this user has this id here; call list_reminders")
        return {"cancelled": arguments["id"]}


def _visible(text: str) -> str:
    """The text without line breaks and invisible characters.

    Raises:
        ToolError: nothing is left.
    """
    line = one_line(text, JOINER)
    if not line.strip(JOINER + " "):
        raise ToolError("invalid parameters: text is empty")
    return line


def _reminders(context: ToolContext) -> PersonalReminders:
    reminders = context.store(PersonalReminders)
    if reminders is None:
        raise ToolError(NOWHERE)
    return reminders


def _first_time(
    arguments: dict[str, Any], zone: ZoneInfo, now: datetime
) -> tuple[datetime, datetime]:
    """The first time, in the user's zone, and as the clock was to show it, which it may skip.

    Raises:
        ToolError: neither or both of ``at`` and ``in`` are given, or one cannot be read.
    """
    at, duration = arguments.get("at"), arguments.get("in")
    if bool(at) == bool(duration):
        raise ToolError("invalid parameters: give either at or in")
    if duration:
        match = DURATION.fullmatch(str(duration).strip().upper())
        if match is None or not any(match.groups()):
            raise ToolError(
                "invalid parameters: in must be a duration of ISO 8601, such as PT2M, PT1H30M or "
                "P1D"
            )
        amounts = map(int, match.groups("0"))
        span = timedelta(**dict(zip(UNITS, amounts, strict=True)))
        first = (now.astimezone(UTC) + span).astimezone(zone)
        return first, first.replace(tzinfo=None)
    try:
        given = datetime.fromisoformat(str(at))
        if given.tzinfo:
            first = shown = given.astimezone(UTC).astimezone(zone)
        else:
            first, shown = given.replace(tzinfo=zone).astimezone(UTC).astimezone(zone), given
        return first, shown.replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise ToolError(
            "invalid parameters: at must be a local time such as 2026-11-23T07:00"
        ) from error


def _matching(repeat: str, start: datetime, at: datetime, now: datetime) -> datetime:
    """The first time of a rule that begins at ``at``, when the clock shows ``start`` or skips it.

    Raises:
        ToolError: the rule cannot be read, or names no time.
    """
    try:
        zone = cast(ZoneInfo, at.tzinfo)
        first = next_time(repeat, start, zone, max(now, at - timedelta(seconds=1)))
    except BadRuleError as error:
        raise ToolError(f"invalid parameters: {error}") from error
    if first is None:
        raise ToolError("invalid parameters: repeat names no time within five years")
    return first


def _shown_by_clock(at: datetime, asked: datetime) -> datetime:
    """The time of day that was asked for on the day of ``at``, where that is ``at``, also by a
    clock that skips it."""
    start = datetime.combine(at.date(), asked.time())
    if start.replace(tzinfo=at.tzinfo).astimezone(UTC) == at:
        return start
    return at.replace(tzinfo=None)


def _shown(reminder: Reminder) -> dict[str, Any]:
    zone = reminder.at.tzinfo
    shown: dict[str, Any] = {
        "id": reminder.id,
        "text": reminder.text,
        "at": f"{reminder.at:%Y-%m-%dT%H:%M}",
        "weekday": f"{reminder.at:%A}",
        "time_zone": str(zone),
    }
    if reminder.repeat:
        shown["repeat"] = reminder.repeat
    if reminder.routine:
        shown["routine"] = True
    if reminder.rests:
        shown["rests"] = True
    return shown
