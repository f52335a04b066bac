"""Reminders are moved into the inbox when their time has come.

What is up to ``LATE_S`` late comes late and says so. What is later is only named, and of a reminder
that repeats, all missed times count as one.
"""

from __future__ import annotations

import asyncio

import structlog

from bot.channels import InboundEvent
from bot.errors import StoreUnavailable
from bot.features.reminders.personal import count_reminder
from bot.features.reminders.recurrence import is_hourly
from bot.features.reminders.reminder import StoredReminder, read_body
from bot.features.reminders.store import StoredReminders
from bot.pipeline.services import Start
from bot.store import DueValue, Next, Store
from bot.texts import Texts, language_for
from bot.transcript import SCHEDULED_ID, Message, Text, encode

log = structlog.stdlib.get_logger(__name__)

SWEEP_S = 1.0
READ_LIMIT = 100  # reminders read at once
PUNCTUAL_S = 120  # later than that, a reminder says that it is late
ACTION = "reminders."  # of events, before how they come
TASKS = ("routine", "late_routine")
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
        self._reminders = StoredReminders(store)
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
            due = await self._reminders.due(READ_LIMIT)
            for one in due:
                await self._try(one)
            is_full = len(due) == READ_LIMIT

    async def _try(self, due: DueValue) -> None:
        try:
            await self._ring(due)
        except StoreUnavailable:
            raise
        except Exception:  # one reminder must not keep the others from coming
            log.exception("reminder.failed", conversation=due.conversation)
            await self._reminders.rest(due.conversation, due.id)

    async def _ring(self, due: DueValue) -> None:
        here = due.conversation
        now = await self._store.now_ms(here)
        body = await self._reminders.find(here, due.id)
        reminder = read_body(body)
        if reminder is None:
            # Without a body another process was first, or the reminder is cancelled.
            if body:
                log.warning("reminder.unreadable", conversation=here)
            await self._reminders.rest(here, due.id)
            return
        event = self._event(due, reminder, now)
        then = reminder.next_after(now)
        if then:
            ms, hourly = then.at - now, is_hourly(then.repeat)
            await count_reminder(self._store, here, event, due.id, ms, hourly=hourly)
        again = Next(then.at, encode(then)) if then else None
        if await self._reminders.take(due, event.message.id, encode(event), again):
            log.info(
                "reminder.rung",
                conversation=here,
                outcome=event.action.removeprefix(ACTION),
            )
            self._start(here, reminder.author.id if event.scheduled == "task" else "")

    def _event(self, due: DueValue, reminder: StoredReminder, now: int) -> InboundEvent:
        late_s = (now - due.at) / 1000
        language = language_for(reminder.text, reminder.author.locale, self._language)
        is_missed = late_s > LATE_S
        key = (
            "reminder.routine_message" if reminder.routine and not is_missed else "reminder.message"
        )
        parts = Text(f"{self._texts.get(key, language)}\n"), Text(reminder.text)
        message = Message(f"{SCHEDULED_ID}{due.id}_{due.at}", "user", parts, now, reminder.author)
        how = "routine" if reminder.routine else "due"
        if is_missed:
            how = "missed"
        elif late_s > PUNCTUAL_S:
            how = "late_routine" if reminder.routine else "late"
        return InboundEvent(
            message,
            reminder.address,
            reminder.group,
            target=due.id,
            action=f"{ACTION}{how}",
            scheduled="task" if how in TASKS else "shown",
        )


def planned_time(event: InboundEvent) -> int:
    """When a reminder was to come, milliseconds since the epoch: the end of its message's id."""
    return int(event.message.id.rpartition("_")[2])


def text_of(event: InboundEvent) -> str:
    """The text of a reminder as its author gave it."""
    *_, text = event.message.parts
    return text.text if isinstance(text, Text) else ""
