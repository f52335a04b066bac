"""Google's own tools beside ours: which of them a model gets, and the hour without them after a refusal.

https://ai.google.dev/gemini-api/docs/tool-combination: Gemini 3 and later, by an API key.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import structlog

from bot.providers.gemini.failures import ServiceError
from bot.providers.gemini.request import FAMILY, JSON, is_third
from bot.providers.shared.entry import AUTO_TOOLS

log = structlog.stdlib.get_logger(__name__)

FIELDS = {"google_search": "googleSearch", "url_context": "urlContext", "code_execution": "codeExecution"}
PAUSE_S = 3600.0
OF_MODEL = "/generate_content"  # in the metrics of a quota that has nothing to do with search


class ServerTools:
    """Google's own tools of one model.

    Args:
        chosen: their names, or ``AUTO_TOOLS``.
        clock: monotonic seconds.

    Attributes:
        names: of the tools that the model gets while none is refused.
    """

    def __init__(self, chosen: Sequence[str], model: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.names = _search_of(model) if chosen == AUTO_TOOLS else tuple(name for name in chosen if name in FIELDS)
        self._model = model
        self._clock = clock
        self._paused_until = -math.inf

    def declared(self) -> JSON:
        """The fields of a ``Tool``; empty without a tool, and for an hour after a refusal."""
        return {} if self._clock() < self._paused_until else {FIELDS[name]: {} for name in self.names}

    def pause(self, cause: str) -> str:
        """Leave the tools out for an hour; returns what the operator reads."""
        if self._clock() >= self._paused_until:
            log.warning("model.server_tools_refused", model=self._model, tools=list(self.names), cause=cause)
        self._paused_until = self._clock() + PAUSE_S
        return f"{self._model}, {', '.join(self.names)}: {cause}"


def may_be_refusal(error: ServiceError) -> bool:
    """Whether Google's own tools may be what is refused; only the same request without them can tell.

    Not every 400 names them ("Request contains an invalid argument."). A key without a quota of searches, as in the
    free tier, gets a 429 that names no quota.
    """
    return error.code == 400 or (error.code == 429 and OF_MODEL not in error.message)


def _search_of(model: str) -> tuple[str, ...]:
    match = FAMILY.match(model)
    return ("google_search",) if match and is_third(match) else ()
