"""A vendor's own tools, which run on its servers beside ours: which a model gets, their pause,
their findings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import structlog

from bot.transcript import Grounding, Source

log = structlog.stdlib.get_logger(__name__)

PAUSE_S = 3600.0
# An answer keeps so many pages and searches: more than anybody is shown.
MOST_FOUND = 50
# These are the most characters of a page's address, and of a title or a search.
LONGEST_ADDRESS, LONGEST_WORDS = 2_000, 300


def bounded(found: Grounding) -> Grounding:
    """What was found, without what is too much to keep."""
    pages = []
    for page in found.sources:
        if len(page.url) <= LONGEST_ADDRESS:
            pages.append(Source(page.title[:LONGEST_WORDS], page.url))
    queries = [query[:LONGEST_WORDS] for query in found.queries[:MOST_FOUND]]
    return Grounding(tuple(pages[:MOST_FOUND]), tuple(queries))


class ServerTools:
    """The vendor's own tools of one model.

    Args:
        clock: monotonic seconds.

    Attributes:
        names: of the tools that the model gets while none is refused.
    """

    def __init__(
        self, names: tuple[str, ...], model: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.names = names
        self._model = model
        self._clock = clock
        self._paused_until = -math.inf

    def offered(self) -> tuple[str, ...]:
        """Their names; none for an hour after a refusal."""
        return () if self._clock() < self._paused_until else self.names

    def pause(self, cause: str) -> str:
        """Leave the tools out for an hour; returns what the operator reads."""
        if self._clock() >= self._paused_until:
            log.warning(
                "model.server_tools_refused", model=self._model, tools=list(self.names), cause=cause
            )
        self._paused_until = self._clock() + PAUSE_S
        return f"{self._model}, {', '.join(self.names)}: {cause}"
