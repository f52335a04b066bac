"""Summaries of older turns, which stand before the newer ones in a request.

They are written in the background. A finished summary is stored under a lease, unless its turns
have changed meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib.resources import files

import structlog

from bot.agent.turn import NOBODY
from bot.clock import now_ms
from bot.errors import LeaseLost, ModelError, StoreUnavailable
from bot.features.summaries.summarizer import Summarizer, summary_text
from bot.pipeline.feature import Feature
from bot.pipeline.history import (
    KEEP_TURNS,
    READ_TURNS,
    StoredTurn,
    cut_summary,
    fitting,
    messages_of,
    read_turns,
)
from bot.pipeline.services import Services
from bot.providers import Provider
from bot.transcript import Spending, Summary, encode

log = structlog.stdlib.get_logger(__name__)

DEMO = "demo"  # the model that cannot write a summary
KEEP = 0.4  # of what a request may hold: turns that stay in full
SUMMARY_S = 60.0
LEASE_WAIT_S = 60.0  # for a turn that began meanwhile
REST_S = 300.0  # after a failure, so that no turn in between asks for a summary again


class Summaries(Feature):
    """The feature (``bot.pipeline.feature.Feature``).

    Args:
        clock: monotonic seconds.

    Attributes:
        writing: the tasks that write summaries, by conversation.
    """

    def __init__(self, services: Services, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = services.store
        self._features = services.features
        self._model_of = services.model_of
        prompt = files(__package__).joinpath("prompt.md").read_text("utf-8").strip()
        self._summarizer = Summarizer(prompt, services.metrics)
        self._clock = clock
        self.writing: dict[str, asyncio.Task[None]] = {}
        self._paused: dict[str, float] = {}  # until when no summary is tried, after a failure

    def history_grown(self, conversation: str, person: str, size: int) -> None:
        """Summarise older turns in the background."""
        now = self._clock()
        self._paused = {paused: until for paused, until in self._paused.items() if until > now}
        model = self._model_of(conversation, person)
        if conversation in self.writing or conversation in self._paused or model.model == DEMO:
            return
        task = asyncio.create_task(self._summarise(conversation, model, size))
        self.writing[conversation] = task
        task.add_done_callback(lambda _: self.writing.pop(conversation))

    async def aclose(self) -> None:
        """Cancel the tasks that write summaries."""
        writing = list(self.writing.values())
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)

    async def _summarise(self, conversation: str, model: Provider, size: int) -> None:
        try:
            turns = read_turns(await self._store.history.recall(conversation, KEEP_TURNS))
            if older := _older(turns.since, size):
                async with asyncio.timeout(SUMMARY_S):
                    text, name = await self._write(conversation, model, turns.summary, older)
                summary = Summary(older[-1][1].turn_id, now_ms(), name, cut_summary(text, size))
                await self._put(conversation, turns.summary, older, summary)
        except (LeaseLost, ModelError, StoreUnavailable, TimeoutError) as error:
            self._paused[conversation] = self._clock() + REST_S
            log.warning("summary.failed", cause=str(error) or type(error).__name__)

    async def _write(
        self, conversation: str, model: Provider, before: Summary | None, older: list[StoredTurn]
    ) -> tuple[str, str]:
        """A new summary, and the name of the model that wrote it."""
        text = before.text if before else ""
        written = await self._summarizer.write(model, text, messages_of(older))
        spending = Spending(written.model, written.usage, NOBODY, messages=0, is_first=False)
        self._features.limits.spend(conversation, spending)
        return summary_text(written), written.model

    async def _put(
        self, conversation: str, before: Summary | None, older: list[StoredTurn], summary: Summary
    ) -> None:
        """Store a summary, unless its turns were changed, deleted or summarised meanwhile."""
        if (lease := await self._store.leases.wait_for(conversation, LEASE_WAIT_S)) is None:
            raise TimeoutError("a turn keeps the lease")
        try:
            turns = read_turns(await self._store.history.recall(conversation, KEEP_TURNS))
            if (turns.summary, turns.since[: len(older)]) != (before, older):
                log.info("summary.superseded")
                return
            await self._store.history.summarise(lease, encode(summary))
            log.info("summary.written", turns=len(older), characters=len(summary.text))
        finally:
            await self._store.leases.release(lease)


def _older(since: list[StoredTurn], size: int) -> list[StoredTurn]:
    """The turns to summarise now; none if the newest turn alone fills the space."""
    newer = fitting(reversed(since), size * KEEP, READ_TURNS * KEEP)
    older = since[: len(since) - newer]
    # The next summary takes the rest.
    return older[: fitting(older, size)]


FEATURE = Summaries
