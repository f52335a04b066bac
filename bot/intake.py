"""The way in: one durable write, nothing else before a webhook's 200; a worker is told, and nobody waits for that."""

from __future__ import annotations

from typing import Protocol

from bot.arrivals import is_stop
from bot.channels import Arrival
from bot.errors import StoreUnavailable
from bot.metrics import Metrics
from bot.spoken_commands import SpokenCommands
from bot.stopping import TOPIC
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, Accepted, Store
from bot.transcript import encode


class Jobs(Protocol):
    """Tells some worker that a conversation needs care. A hint: nothing depends on it."""

    async def add(self, conversation: str, key: str) -> None:
        """Add a job, without waiting for anybody; one with a key that is known already may be dropped."""
        ...


class Intake:
    """Accepts messages of every channel (``bot.channels.Accept``)."""

    def __init__(self, store: Store, jobs: Jobs, commands: SpokenCommands, metrics: Metrics) -> None:
        self._store = store
        self._commands = commands
        self._jobs = jobs
        self._metrics = metrics
        self.closed = False

    async def __call__(self, conversation: str, arrival: Arrival) -> bool:
        """Accept one message; false where its id was seen before.

        Raises:
            StoreUnavailable: nothing was kept, or this process is shutting down: the platform must send it again.
        """
        if self.closed:
            raise StoreUnavailable("shutting down")
        message_id = arrival.message.id
        kind = self._kind_of(arrival)
        accepted = await self._store.inbox.accept(conversation, message_id, encode(arrival), kind)
        if accepted:
            self._metrics.accepted.labels(conversation.partition(":")[0]).inc()
        if accepted is not Accepted.ATTENDED:
            # A duplicate gets its job too: the first one may have died between the write and this line.
            await self._jobs.add(conversation, f"{conversation}/{message_id}")
        if accepted is Accepted.ATTENDED and kind == CONTROL:
            await self._store.live.publish(TOPIC, conversation.encode())
        return bool(accepted)

    def _kind_of(self, arrival: Arrival) -> str:
        """What may join a turn under way, and what has to wait for its end."""
        if arrival.event in ("edited", "unsent"):
            return CHANGE
        if arrival.event == "decision" or is_stop(arrival, self._commands.read):
            return CONTROL
        is_words = arrival.event == "message" and self._commands.read(arrival.message.text) is None
        return ARRIVAL if is_words else ASIDE
