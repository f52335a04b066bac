"""The processes of a storm: each is started again whenever it ends, as a dyno is, and killed by
those who like to."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.chaos.talk import Chronicle
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.waiting import until


class Fleet:
    """So many ``kaiwa run`` on one store.

    Attributes:
        serving: what answers now, by place.
        all: every process there has been, by name.
        fallen: those that have ended by themselves, with their exit codes.
        exits: exit codes of those that were asked to end.
    """

    def __init__(
        self, folder: Path, size: int, variables: Mapping[str, str], chronicle: Chronicle
    ) -> None:
        self._folder = folder
        self._size = size
        self._variables = variables
        self._chronicle = chronicle
        self.serving: dict[int, KaiwaProcess] = {}
        self.all: dict[str, KaiwaProcess] = {}
        self.fallen: list[str] = []
        self.exits: list[int | None] = []

    @asynccontextmanager
    async def sailing(self) -> AsyncIterator[None]:
        """Everything up; at the end everything is asked to stop."""
        keepers = [asyncio.create_task(self._keep(place)) for place in range(self._size)]
        try:
            await until(lambda: len(self.serving) == self._size, seconds=60)
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)

    async def kill(self, place: int) -> None:
        """Kill -9, and return when it is dead."""
        await self.serving[place].kill()

    async def _keep(self, place: int) -> None:
        for life in range(1000):
            name = f"kaiwa-{place}.{life}"
            async with kaiwa(self._folder, "run", **self._variables) as running:
                self.all[name] = running
                try:
                    if running.base_url:
                        self.serving[place] = running
                        self._chronicle.note(name, "serves")
                    await running.process.wait()
                except asyncio.CancelledError:
                    self.exits.append(await running.stop())
                    raise
                finally:
                    self.serving.pop(place, None)
            code = running.process.returncode
            self._chronicle.note(
                name, "was killed" if code == -signal.SIGKILL else f"ended by itself: {code}"
            )
            if code != -signal.SIGKILL:
                self.fallen.append(f"{name}: {code}: {running.lines[-1:]}")
