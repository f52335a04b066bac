"""``set_reminder`` reads times on the user's clock; the others list and cancel."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.features.reminders.personal import PersonalReminders
from bot.features.reminders.reminder import Reminder
from bot.features.reminders.tools import CancelReminder, ListReminders, SetReminder
from tests.toolset.contexts import context
from toolset.tool import ToolContext, ToolError, ValidatedTool, read_schemas


class RemindersInMemory:
    """A person's reminders (``PersonalReminders``)."""

    def __init__(self) -> None:
        self.stored: dict[str, Reminder] = {}

    async def add(self, reminder: Reminder) -> None:
        self.stored.setdefault(reminder.id, reminder)

    async def read(self) -> list[Reminder]:
        return sorted(self.stored.values(), key=lambda reminder: reminder.at)

    async def cancel(self, reminder_id: str) -> bool:
        return self.stored.pop(reminder_id, None) is not None


def asked_by(
    stored: RemindersInMemory, key: str = "key_1", zone: str = "Asia/Tokyo"
) -> ToolContext:
    find_store = {PersonalReminders: stored}.get
    return replace(context(time_zone=zone), find_store=find_store, idempotency_key=key)


async def call(tool: Any, arguments: dict[str, Any], asked: ToolContext) -> dict[str, Any]:
    """Call a tool between its schemas."""
    outcome = await ValidatedTool(tool, *read_schemas(tool.name)).call(arguments, asked)
    if outcome.is_error:
        raise ToolError(outcome.response["error"])
    return outcome.response


set_reminder = SetReminder(datetime(2026, 11, 22, 3, 0, 30, tzinfo=UTC).astimezone)  # 12:00:30


@pytest.mark.parametrize(
    ("arguments", "at"),
    [
        ({"in": "PT2M"}, "2026-11-22T12:02"),
        ({"in": "p1dt1h30m"}, "2026-11-23T13:30"),
        ({"at": "2026-11-23T07:00"}, "2026-11-23T07:00"),
        ({"at": "2026-11-23T07:00:00Z"}, "2026-11-23T16:00"),
        ({"at": "2026-11-22T07:00", "repeat": "FREQ=DAILY"}, "2026-11-23T07:00"),
        (
            {"at": "2026-11-22T13:00", "repeat": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"},
            "2026-11-23T13:00",
        ),
        ({"at": "2026-11-23T07:00", "repeat": "FREQ=WEEKLY"}, "2026-11-23T07:00"),
    ],
)
async def test_the_time_is_the_users(arguments: dict[str, str], at: str) -> None:
    """The result says when it will be; the same call made twice sets one."""
    stored = RemindersInMemory()
    for _ in range(2):
        result = await call(set_reminder, {"text": "call home"} | arguments, asked_by(stored))
    assert (result["at"], result["time_zone"], result["text"]) == (at, "Asia/Tokyo", "call home")
    assert result.get("repeat", "") == arguments.get("repeat", "")
    (reminder,) = stored.stored.values()
    assert f"{reminder.at:%Y-%m-%dT%H:%M}" == at


@pytest.mark.parametrize(
    ("at", "first", "start"),
    [
        ("2027-03-28T02:30", "2027-03-28T03:30", "2027-03-28T02:30"),  # the clock skips this hour
        ("2027-03-28T02:30+01:00", "2027-03-28T03:30", "2027-03-28T03:30"),
        (
            "2027-03-26T02:30",
            "2027-03-28T03:30",
            "2027-03-28T02:30",
        ),  # over; the rule begins at its next time
        ("2027-03-29T02:30", "2027-03-29T02:30", "2027-03-29T02:30"),
    ],
)
async def test_a_rule_keeps_the_time_that_was_asked_for(at: str, first: str, start: str) -> None:
    """What comes an hour later on the day when the clock is put forward comes in time on the
    next."""
    stored, tool = (
        RemindersInMemory(),
        SetReminder(datetime(2027, 3, 27, 9, 0, tzinfo=UTC).astimezone),
    )
    await call(
        tool,
        {"text": "pill", "at": at, "repeat": "FREQ=DAILY"},
        asked_by(stored, zone="Europe/Berlin"),
    )
    (reminder,) = stored.stored.values()
    assert reminder.start is not None
    assert (f"{reminder.at:%Y-%m-%dT%H:%M}", f"{reminder.start:%Y-%m-%dT%H:%M}") == (first, start)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "either at or in"),
        ({"at": "2026-11-23T07:00", "in": "PT1M"}, "either at or in"),
        ({"at": "tomorrow"}, "local time such as"),
        ({"in": "2 minutes"}, "duration of ISO 8601"),
        ({"in": "P"}, "duration of ISO 8601"),
        ({"at": "2026-11-22T11:00"}, "is over or more than two years away; it is 2026-11-22 12:00"),
        ({"at": "2029-11-22T11:00"}, "is over or more than two years away"),
        (
            {"at": "0002-01-01T00:00", "repeat": "FREQ=HOURLY"},
            "is over or more than two years away",
        ),
        ({"at": "0001-01-01T00:00", "repeat": "FREQ=DAILY"}, "local time such as"),
        ({"at": "9999-12-31T23:59-12:00"}, "local time such as"),
        ({"in": "P1D", "text": "\u200b\u202e"}, "text is empty"),
        ({"at": "2026-11-23T11:00", "repeat": "daily"}, "must be an RRULE"),
        ({"at": "2026-11-23T11:00", "repeat": "FREQ=DAILY;UNTIL=20261101"}, "names no time"),
        ({"in": "PT1H", "repeat": "FREQ=HOURLY"}, "only a routine may repeat every hour"),
        (
            {"in": "PT1H", "repeat": "RRULE:FREQ=HOURLY;INTERVAL=1;COUNT=9"},
            "only a routine may repeat every hour",
        ),
    ],
)
async def test_a_time_that_cannot_be_is_explained(arguments: dict[str, str], why: str) -> None:
    """So that the model can call again."""
    with pytest.raises(ToolError, match=why):
        await call(set_reminder, {"text": "call home"} | arguments, asked_by(RemindersInMemory()))


