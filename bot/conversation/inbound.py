"""How arrivals become the messages a model reads: named, dated, with their pictures, edits made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from bot.agent.turn import NOBODY, ApprovalDecision, TurnUpdate
from bot.channels import Channel, InboundEvent
from bot.commands import SpokenCommands
from bot.conversation.albums import gathered
from bot.conversation.context import context_line, usable_zone
from bot.conversation.edits import Housekeeping
from bot.conversation.journal import decode_arrival
from bot.conversation.triage import belongs, is_stop, triage
from bot.live_events import Joined, Watcher
from bot.store import ARRIVAL, CHANGE, Lease, Store, Waiting
from bot.transcript import UNREADABLE, Message


class InboundMessages:
    """Receives what arrives for one turn.

    Args:
        time_zone: where the author's is not known.

    Attributes:
        address: where the newest message, or the newest decision, wants the answer.
        authors: who is being answered; others wait for their own turn.
        decisions: messages that have decided something, and so belong to this turn wherever they stand.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        channel: Channel,
        housekeeping: Housekeeping,
        commands: SpokenCommands,
        time_zone: str,
    ) -> None:
        self._store = store
        self._lease = lease
        self._channel = channel
        self._housekeeping = housekeeping
        self._commands = commands
        self._time_zone = time_zone
        self.address = ""
        self.authors: set[str] = set()
        self.decisions: set[str] = set()

    async def receive(self, arrivals: Sequence[InboundEvent], *, is_new: bool) -> TurnUpdate:
        """Make messages of arrivals; pictures are references still.

        Args:
            is_new: nothing has been said here before.
        """
        self._note(arrivals)
        conversation = self._lease.conversation
        prepared = await self._channel.enrich(conversation, arrivals, is_new=is_new)
        await self._housekeeping.remember(conversation, prepared)
        return TurnUpdate(tuple(self._dated(arrival) for arrival in prepared))

    async def hear(self, watcher: Watcher) -> TurnUpdate:
        """Take in what has arrived meanwhile and may join the turn.

        Raises:
            LeaseLost: another process has the turn.
        """
        joined = await gathered(await self._take_in(), self._take_in)
        return await self.join(watcher, joined) if joined else TurnUpdate()

    async def is_to_stop(self) -> bool:
        """Whether somebody wants the turn to end, which cannot be heard yet."""
        return any(is_stop(arrival, self._commands.read) for _, arrival in await self._waiting())

    async def _take_in(self) -> list[InboundEvent]:
        if joining := self._joining(await self._waiting()):
            await self._store.journal.join(self._lease, [entry.frame for entry, _ in joining])
        return [arrival for _, arrival in joining]

    async def _waiting(self) -> list[tuple[Waiting, InboundEvent]]:
        waiting = []
        for entry in await self._store.inbox.read(self._lease.conversation):
            try:
                waiting.append((entry, decode_arrival(entry.body)))
            except UNREADABLE:  # the next turn deals with it, and with all that follows
                break
        return waiting

    async def join(self, watcher: Watcher, arrivals: Sequence[InboundEvent]) -> TurnUpdate:
        """Make what has joined the turn part of it: messages, and changes to earlier ones.

        Raises:
            LeaseLost: another process has the turn.
        """
        batch = triage(arrivals, self._commands.read)
        await self._housekeeping.apply(self._lease, batch.edited)
        said = [*batch.dropped, *(arrival for _, arrival in batch.commands), *batch.messages]
        if not said:
            self._note(arrivals)
            return TurnUpdate(changes=batch.edited, stopped=batch.stopped)
        await watcher.show(Joined(tuple(arrival.message.id for arrival in said)))
        heard = await self.receive(said, is_new=False)
        return TurnUpdate(heard.messages, batch.edited, batch.stopped)

    def decided(self, decided: ApprovalDecision) -> None:
        """A decision has been taken: whoever took it is listening where they took it."""
        self.address = decided.address or self.address
        if decided.message_id:
            self.decisions.add(decided.message_id)

    def _joining(self, waiting: Sequence[tuple[Waiting, InboundEvent]]) -> list[tuple[Waiting, InboundEvent]]:
        """What may join now.

        With a wish to stop all before it, but for words of people whose turn does not end. Else what stands before the
        first thing that has to wait, what has decided, and changes to words that do not wait.
        """
        stops = [place for place, (_, arrival) in enumerate(waiting) if is_stop(arrival, self._commands.read)]
        if stops:
            ended = self.authors | {waiting[place][1].author_id for place in stops}
            return [one for one in waiting[: stops[-1] + 1] if one[0].kind != ARRIVAL or belongs(one[1], ended)]
        run = list(takewhile(lambda one: self._may_join(*one), waiting))
        later = waiting[len(run) :]
        stay = {arrival.message.id for _, arrival in later}
        return run + [
            (entry, arrival)
            for entry, arrival in later
            if arrival.message.id in self.decisions or (entry.kind == CHANGE and arrival.target not in stay)
        ]

    def _may_join(self, entry: Waiting, arrival: InboundEvent) -> bool:
        return entry.kind == CHANGE or (entry.kind == ARRIVAL and belongs(arrival, self.authors))

    def _note(self, arrivals: Sequence[InboundEvent]) -> None:
        self.authors |= {arrival.author_id for arrival in arrivals if arrival.event == "message"}
        self.address = next((arrival.address for arrival in reversed(arrivals) if arrival.address), self.address)

    def _dated(self, arrival: InboundEvent) -> Message:
        author = arrival.message.author or NOBODY
        zone = usable_zone(author.time_zone, self._time_zone)
        return replace(arrival.message, context=context_line(arrival, self._channel.name, zone))
