"""What is counted and timed, in one registry that the composition root hands round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

Kind = Literal["turn", "model", "tool", "delivery"]

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 60, 300)


class Metrics:
    """Kaiwa's metrics; label values are names of ours, never a user's words or ids."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.accepted = Counter("kaiwa_messages_accepted", "Messages taken in", ["channel"], registry=registry)
        self.turns = Counter("kaiwa_turns", "Turns ended", ["outcome"], registry=registry)
        self.turn_seconds = Histogram(
            "kaiwa_turn_seconds", "From start of a turn to its commit", buckets=SECONDS, registry=registry
        )
        self.model_calls = Counter("kaiwa_model_calls", "Model requests", ["model", "outcome"], registry=registry)
        self.model_failures = Counter(
            "kaiwa_model_failures", "Failed attempts at a model, by cause", ["model", "cause"], registry=registry
        )
        self.model_seconds = Histogram(
            "kaiwa_model_seconds", "Model requests, whole answers", ["model"], buckets=SECONDS, registry=registry
        )
        self.tokens = Counter("kaiwa_tokens", "Tokens by kind", ["model", "kind"], registry=registry)
        self.tool_calls = Counter("kaiwa_tool_calls", "Tool calls", ["tool", "outcome"], registry=registry)
        self.tool_seconds = Histogram("kaiwa_tool_seconds", "Tool calls", ["tool"], buckets=SECONDS, registry=registry)
        self.budget_refusals = Counter(
            "kaiwa_budget_refusals", "Messages not answered for a day's limit", ["scope", "unit"], registry=registry
        )
        self.left_out = Counter(
            "kaiwa_messages_left_out", "Messages that a full inbox did not take", ["channel"], registry=registry
        )
        self.deliveries = Counter("kaiwa_deliveries", "Replies sent", ["channel", "outcome"], registry=registry)
        self.queue_depth = Gauge("kaiwa_queue_depth", "Conversations that need care now or later", registry=registry)
        self.dead_letters = Gauge("kaiwa_dead_letters", "Replies that could not be sent", registry=registry)
        self.memory_ratio = Gauge("kaiwa_store_memory_ratio", "Memory used of its maxmemory", registry=registry)

        self._counters = {
            "turn": self.turns,
            "model": self.model_calls,
            "tool": self.tool_calls,
            "delivery": self.deliveries,
        }
        self._seconds = {"turn": self.turn_seconds, "model": self.model_seconds, "tool": self.tool_seconds}

    def count(self, kind: Kind, outcome: str, seconds: float, name: str = "") -> None:
        """Count what ``bot.telemetry`` has measured; ``name`` is that of the model, tool or channel."""
        names = (name,) if name else ()
        self._counters[kind].labels(*names, outcome).inc()
        if histogram := self._seconds.get(kind):
            (histogram.labels(*names) if names else histogram).observe(seconds)

    def count_tokens(self, model: str, tokens: Mapping[str, int]) -> None:
        """Count the tokens of a model call, by kind."""
        for kind, count in tokens.items():
            self.tokens.labels(model, kind).inc(count)

    def exposition(self) -> bytes:
        """The text format of Prometheus."""
        return generate_latest(self.registry)
