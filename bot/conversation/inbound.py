"""How arrivals become the messages a model reads: named, dated, with their pictures, edits made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from bot.agent.turn import ApprovalDecision, TurnUpdate
from bot.channels import InboundEvent
from bot.conversation.edits import HistoryEditor
from bot.conversation.journal import read_event
from bot.conversation.services import Services
from bot.conversation.triage import belongs, count_of_one_turn, is_stop, is_text, triage, with_whole_albums
from bot.live_events import Joined, Watcher
from bot.safe_text.names import safe_name
from bot.store import ARRIVAL, CHANGE, Lease, Waiting
from bot.transcript import Message, channel_of

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class InboundMessages:
    """Receives what arrives for one turn.

    Attributes:
        address: where the newest message, or the newest decision, wants the answer.
        authors: who is being answered; others wait for their own turn.
        decisions: messages that have decided something, and so belong to this turn wherever they stand.
    """

    def __init__(self, services: Services, lease: Lease, editor: HistoryEditor) -> None:
        self._services = services
        self._lease = lease
        self._channel = services.channels[channel_of(lease.conversation)]
        self._editor = editor
        self.address = ""
        self.authors: set[str] = set()
        self.decisions: set[str] = set()

    async def begin(self, events: list[InboundEvent]) -> list[InboundEvent]:
        """What a new turn answers: the words of one person, with all pictures that were sent together.

        Raises:
            LeaseLost: another process has the turn.
        """
        journal = self._services.store.journal
        own = events[: count_of_one_turn(events, self._services.commands)]
        if others := len(events) - len(own):
            await journal.give_back(self._lease, others)
            return own
        self.authors = {one.author_id for one in own if is_text(one, self._services.commands)}
        return await with_whole_albums(own, self._join_waiting)

    async def receive(self, events: Sequence[InboundEvent], *, is_new: bool) -> TurnUpdate:
        """Make messages of arrivals; pictures are references still.

        Args:
            is_new: nothing has been said here before.
        """
        self._note(events)
        conversation = self._lease.conversation
        prepared = await self._channel.enrich(conversation, events, is_new=is_new)
        await self._editor.remember(conversation, prepared)
        return TurnUpdate(tuple(self._dated(event) for event in prepared))

    async def check(self, watcher: Watcher) -> TurnUpdate:
        """Take in what has arrived meanwhile and may join the turn.

        Raises:
            LeaseLost: another process has the turn.
        """
        joined = await with_whole_albums(await self._join_waiting(), self._join_waiting)
        return await self.join(watcher, joined) if joined else TurnUpdate()

    async def is_to_stop(self) -> bool:
        """Whether somebody wants the turn to end, which it cannot take in yet."""
        return any(is_stop(event, self._services.commands) for _, event in await self._waiting())

    async def _join_waiting(self) -> list[InboundEvent]:
        """What waits and may join the turn, on record as the turn's own from now on."""
        if joining := self._joining(await self._waiting()):
            await self._services.store.journal.join(self._lease, [entry.frame for entry, _ in joining])
        return [event for _, event in joining]

    async def _waiting(self) -> list[tuple[Waiting, InboundEvent]]:
        waiting = []
        for entry in await self._services.store.inbox.read(self._lease.conversation):
            if (event := read_event(entry.body)) is None:
                break  # the next turn deals with it, and with all that follows
            waiting.append((entry, event))
        return waiting

    async def join(self, watcher: Watcher, events: Sequence[InboundEvent]) -> TurnUpdate:
        """Make what has joined the turn part of it: messages, and changes to earlier ones.

        Raises:
            LeaseLost: another process has the turn.
        """
        batch = triage(events, self._services.commands)
        await self._editor.apply(self._lease, batch.edited)
        new = [*batch.superseded, *(event for _, event in batch.commands), *batch.messages]
        if not new:
            self._note(events)
            return TurnUpdate(changes=batch.edited, stopped=batch.stopped)
        await watcher.show(Joined(tuple(event.message.id for event in new)))
        update = await self.receive(new, is_new=False)
        return TurnUpdate(update.messages, batch.edited, batch.stopped)

    def note_decision(self, decision: ApprovalDecision) -> None:
        """Answer where a decision was taken: whoever took it reads there."""
        self.address = decision.address or self.address
        if decision.message_id:
            self.decisions.add(decision.message_id)

    def _joining(self, waiting: Sequence[tuple[Waiting, InboundEvent]]) -> list[tuple[Waiting, InboundEvent]]:
        """What may join now.

        With a wish to stop all before it, but for words of people whose turn does not end. Else what stands before the
        first thing that has to wait, what has decided, and changes to words that do not wait.
        """
        stops = [index for index, (_, event) in enumerate(waiting) if is_stop(event, self._services.commands)]
        if stops:
            ended = self.authors | {waiting[index][1].author_id for index in stops}
            return [one for one in waiting[: stops[-1] + 1] if one[0].kind != ARRIVAL or belongs(one[1], ended)]
        run = list(takewhile(lambda one: self._may_join(*one), waiting))
        later = waiting[len(run) :]
        stay = {event.message.id for _, event in later}
        return run + [
            (entry, event)
            for entry, event in later
            if event.message.id in self.decisions or (entry.kind == CHANGE and event.target not in stay)
        ]

    def _may_join(self, entry: Waiting, event: InboundEvent) -> bool:
        return entry.kind == CHANGE or (entry.kind == ARRIVAL and belongs(event, self.authors))

    def _note(self, events: Sequence[InboundEvent]) -> None:
        self.authors |= {event.author_id for event in events if event.event == "message"}
        self.address = next((event.address for event in reversed(events) if event.address), self.address)

    def _dated(self, event: InboundEvent) -> Message:
        zone = self._services.time_zone(event)
        return replace(event.message, context=context_line(event, self._channel.name, zone))


def context_line(event: InboundEvent, channel: str, time_zone: str) -> str:
    """``[Saturday 2026-11-21 21:57 Asia/Tokyo, line, group, from Hanako]``.

    The same bytes for the same arrival, so that a model's prompt cache holds; a name can neither break out of the
    brackets nor imitate what stands between them.
    """
    author = event.message.author
    at = datetime.fromtimestamp(event.message.at / 1000, ZoneInfo(time_zone))
    words = [f"{WEEKDAYS[at.weekday()]} {at:%Y-%m-%d %H:%M} {time_zone}", channel, "group" if event.group else "1:1"]
    name = safe_name(author.name) if author else ""
    if event.group and name:
        words.append(f"from {name}")
    return f"[{', '.join(words)}]"
