"""Reminders and routines: kept for the person who asked, and moved into the inbox when their time
has come.

What is up to ``LATE_S`` late comes late and says so. What is later is only named, and of a reminder
that repeats, all missed times count as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

import structlog
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import REMINDER, InboundEvent
from bot.clock import usable_zone
from bot.conversation.edits import entry_of, person_of
from bot.conversation.services import Services, Start
from bot.conversation.tool_stores import store_errors_for_model
from bot.errors import StoreUnavailable
from bot.store import REMINDER_S, Alarm, Next, Store
from bot.texts import Texts, language_for
from bot.transcript import REMINDER_ID, UNREADABLE, Author, Message, Text, encode
from toolset.recurrence import BadRuleError, is_hourly, next_time
from toolset.stores import Reminder
from toolset.tool import ToolError

log = structlog.stdlib.get_logger(__name__)

MOST = 20  # of one person, in all conversations
MOST_HOURLY = 3  # of them, routines that repeat every hour
TOO_MANY = f"the user has {MOST} reminders, all conversations together; cancel one first"
TOO_MANY_HOURLY = (
    f"the user has {MOST_HOURLY} routines that repeat every hour, all conversations together; "
    "cancel one first, or "
    "repeat this one every two hours (FREQ=HOURLY;INTERVAL=2)"
)
SWEEP_S = 1.0
READ_LIMIT = 100  # reminders read at once
PUNCTUAL_S = 120  # later than that, a reminder says that it is late
LATE_S = 6 * 3_600  # later than that, it is only named
# one after the other: of a routine, then it rests; of deliveries of what repeats, then it ends
MAX_FAILURES = 3


class StoredReminder(Struct, frozen=True, omit_defaults=True):
    """A reminder in the store.

    Attributes:
        at: its next time, milliseconds since the epoch.
        start: its first time on the clock of the zone, ISO 8601 without a zone; the rule begins
            there.
        address: where the message that asked for it was to be answered.
        failures: of a routine, one after the other.
        refusals: of what repeats: how many of its times in a row the platform has refused to show.
        refused: id of the message of the last of these times.
    """

    text: str
    at: int
    zone: str
    author: Author
    address: str = ""
    group: bool = False
    repeat: str = ""
    start: str = ""
    routine: bool = False
    failures: int = 0
    refusals: int = 0
    refused: str = ""

    def next_after(self, ms: int) -> StoredReminder | None:
        """The reminder with its first time after a moment; None if it does not come again."""
        if not self.repeat:
            return None
        zone, start = ZoneInfo(self.zone), datetime.fromisoformat(self.start)
        try:
            at = next_time(self.repeat, start, zone, datetime.fromtimestamp(ms / 1000, UTC))
        except BadRuleError:
            return None
        return replace(self, at=_ms(at)) if at else None


read_reminder = Decoder(StoredReminder).decode


class PersonalReminders:
    """The reminders of one person in one conversation (``toolset.stores.Reminders``).

    Args:
        event: the message that is answered.
        author: who wrote it, with language and time zone where the platform tells them.
    """

    def __init__(
        self, services: Services, conversation: str, event: InboundEvent, author: Author
    ) -> None:
        self._services = services
        self._conversation = conversation
        self._event = event
        self._author = author
        self._zone = usable_zone(author.time_zone, services.defaults.time_zone)

    async def add(self, reminder: Reminder) -> None:
        """Keep a reminder; a known id changes nothing.

        Raises:
            ToolError: it would never be delivered, or the person has too many.
        """
        channel = self._services.channel(self._conversation)
        if channel is None:
            raise ToolError("not set: nothing can be sent here later")
        if refusal := await channel.refuses_reminders(self._conversation):
            raise ToolError(f"not set: {refusal}")
        start = reminder.start or reminder.at.replace(tzinfo=None)
        body = StoredReminder(
            reminder.text,
            _ms(reminder.at),
            self._zone,
            self._author,
            address=channel.lasting(self._event.address),
            group=self._event.group,
            repeat=reminder.repeat,
            start=f"{start:%Y-%m-%dT%H:%M:%S}" if reminder.repeat else "",
            routine=reminder.routine,
        )
        store, here = self._services.store, self._conversation
        async with store_errors_for_model():
            ms = body.at - await store.now_ms(here)
            hourly = is_hourly(reminder.repeat)
            if refusal := await count_reminder(
                store, here, self._event, reminder.id, ms, hourly=hourly
            ):
                raise ToolError(f"not set: {refusal}")
            await store.reminders.add(here, reminder.id, self._author.id, body.at, encode(body))

    async def read(self) -> list[Reminder]:
        """All of them, the next first.

        Raises:
            ToolError: the store does not answer.
        """
        async with store_errors_for_model():
            return await self.all()

    async def cancel(self, reminder_id: str) -> bool:
        """Delete one; false if there is none with this id.

        Raises:
            ToolError: the store does not answer.
        """
        async with store_errors_for_model():
            return await self.drop(reminder_id)

    async def drop(self, reminder_id: str) -> bool:
        """The same as ``cancel``, for a button.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        reminders, here = self._services.store.reminders, self._conversation
        if not await reminders.drop(here, self._author.id, reminder_id):
            return False
        person = person_of(here, self._event) or here
        await reminders.discount(person, here, reminder_id)
        await reminders.discount(_hourly(person), here, reminder_id)
        return True

    async def all(self) -> list[Reminder]:
        """The same as ``read``, for a command.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        bodies = await self._services.store.reminders.read(self._conversation)
        own = []
        for reminder_id, body in bodies.items():
            if (one := _read(body)) and one.author.id == self._author.id:
                own.append((reminder_id, one))
        return [
            _shown(reminder_id, one)
            for reminder_id, one in sorted(own, key=lambda pair: pair[1].at)
        ]


def reminders_of(
    services: Services, conversation: str, event: InboundEvent, author: Author
) -> PersonalReminders | None:
    """The reminders of the person who wrote an event; None for somebody unknown in a group."""
    if event.group and not author.id:
        return None
    return PersonalReminders(services, conversation, event, author)


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
        reminder = _read(body)
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
                outcome=event.action.removeprefix(REMINDER),
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
            action=f"{REMINDER}{how}",
        )


def planned_time(event: InboundEvent) -> int:
    """When a reminder was to come, milliseconds since the epoch: the end of its message's id."""
    return int(event.message.id.rpartition("_")[2])


