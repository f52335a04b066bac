"""Locks that keep the order of calls, for tools that need it; the loop runs calls side by side.

    async with self._locks.hold(path, context):
        …

Calls of one model response hold the same key in the order of their ``call_index``. Calls of a later
response wait for all of an earlier one. Different keys do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolset.tool import ToolContext


class OrderedLocks:
    """Locks by key, in this process; an unused key takes no memory."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, _Queue] = {}

    def __len__(self) -> int:
        return len(self._queues)

    @asynccontextmanager
    async def hold(self, key: Hashable, context: ToolContext) -> AsyncIterator[None]:
        """Wait for the key and hold it. Not reentrant: a call that holds the key would wait for
        itself."""
        queue = self._queues.setdefault(key, _Queue())
        ticket = queue.join(context)
        try:
            await asyncio.sleep(0)  # calls started together with this one join first
            queue.advance()
            await ticket.reached.wait()
            yield
        finally:
            queue.leave(ticket)
            if not queue.tickets:
                del self._queues[key]


@dataclass(frozen=True, eq=False, slots=True)
class _Ticket:
    """A call in a queue.

    Attributes:
        rank: order of the batch's first call, call_index, order of arrival.
    """

    batch_id: str
    rank: tuple[int, int, int]
    reached: asyncio.Event = field(default_factory=asyncio.Event)


class _Queue:
    """The calls that wait for one key or hold it."""

    def __init__(self) -> None:
        self.tickets: list[_Ticket] = []
        self._holder: _Ticket | None = None
        self._joined = 0

    def join(self, context: ToolContext) -> _Ticket:
        self._joined += 1
        batch = next(
            (ticket.rank[0] for ticket in self.tickets if ticket.batch_id == context.batch_id),
            self._joined,
        )
        ticket = _Ticket(context.batch_id, (batch, context.call_index, self._joined))
        self.tickets.append(ticket)
        return ticket

    def advance(self) -> None:
        """Give a free key to the next call."""
        if self._holder is None and self.tickets:
            self._holder = min(self.tickets, key=lambda ticket: ticket.rank)
            self._holder.reached.set()

    def leave(self, ticket: _Ticket) -> None:
        """Remove a call that has finished, or was cancelled while it waited."""
        self.tickets.remove(ticket)
        if self._holder is ticket:
            self._holder = None
        self.advance()
