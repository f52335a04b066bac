"""The reminders of one person in one conversation, counted so that nobody has too many."""

from __future__ import annotations

from functools import partial

from bot.channels import InboundEvent
from bot.features.reminders.recurrence import is_hourly
from bot.features.reminders.reminder import Reminder, StoredReminder, ms_of, shown
from bot.features.reminders.store import COUNTED, StoredReminders, hourly_of
from bot.pipeline.feature import store_errors_for_model
from bot.pipeline.services import Services
from bot.store import SCHEDULED_S, Store, entry_of
from bot.store.keys import person_of
from bot.transcript import Author, encode
from toolset.tool import ToolError

MOST = 20  # of one person, in all conversations
MOST_HOURLY = 3  # of them, routines that repeat every hour
TOO_MANY = f"the user has {MOST} reminders, all conversations together; cancel one first"
TOO_MANY_HOURLY = (
    f"the user has {MOST_HOURLY} routines that repeat every hour, all conversations together; "
    "cancel one first, or "
    "repeat this one every two hours (FREQ=HOURLY;INTERVAL=2)"
)


class PersonalReminders:
    """The reminders of one person in one conversation, for tools, a command and a page.

    Args:
        event: the message that is answered.
        author: who wrote it, with language and time zone where the platform tells them.
    """

    def __init__(
        self, services: Services, conversation: str, event: InboundEvent, author: Author
    ) -> None:
        self._services = services
        self._reminders = StoredReminders(services.store)
        self._conversation = conversation
        self._event = event
        self._author = author
        self._zone = services.zone_of(author)

    async def add(self, reminder: Reminder) -> None:
        """Keep a reminder; a known id changes nothing.

        Raises:
            ToolError: it would never be delivered, or the person has too many.
        """
        channel = self._services.channel(self._conversation)
        if channel is None:
            raise ToolError("not set: nothing can be sent here later")
        reach = await channel.reach(self._conversation, self._author.id)
        if reach.refusal:
            raise ToolError(f"not set: {reach.refusal}")
        start = reminder.start or reminder.at.replace(tzinfo=None)
        body = StoredReminder(
            reminder.text,
            ms_of(reminder.at),
            self._zone,
            self._author,
            address=channel.validity(self._event.address).later,
            group=self._event.group,
            repeat=reminder.repeat,
            start=f"{start:%Y-%m-%dT%H:%M:%S}" if reminder.repeat else "",
            routine=reminder.routine,
        )
        here = self._conversation
        async with store_errors_for_model():
            ms = body.at - await self._services.store.now_ms(here)
            hourly = is_hourly(reminder.repeat)
            if refusal := await count_reminder(
                self._services.store, here, self._event, reminder.id, ms, hourly=hourly
            ):
                raise ToolError(f"not set: {refusal}")
            await self._reminders.add(here, reminder.id, body.at, encode(body))

    async def cancel(self, reminder_id: str) -> bool:
        """Delete one; false if there is none with this id.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        reminders, here = self._reminders, self._conversation
        own = (await reminders.readable(here)).get(reminder_id)
        if own is None or own.author.id != self._author.id:
            return False
        await reminders.drop(here, [reminder_id])
        owner = owner_of(here, self._event)
        await reminders.discount(owner, here, reminder_id)
        await reminders.discount(hourly_of(owner), here, reminder_id)
        return True

    async def read(self) -> list[Reminder]:
        """All of them, the next first.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        stored = await self._reminders.readable(self._conversation)
        own = [pair for pair in stored.items() if pair[1].author.id == self._author.id]
        return [shown(*pair) for pair in sorted(own, key=lambda pair: pair[1].at)]


def reminders_of(
    services: Services, conversation: str, event: InboundEvent, author: Author
) -> PersonalReminders | None:
    """The reminders of the person who wrote an event; None for somebody unknown in a group."""
    if event.group and not author.id:
        return None
    return PersonalReminders(services, conversation, event, author)


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
    whose, ttl_s = owner_of(conversation, event), max(ms, 0) // 1000 + SCHEDULED_S
    reminders = StoredReminders(store)
    count = partial(
        reminders.count, conversation=conversation, reminder_id=reminder_id, ttl_s=ttl_s
    )
    await store.belongings.add(whose, f"{COUNTED} {whose}", ttl_s)
    if hourly and not await count(hourly_of(whose), most=MOST_HOURLY):
        return TOO_MANY_HOURLY
    if not await count(whose, most=MOST):
        if hourly:
            await reminders.discount(hourly_of(whose), conversation, reminder_id)
        return TOO_MANY
    if event.author_id:
        entry = entry_of(conversation, shared=event.group)
        await store.belongings.add(whose, entry, ttl_s)
    return ""


def owner_of(conversation: str, event: InboundEvent) -> str:
    """Whose reminders an event's author sets: the person's or, of somebody unknown, the
    conversation's."""
    return person_of(conversation, event.author_id) if event.author_id else conversation
