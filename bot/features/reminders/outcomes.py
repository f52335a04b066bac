"""What becomes of reminders that have come: routines that fail rest, and what no platform takes
ends."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.features.reminders.reminder import MAX_FAILURES, StoredReminder, read_body
from bot.features.reminders.store import StoredReminders
from bot.pipeline.services import Services
from bot.transcript import SCHEDULED_ID, encode

log = structlog.stdlib.get_logger(__name__)


async def note_outcome(
    reminders: StoredReminders, conversation: str, event: InboundEvent, *, failed: bool
) -> bool:
    """Count the failures in a row of a routine; whether it rests from now on.

    Raises:
        StoreUnavailable: the outcome may not be counted.
    """
    reminder = read_body(await reminders.find(conversation, event.target))
    if reminder is None or (not failed and not reminder.failures):
        return False
    failures = reminder.failures + 1 if failed else 0
    counted = encode(replace(reminder, failures=failures))
    await reminders.amend(conversation, event.target, counted)
    if failures < MAX_FAILURES:
        return False
    await reminders.rest(conversation, event.target)
    return True


async def note_arrival(
    reminders: StoredReminders, conversation: str, answers: Sequence[str]
) -> None:
    """Count the refusals of reminders anew, as the answer to these messages has arrived.

    Raises:
        StoreUnavailable: the refusals may still count.
    """
    for _, reminder_id, reminder in await _answered_reminders(reminders, conversation, answers):
        if reminder.refusals:
            body = encode(replace(reminder, refusals=0, refused=""))
            await reminders.amend(conversation, reminder_id, body)


async def note_refusal(
    services: Services, conversation: str, answers: Sequence[str], cause: str
) -> None:
    """Count that the platform refuses the answer to these messages for ever, once for each time of
    a reminder.

    What repeats ends with the third time in a row: otherwise it would leave dead letters for ever.

    Raises:
        StoreUnavailable: the refusal may not be counted.
    """
    reminders = StoredReminders(services.store)
    for message_id, reminder_id, reminder in await _answered_reminders(
        reminders, conversation, answers
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
        await reminders.drop(conversation, [reminder_id])


async def _answered_reminders(
    reminders: StoredReminders, conversation: str, answers: Sequence[str]
) -> list[tuple[str, str, StoredReminder]]:
    """The reminders that still exist among answered messages, each with the ids of message and
    reminder."""
    rung = [message_id for message_id in answers if message_id.startswith(SCHEDULED_ID)]
    found, stored = [], await reminders.readable(conversation)
    for message_id in rung:
        key = message_id.removeprefix(SCHEDULED_ID).rpartition("_")[0]
        if reminder := stored.get(key):
            found.append((message_id, key, reminder))
    return found
