"""The keys of Docket, through which earlier versions sent hints to workers; some of them never
expire.

They are deleted when no worker of an earlier version lives. A web process of such a version may
then create some again, so the check is repeated.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from bot.errors import StoreUnavailable
from bot.store.clients import Client, translate_errors

PREFIXES = ("kaiwa", "{kaiwa}")  # on one server, and on a cluster
FAMILIES = {
    *(
        "cancel",
        "known",
        "leases",
        "parked",
        "perpetual",
        "progress",
        "queue",
        "results",
        "runs",
        "state",
    ),
    *("stream", "stream-id", "strikes", "task-workers", "worker-tasks", "workers"),
}
EVERY_S = 60.0
SILENT_S = 60.0  # a living worker writes the time into its set every two seconds


class DocketKeys:
    """Finds and deletes what Docket has left behind."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self) -> None:
        """Delete the keys whenever there are some; never returns."""
        while True:
            with suppress(StoreUnavailable):
                await self.delete()
            await asyncio.sleep(EVERY_S)

    async def delete(self) -> int:
        """Delete the keys unless a worker uses them; returns how many there were."""
        async with translate_errors():
            return sum([await self._delete(prefix) for prefix in PREFIXES])

    async def _delete(self, prefix: str) -> int:
        if not await self._client.exists(
            f"{prefix}:stream"
        ):  # every worker creates it, and every hint
            return 0
        latest = await self._client.zrange(f"{prefix}:workers", -1, -1, withscores=True)
        if latest and float(latest[0][1]) > time.time() - SILENT_S:
            return 0
        keys = [key async for key in self._client.scan_iter(f"{prefix}:[^{{]*", count=1_000)]
        found = [
            key
            for key in keys
            if key.decode().removeprefix(f"{prefix}:").partition(":")[0] in FAMILIES
        ]
        return sum([await self._client.delete(key) for key in found])
