"""Conversations that grow until they are summarised."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from bot.features.summaries.feature import Summaries
from bot.pipeline.services import Services
from bot.providers import Request
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Usage, decode_summary
from tests.bot.harness import HERE, Harness
from tests.bot.pipeline import long_talks
from tests.bot.pipeline.long_talks import LONG
from tests.waiting import until
from toolset.tool_map import ToolMap

NOTES = "Hanako likes rain."
SPENT = Usage(input=100, output=10)
NOTED = Step(NOTES, usage=SPENT)


class Summarising(Harness):
    """A conversation service whose model writes summaries."""

    notes: Summaries

    def __init__(
        self,
        store: Store,
        steps: Iterable[Any],
        tools: ToolMap | None = None,
        tokens: int = 1_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def make(services: Services) -> Summaries:
            self.notes = Summaries(services, clock)
            return self.notes

        super().__init__(store, steps, tools=tools, tokens=tokens, also=[make])


async def talk(harness: Summarising, *texts: str) -> None:
    """Say one thing after the other, and wait for the summary after each."""
    for text in texts:
        await long_talks.talk(harness, text)
        await asyncio.gather(*harness.notes.writing.values())


async def noting(harness: Summarising, gate: asyncio.Event) -> None:
    """Talk until a summary is under way, which waits for the gate."""
    await talk(harness, f"one {LONG}", f"two {LONG}")
    await harness.receive(f"three {LONG}", "m2")
    await harness.runner.process(HERE)
    await until(lambda: len(summaries(harness)) == 1)
    assert not gate.is_set()


async def noted(harness: Summarising, gate: asyncio.Event) -> str:
    """Let the summary come to its end; what is known then, if anything."""
    gate.set()
    await asyncio.gather(*harness.notes.writing.values())
    known = (await harness.store.history.recall(HERE, 1)).summary
    return decode_summary(known).text if known else ""


def summaries(harness: Harness) -> list[Request]:
    """The requests that asked for a summary."""
    return [one for one in harness.model.requests if not one.system.startswith("SYSTEM")]
