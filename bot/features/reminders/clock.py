"""Reminders are moved into the inbox when their time has come.

What is up to ``LATE_S`` late comes late and says so. What is later is only named, and of a reminder
that repeats, all missed times count as one.
"""

from __future__ import annotations

import asyncio

import structlog

from bot.channels import PLANNED, InboundEvent
from bot.errors import StoreUnavailable
from bot.features.reminders.personal import count_reminder
from bot.features.reminders.recurrence import is_hourly
from bot.features.reminders.reminder import StoredReminder, read_body
from bot.pipeline.services import Start
from bot.store import Alarm, Next, Store
from bot.texts import Texts, language_for
from bot.transcript import REMINDER_ID, Message, Text, encode

log = structlog.stdlib.get_logger(__name__)

SWEEP_S = 1.0
READ_LIMIT = 100  # reminders read at once
PUNCTUAL_S = 120  # later than that, a reminder says that it is late
LATE_S = 6 * 3_600  # later than that, it is only named


class ReminderClock:
    """Moves reminders into the inbox when their time has come. Every worker has one; a script
    decides who was first.

    Args:
        language: where neither the text nor the author shows one.
        start: tells this process's worker of a conversation that is due.
    """

    def __init__(self, store: Store, texts: Texts, language: str, start: Start) -> None:
        self._store = store
        self._texts = texts
        self._language = language
        self._start = start

    async def run(self) -> None:
        """Look every second; never returns."""
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self.sweep()
            except StoreUnavailable as error:
                log.warning("reminders.not_read", cause=str(error))

    async def sweep(self) -> None:
        """Ring all reminders that are due.

        Raises:
            StoreUnavailable: those that have not rung are still due.
        """
        is_full = True
        while is_full:
            due = await self._store.reminders.due(READ_LIMIT)
            for alarm in due:
                await self._try(alarm)
            is_full = len(due) == READ_LIMIT

    async def _try(self, alarm: Alarm) -> None:
        try:
            await self._ring(alarm)
        except StoreUnavailable:
            raise
        except Exception:  # one reminder must not keep the others from coming
            log.exception("reminder.failed", conversation=alarm.conversation)
            await self._rest(alarm)

    async def _ring(self, alarm: Alarm) -> None:
        now = await self._store.now_ms(alarm.conversation)
        body = (await self._store.reminders.read(alarm.conversation)).get(alarm.reminder_id, b"")
        reminder = read_body(body)
        if reminder is None:
            # Without a body another process was first, or the reminder is cancelled.
            if body:
                log.warning("reminder.unreadable", conversation=alarm.conversation)
            await self._rest(alarm)
            return
        event = self._event(alarm, reminder, now)
        then = reminder.next_after(now)
        if then:
            ms, hourly = then.at - now, is_hourly(then.repeat)
            await count_reminder(
                self._store, alarm.conversation, event, alarm.reminder_id, ms, hourly=hourly
            )
        again = Next(then.at, encode(then)) if then else None
        if await self._store.reminders.ring(alarm, event.message.id, encode(event), again):
            log.info(
                "reminder.rung",
                conversation=alarm.conversation,
                outcome=event.action.removeprefix(PLANNED),
            )
            self._start(alarm.conversation, reminder.author.id if event.is_routine else "")

    async def _rest(self, alarm: Alarm) -> None:
        """Look at a reminder no more."""
        body = (await self._store.reminders.read(alarm.conversation)).get(alarm.reminder_id, b"")
        await self._store.reminders.amend(alarm.conversation, alarm.reminder_id, body, rests=True)

    def _event(self, alarm: Alarm, reminder: StoredReminder, now: int) -> InboundEvent:
        late_s = (now - alarm.at) / 1000
        language = language_for(reminder.text, reminder.author.locale, self._language)
        is_missed = late_s > LATE_S
        key = (
            "reminder.routine_message" if reminder.routine and not is_missed else "reminder.message"
        )
        parts = Text(f"{self._texts.get(key, language)}\n"), Text(reminder.text)
        message = Message(
            f"{REMINDER_ID}{alarm.reminder_id}_{alarm.at}", "user", parts, now, reminder.author
        )
        how = "routine" if reminder.routine else "due"
        if is_missed:
            how = "missed"
        elif late_s > PUNCTUAL_S:
            how = "late_routine" if reminder.routine else "late"
        return InboundEvent(
            message,
            reminder.address,
            reminder.group,
            target=alarm.reminder_id,
            action=f"{PLANNED}{how}",
        )


def planned_time(event: InboundEvent) -> int:
    """When a reminder was to come, milliseconds since the epoch: the end of its message's id."""
    return int(event.message.id.rpartition("_")[2])
