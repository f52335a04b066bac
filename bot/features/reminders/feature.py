"""Reminders and routines: texts that are shown, tasks that are done, when their time has come."""

from __future__ import annotations

import asyncio
from datetime import datetime
from operator import itemgetter
from zoneinfo import ZoneInfo

import structlog
from msgspec.structs import replace

from bot.agent.turn import NOBODY
from bot.channels import Delivery, InboundEvent, KeptItem, KeptSection, Reply
from bot.clock import now_ms
from bot.features.reminders.clock import ACTION, PUNCTUAL_S, ReminderClock, planned_time, text_of
from bot.features.reminders.personal import PersonalReminders, owner_of, reminders_of
from bot.features.reminders.reminder import MAX_FAILURES, line_of, read_body
from bot.features.reminders.store import COUNTED, StoredReminders
from bot.pipeline.feature import CommandContext, Feature, TurnRequest
from bot.pipeline.services import Services
from bot.transcript import SCHEDULED_ID, encode

log = structlog.stdlib.get_logger(__name__)

CANCEL = "cancel"  # the action of the buttons


class Reminders(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._reminders = StoredReminders(services.store)
        self.kept = {COUNTED: self._reminders.forget_count}
        self.tool_stores = {PersonalReminders: self._for_tools}
        self.commands = {"reminders": self._list}
        self.unrecorded = ("reminders",)

    async def run(self) -> None:
        """Move reminders into inboxes at their time."""
        services = self._services
        language = services.defaults.language
        await ReminderClock(services.store, services.texts, language, services.start).run()

    def announce(self, event: InboundEvent, refusal: str) -> Reply | None:
        """What is said when the time of a reminder has come; one that has waited behind a turn says
        when that was. A routine in time says nothing."""
        if not event.action.startswith(ACTION):
            return None
        planned_at = planned_time(event)
        at = datetime.fromtimestamp(planned_at / 1000, ZoneInfo(self._services.time_zone(event)))
        kind = event.action.removeprefix(ACTION)
        if refusal:
            kind = "refused_routine" if event.scheduled == "task" else "refused"
        elif kind == "routine":
            return None
        elif kind == "due" and now_ms() - planned_at > PUNCTUAL_S * 1000:
            kind = "waited"
        known = {"text": text_of(event), "at": f"{at:%Y-%m-%d %H:%M}", "refusal": refusal}
        text = self._services.sentence(f"reminder.{kind}", event, **known)
        return Reply(text)

    async def after_turn(
        self, conversation: str, event: InboundEvent, *, failed: bool
    ) -> Reply | None:
        """Count failures of a routine; one that rests from now on says so."""
        if not event.action.startswith(ACTION):
            return None
        reminder = read_body(await self._reminders.find(conversation, event.target))
        if reminder is None or not (failed or reminder.failures):
            return None
        failures = reminder.failures + 1 if failed else 0
        counted = encode(replace(reminder, failures=failures))
        await self._reminders.amend(conversation, event.target, counted)
        if failures < MAX_FAILURES:
            return None
        await self._reminders.rest(conversation, event.target)
        return Reply(self._services.sentence("reminder.rests", event))

    async def after_delivery(self, conversation: str, delivery: Delivery, refusal: str) -> None:
        """Count how often in a row the platform has refused the texts of reminders, once for each
        time.

        What repeats ends with the third time: otherwise it would leave dead letters for ever.
        """
        reminders, stored = self._reminders, await self._reminders.readable(conversation)
        for message_id in delivery.answers:
            key = message_id.removeprefix(SCHEDULED_ID).rpartition("_")[0]
            if not message_id.startswith(SCHEDULED_ID) or not (reminder := stored.get(key)):
                continue
            refusals, refused = 0, ""
            if refusal:
                refusals, refused = reminder.refusals + 1, message_id
            if refused == reminder.refused:
                continue
            if refusals < MAX_FAILURES:
                counted = replace(reminder, refusals=refusals, refused=refused)
                await reminders.amend(conversation, key, encode(counted))
                continue
            log.warning("reminder.ended", cause=refusal, conversation=conversation)
            # The alert goes out once a day, also if the process dies before the next line.
            await self._services.alerts.notice("reminder_ended", refusal)
            await reminders.drop(conversation, [key])

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        """Delete reminders that have not come."""
        await self._reminders.forget(conversation, author_id)

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection:
        """The next reminders first."""
        places = sorted({place for place, _ in await self._counted(conversation, event)})
        found = await asyncio.gather(*(self._in(place, event).read() for place in places))
        texts, language = self._services.texts, self._services.language(event)
        known = []
        for place, reminders in zip(places, found, strict=True):
            for one in reminders:
                item = KeptItem(f"{place} {one.id}", line_of(one, texts, language), place)
                known.append((one.at, item))
        known.sort(key=itemgetter(0))
        title, empty, label, word = (
            self._services.sentence(f"reminder.{key}", event)
            for key in ("title", "none", "cancel", "word")
        )
        return KeptSection(title, empty, CANCEL, label, [item for _, item in known], word)

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """Cancel one of the person's reminders."""
        if action == CANCEL:
            for place, reminder_id in await self._counted(conversation, event):
                if f"{place} {reminder_id}" == key:
                    return await self._in(place, event).cancel(reminder_id)
        return False

    async def _counted(self, conversation: str, event: InboundEvent) -> list[tuple[str, str]]:
        return await self._reminders.counted(owner_of(conversation, event))

    def _in(self, conversation: str, event: InboundEvent) -> PersonalReminders:
        author = event.message.author or NOBODY
        return PersonalReminders(self._services, conversation, event, author)

    async def _list(self, context: CommandContext) -> Reply:
        """List the asker's reminders."""
        services, event = self._services, context.event
        author = event.message.author or NOBODY
        own = reminders_of(services, context.lease.conversation, event, author)
        language = services.language(event)
        reminders = await own.read() if own else ()
        lines = "\n".join(line_of(one, services.texts, language) for one in reminders)
        key = "reminder.list" if lines else "reminder.empty"
        return services.private_reply(key, event, list=lines)

    def _for_tools(self, request: TurnRequest) -> PersonalReminders | None:
        conversation, event, author = request
        return reminders_of(self._services, conversation, event, author)


FEATURE = Reminders