@pytest.mark.parametrize("more", [{"routine": True}, {"repeat": "FREQ=HOURLY;INTERVAL=2"}])
async def test_a_task_may_repeat_every_hour_and_a_text_every_two(more: dict[str, Any]) -> None:
    """A text that comes every hour is a nuisance, and in LINE each costs a push."""
    stored = RemindersInMemory()
    await call(
        set_reminder, {"text": "x", "in": "PT1H", "repeat": "FREQ=HOURLY"} | more, asked_by(stored)
    )
    assert len(stored.stored) == 1


async def test_a_text_is_one_line_that_is_what_it_looks_like() -> None:
    """It stands in lists and messages; emoji that are put together stay whole."""
    result = await call(
        set_reminder,
        {"text": "a\n• 09:00:\u202e b 👨‍👩‍👧", "in": "P1D"},
        asked_by(RemindersInMemory()),
    )
    assert result["text"] == "a • 09:00: b 👨‍👩‍👧"


async def test_reminders_are_listed_and_cancelled() -> None:
    """The next first; an unknown id says how to find the right one."""
    stored = RemindersInMemory()
    later = await call(
        set_reminder, {"text": "b", "in": "P2D", "routine": True}, asked_by(stored, "1")
    )
    sooner = await call(set_reminder, {"text": "a", "in": "P1D"}, asked_by(stored, "2"))
    listed = await call(ListReminders(), {}, asked_by(stored))
    assert listed == {"reminders": [sooner, later]}
    assert later["routine"] is True
    assert await call(CancelReminder(), {"id": later["id"]}, asked_by(stored)) == {
        "cancelled": later["id"]
    }
    with pytest.raises(ToolError, match="call list_reminders"):
        await call(CancelReminder(), {"id": later["id"]}, asked_by(stored))
    stored.stored = {"x": replace(stored.stored[sooner["id"]], rests=True)}
    assert (await call(ListReminders(), {}, asked_by(stored)))["reminders"][0]["rests"] is True


async def test_without_a_conversation_there_are_none() -> None:
    """As on the command line."""
    with pytest.raises(ToolError, match="in conversations only"):
        await call(ListReminders(), {}, context())