async def note_outcome(
    store: Store, conversation: str, event: InboundEvent, *, failed: bool
) -> bool:
    """Count the failures in a row of a routine; whether it rests from now on. Other events have
    none.

    Raises:
        StoreUnavailable: the outcome may not be counted.
    """
    if not event.is_routine:
        return False
    reminder = _read((await store.reminders.read(conversation)).get(event.target, b""))
    if reminder is None or (not failed and not reminder.failures):
        return False
    failures = reminder.failures + 1 if failed else 0
    rests = failures >= MAX_FAILURES
    await store.reminders.amend(
        conversation, event.target, encode(replace(reminder, failures=failures)), rests=rests
    )
    return rests


async def note_arrival(store: Store, conversation: str, answers: Sequence[str]) -> None:
    """Count the refusals of reminders anew, as the answer to these messages has arrived.

    Raises:
        StoreUnavailable: the refusals may still count.
    """
    for _, reminder_id, reminder in await _answered_reminders(store, conversation, answers):
        if reminder.refusals:
            body = encode(replace(reminder, refusals=0, refused=""))
            await store.reminders.amend(conversation, reminder_id, body)


async def note_refusal(
    services: Services, conversation: str, answers: Sequence[str], cause: str
) -> None:
    """Count that the platform refuses the answer to these messages for ever, once for each time of
    a reminder.

    What repeats ends with the third time in a row: otherwise it would leave dead letters for ever.

    Raises:
        StoreUnavailable: the refusal may not be counted.
    """
    reminders = services.store.reminders
    for message_id, reminder_id, reminder in await _answered_reminders(
        services.store, conversation, answers
    ):
        if message_id == reminder.refused:
            continue
        counted = replace(reminder, refusals=reminder.refusals + 1, refused=message_id)
        if counted.refusals < MAX_FAILURES:
            await reminders.amend(conversation, reminder_id, encode(counted))
            continue
        log.warning("reminder.ended", cause=cause, conversation=conversation)
        # The alert goes out once a day, also if the process dies before the next line.
        await services.alerts.notice("reminder_ended", cause)
        await reminders.drop(conversation, reminder.author.id, reminder_id)


async def _answered_reminders(
    store: Store, conversation: str, answers: Sequence[str]
) -> list[tuple[str, str, StoredReminder]]:
    """The reminders that still exist among answered messages, each with the ids of message and
    reminder."""
    rung = [message_id for message_id in answers if message_id.startswith(REMINDER_ID)]
    if not rung:
        return []
    found, bodies = [], await store.reminders.read(conversation)
    for message_id in rung:
        key = message_id.removeprefix(REMINDER_ID).rpartition("_")[0]
        if reminder := _read(bodies.get(key, b"")):
            found.append((message_id, key, reminder))
    return found


async def count_reminder(
    store: Store, conversation: str, event: InboundEvent, reminder_id: str, ms: int, *, hourly: bool
) -> str:
    """Count a reminder that comes in ``ms`` for its author, and index the conversation for
    ``/forget me``.

    Args:
        hourly: it repeats every hour.

    Returns:
        Why the author may have no other, for the model; empty if it is counted.

    Raises:
        StoreUnavailable: it may be counted; that ends by itself unless it is kept.
    """
    person, ttl_s = person_of(conversation, event), max(ms, 0) // 1000 + REMINDER_S
    whose = person or conversation
    count = partial(
        store.reminders.count, conversation=conversation, reminder_id=reminder_id, ttl_s=ttl_s
    )
    if hourly and not await count(_hourly(whose), most=MOST_HOURLY):
        return TOO_MANY_HOURLY
    if not await count(whose, most=MOST):
        if hourly:
            await store.reminders.discount(_hourly(whose), conversation, reminder_id)
        return TOO_MANY
    if person:
        await store.belongings.add(person, entry_of(conversation, event), ttl_s)
    return ""


def _hourly(person: str) -> str:
    """The name under which the hourly routines of a person count."""
    return f"{person}:hourly"


def line_of(reminder: Reminder, texts: Texts, language: str) -> str:
    """A reminder in a list of reminders."""
    known = {"at": f"{reminder.at:%Y-%m-%d %H:%M}", "text": reminder.text, "rule": reminder.repeat}
    key = "resting" if reminder.rests else "repeated" if reminder.repeat else "once"
    return texts.get(f"reminder.{key}", language, **known)


def text_of(event: InboundEvent) -> str:
    """The text of a reminder as its author gave it."""
    *_, text = event.message.parts
    return text.text if isinstance(text, Text) else ""


def _shown(reminder_id: str, one: StoredReminder) -> Reminder:
    at = datetime.fromtimestamp(one.at / 1000, ZoneInfo(one.zone))
    rests = one.failures >= MAX_FAILURES
    return Reminder(reminder_id, one.text, at, one.repeat, one.routine, rests=rests)


def _read(body: bytes) -> StoredReminder | None:
    try:
        return read_reminder(body)
    except UNREADABLE:
        return None


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
