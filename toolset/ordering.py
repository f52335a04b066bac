"""Order and exclusion between calls, for tools that need them; the loop starts calls side by side.

    async with self._locks.hold(path, context):
        …

Calls of one model response that wait for the same key hold it in the order of their ``call_index``. A response whose
calls came later waits until none of an earlier one is left in the line. Different keys do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolset.tool import ToolContext


class OrderedLocks:
    """Locks by key, within this process; those that nobody wants take no memory."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, _Line] = {}

    def __len__(self) -> int:
        return len(self._lines)

    @asynccontextmanager
    async def hold(self, key: Hashable, context: ToolContext) -> AsyncIterator[None]:
        """Wait for the key and hold it. A call that holds it already must not ask again: it would wait for itself."""
        line = self._lines.setdefault(key, _Line())
        place = line.join(context)
        try:
            await asyncio.sleep(0)  # the calls that were started together with this one join before the first holds
            line.advance()
            await place.reached.wait()
            yield
        finally:
            line.leave(place)
            if not line.places:
                del self._lines[key]


@dataclass(frozen=True, eq=False, slots=True)
class _Place:
    """A call in a line.

    Attributes:
        rank: batches in the order of their first call, then calls in theirs, then who came first.
    """

    batch_id: str
    rank: tuple[int, int, int]
    reached: asyncio.Event = field(default_factory=asyncio.Event)


class _Line:
    """The calls that want one key, the one that holds it included."""

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self._holder: _Place | None = None
        self._joined = 0

    def join(self, context: ToolContext) -> _Place:
        self._joined += 1
        batch = next((place.rank[0] for place in self.places if place.batch_id == context.batch_id), self._joined)
        place = _Place(context.batch_id, (batch, context.call_index, self._joined))
        self.places.append(place)
        return place

    def advance(self) -> None:
        """Let the next one hold the key where nobody does."""
        if self._holder is None and self.places:
            self._holder = min(self.places, key=lambda place: place.rank)
            self._holder.reached.set()

    def leave(self, place: _Place) -> None:
        """Also for a call that was cancelled, while it waited or just when its turn had come."""
        self.places.remove(place)
        if self._holder is place:
            self._holder = None
        self.advance()
