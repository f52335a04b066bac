"""Telemetry: ``span`` times, counts and logs every turn, model call, tool call and delivery."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from bot.metrics import Kind, Metrics

log = structlog.stdlib.get_logger(__name__)

LEVELS = {"turn.failed": "warning", "delivery.postponed": "warning", "delivery.failed": "error"}  # others: info
NAMES: dict[Kind, str] = {"model": "model", "tool": "tool", "delivery": "channel"}  # the field that says which one


class Span:
    """One measurement. Without ``end`` nothing is counted or logged, as when another process takes over."""

    def __init__(self, kind: Kind, metrics: Metrics) -> None:
        self._kind: Kind = kind
        self._metrics = metrics
        self._started = time.monotonic()

    def end(
        self, event: str, outcome: str, name: str = "", *, tokens: Mapping[str, int] | None = None, **fields: object
    ) -> int:
        """Count the work and log one line.

        Args:
            event: a key of the table in docs/operating.md.
            name: of the model, tool or channel.
            tokens: of a model call, by kind.
            fields: further ones of the log line.

        Returns:
            Milliseconds since the start.
        """
        seconds = time.monotonic() - self._started
        self._metrics.count(self._kind, outcome, seconds, name)
        if tokens:
            self._metrics.count_tokens(name, tokens)
        ms = round(seconds * 1000)
        which = {NAMES[self._kind]: name} if name else {}
        getattr(log, LEVELS.get(event, "info"))(event, **which, outcome=outcome, ms=ms, **fields)
        return ms


@contextmanager
def span(kind: Kind, metrics: Metrics) -> Iterator[Span]:
    """Measure the work inside the context."""
    yield Span(kind, metrics)
