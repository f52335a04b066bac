"""Telemetry: all metrics, and ``span``, which times, counts and logs a turn, model call, tool call
or delivery."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from bot.telemetry.observed import OBSERVER, Measured
from bot.telemetry.processes import ProcessFacts

log = structlog.stdlib.get_logger(__name__)

Kind = Literal["turn", "model", "tool", "delivery"]
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 60, 300)
# others: info
LEVELS = {"turn.failed": "warning", "delivery.postponed": "warning", "delivery.failed": "error"}
# the field that says which one
NAMES: dict[Kind, str] = {"model": "model", "tool": "tool", "delivery": "channel"}


class Metrics:
    """Kaiwa's metrics; label values are never texts or ids of users.

    Args:
        folder: where the processes that share a port keep their metrics, PROMETHEUS_MULTIPROC_DIR
            of each; the exposition then has the sums. A dead process still counts, so that no sum
            ever falls.
    """

    def __init__(self, folder: Path | None = None) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self._processes = ProcessFacts(folder)
        registry.register(self._processes)
        self._folder = folder
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, buckets=SECONDS, registry=registry)
        # all are of the store
        gauge = partial(Gauge, registry=registry, multiprocess_mode="mostrecent")
        self.accepted = counter("kaiwa_messages_accepted", "Messages accepted", ["channel"])
        self.turns = counter("kaiwa_turns", "Turns ended", ["outcome"])
        self.turn_seconds = histogram(
            "kaiwa_turn_seconds", "Seconds from the start of a turn to its commit"
        )
        self.model_calls = counter("kaiwa_model_calls", "Model calls", ["model", "outcome"])
        self.model_failures = counter(
            "kaiwa_model_failures", "Failed model calls, by cause", ["model", "cause"]
        )
        self.model_seconds = histogram(
            "kaiwa_model_seconds", "Seconds of a model call, to the end of its response", ["model"]
        )
        self.tokens = counter("kaiwa_tokens", "Tokens of model calls, by kind", ["model", "kind"])
        self.tool_calls = counter("kaiwa_tool_calls", "Tool calls", ["tool", "outcome"])
        self.tool_seconds = histogram("kaiwa_tool_seconds", "Seconds of a tool call", ["tool"])
        self.budget_refusals = counter(
            "kaiwa_budget_refusals", "Messages refused by a daily limit", ["scope", "unit"]
        )
        self.left_out = counter(
            "kaiwa_messages_left_out", "Messages refused by a full inbox", ["channel"]
        )
        self.refused = counter(
            "kaiwa_webhooks_refused",
            "Webhooks and messages that the store could not take",
            ["channel", "cause"],
        )
        self.deliveries = counter(
            "kaiwa_deliveries", "Attempts to deliver a reply", ["channel", "outcome"]
        )
        self.feedback = counter(
            "kaiwa_feedback",
            "Ratings of answers; a changed mind counts again",
            ["channel", "model", "rating"],
        )
        self.queue_depth = gauge("kaiwa_queue_depth", "Conversations due now or later")
        self.oldest_due_seconds = gauge(
            "kaiwa_oldest_due_seconds",
            "Seconds since the time of the conversation that is due longest, 0 if none is",
        )
        self.dead_letters = gauge(
            "kaiwa_dead_letters", "Dead letters: undeliverable replies, and turns given up"
        )
        self.memory_ratio = gauge(
            "kaiwa_store_memory_ratio", "Used memory of the store, as a share of its maxmemory"
        )
        self.counters = {
            "turn": self.turns,
            "model": self.model_calls,
            "tool": self.tool_calls,
            "delivery": self.deliveries,
        }
        self.seconds = {
            "turn": self.turn_seconds,
            "model": self.model_seconds,
            "tool": self.tool_seconds,
        }

    def exposition(self) -> bytes:
        """The text format of Prometheus."""
        if self._folder is None:
            return generate_latest(self.registry)
        sums = CollectorRegistry()
        # not annotated
        MultiProcessCollector(sums, str(self._folder))  # type: ignore[no-untyped-call]
        sums.register(self._processes)
        return generate_latest(sums)


class Span:
    """One measurement of work, from here to ``end``. Without that nothing is counted or logged, as
    when another process takes over."""

    def __init__(self, kind: Kind, metrics: Metrics) -> None:
        self._kind = kind
        self._metrics = metrics
        self._started = time.monotonic()

    def end(
        self,
        event: str,
        outcome: str,
        name: str = "",
        *,
        tokens: Mapping[str, int] | None = None,
        **fields: object,
    ) -> int:
        """Count the work and log one line.

        Args:
            event: a key of the table in docs/log_events.md.
            name: of the model, tool or channel.
            tokens: of a model call, by kind.
            fields: further ones of the log line.

        Returns:
            Milliseconds since the start.
        """
        seconds = time.monotonic() - self._started
        names = (name,) if name else ()
        self._metrics.counters[self._kind].labels(*names, outcome).inc()
        if timed := self._metrics.seconds.get(self._kind):
            (timed.labels(*names) if names else timed).observe(seconds)
        for kind, count in (tokens or {}).items():
            self._metrics.tokens.labels(name, kind).inc(count)
        ms = round(seconds * 1000)
        if observe := OBSERVER.get():
            observe(Measured(self._kind, outcome, name, ms, tokens or {}, fields))
        which = {NAMES[self._kind]: name} if name else {}
        getattr(log, LEVELS.get(event, "info"))(event, **which, outcome=outcome, ms=ms, **fields)
        return ms
