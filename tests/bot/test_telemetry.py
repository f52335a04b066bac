"""A span counts and logs one piece of work, once it has ended."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.telemetry import Kind, Metrics, Span
from bot.telemetry.observed import ObservedStep, ShareEnded, guarded
from bot.telemetry.processes import ProcessFacts
from tests.project import environment


def logged(
    kind: Kind, metrics: Metrics, event: str, outcome: str, name: str = "", **fields: Any
) -> dict[str, Any]:
    """The one line of a span, without its time."""
    with capture_logs() as lines:
        ms = Span(kind, metrics).end(event, outcome, name, **fields)
    (line,) = lines
    assert line.pop("ms") == ms
    return dict(line)


@pytest.mark.parametrize(
    ("kind", "name", "sample", "labels"),
    [
        ("turn", "", "kaiwa_turns_total", {}),
        ("model", "m-1", "kaiwa_model_calls_total", {"model": "m-1"}),
        ("tool", "echo", "kaiwa_tool_calls_total", {"tool": "echo"}),
        ("delivery", "line", "kaiwa_deliveries_total", {"channel": "line"}),
    ],
)
def test_each_kind_of_work_has_its_counter(
    kind: Kind, name: str, sample: str, labels: dict[str, str]
) -> None:
    """By outcome, and by the name of the model, tool or channel."""
    metrics = Metrics()
    line = logged(kind, metrics, "tool.called", "ok", name)
    assert line == {"event": "tool.called", "log_level": "info", "outcome": "ok", **labels}
    assert metrics.registry.get_sample_value(sample, {"outcome": "ok", **labels}) == 1


@pytest.mark.parametrize(
    ("kind", "name", "sample", "labels"),
    [
        ("turn", "", "kaiwa_turn_seconds_count", {}),
        ("model", "m-1", "kaiwa_model_seconds_count", {"model": "m-1"}),
        ("tool", "echo", "kaiwa_tool_seconds_count", {"tool": "echo"}),
    ],
)
def test_what_takes_long_is_timed(
    kind: Kind, name: str, sample: str, labels: dict[str, str]
) -> None:
    """Deliveries are counted alone."""
    metrics = Metrics()
    logged(kind, metrics, "tool.called", "ok", name)
    assert metrics.registry.get_sample_value(sample, labels) == 1


def test_tokens_are_counted_and_not_logged() -> None:
    """By model and kind."""
    metrics = Metrics()
    line = logged("model", metrics, "model.called", "end_turn", "m-1", tokens={"input": 7})
    assert "tokens" not in line
    assert (
        metrics.registry.get_sample_value("kaiwa_tokens_total", {"model": "m-1", "kind": "input"})
        == 7
    )


def test_a_failure_is_louder() -> None:
    """Its level hangs on its event; further fields stand in the line."""
    line = logged("delivery", Metrics(), "delivery.failed", "refused", "line", cause="no such chat")
    assert (line["log_level"], line["cause"]) == ("error", "no such chat")


def test_work_that_does_not_end_leaves_nothing() -> None:
    """A turn that waits, or that another process has taken over, is told by whoever ends it."""
    metrics = Metrics()
    with capture_logs() as lines:
        Span("turn", metrics)
    assert lines == []
    assert b"kaiwa_turns_total{" not in metrics.exposition()


@pytest.mark.process
def test_processes_that_share_a_folder_are_summed(tmp_path: Path) -> None:
    """Counters and histograms of all, dead ones included; of the store's gauges the newest
    value."""
    for depth in (7, 3):
        counting = f"""
from pathlib import Path
from bot.telemetry import Metrics
metrics = Metrics(Path({str(tmp_path)!r}))
metrics.turns.labels("answered").inc()
metrics.turn_seconds.observe(0.3)
metrics.queue_depth.set({depth})
"""
        variables = environment(PROMETHEUS_MULTIPROC_DIR=str(tmp_path))
        subprocess.run([sys.executable, "-c", counting], env=variables, check=True)
    exposition = Metrics(tmp_path).exposition().decode()
    assert 'kaiwa_turns_total{outcome="answered"} 2.0' in exposition
    assert "kaiwa_turn_seconds_count 2.0" in exposition
    assert "kaiwa_queue_depth 3.0" in exposition


def test_the_exposition_says_what_runs() -> None:
    """The versions, and what the system knows of this process."""
    value = Metrics().registry.get_sample_value
    running = {"version": version("kaiwa"), "python": platform.python_version()}
    assert value("kaiwa_build_info", running) == 1
    assert (value("process_resident_memory_bytes") or 0) > 1_000_000
    assert (value("process_cpu_seconds_total") or 0) > 0
    assert 0 < (value("process_open_fds") or 0) <= (value("process_max_fds") or 0)


def test_only_siblings_that_live_are_shown(tmp_path: Path) -> None:
    """Of files of metrics some are left by the dead, whose numbers other programs may have."""
    for pid in (1, os.getpid(), 2**22 + 1):
        (tmp_path / f"counter_{pid}.db").touch()
    facts = {family.name: family for family in ProcessFacts(tmp_path).collect()}
    [memory] = facts["process_resident_memory_bytes"].samples
    assert memory.labels == {"pid": str(os.getpid())}
    assert [sample.name for sample in facts["process_cpu_seconds"].samples] == [
        "process_cpu_seconds_total"
    ]


def test_what_an_observer_raises_is_logged() -> None:
    """The turn goes on."""

    def fails(step: ObservedStep) -> None:
        raise ValueError(step)

    with capture_logs() as lines:
        guarded(fails)(ShareEnded(""))
    assert [(line["event"], line["step"]) for line in lines] == [("observer.failed", "ShareEnded")]
