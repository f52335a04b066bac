"""What a scrape shows of the processes themselves: version, memory, CPU time, open files."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

PROC = Path("/proc")


class ProcessFacts(Collector):
    """``kaiwa_build_info``, ``python_info``, and ``process_…`` where the system has ``/proc``.

    Of processes that share a port each has series of its own, with its ``pid`` as a label: which
    process answers a scrape is chance, and sums of processes that come and go are no counters.

    Args:
        folder: where the processes that share a port keep their metrics; None: this process alone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @cached_property
    def _build(self) -> list[Metric]:
        info = GaugeMetricFamily(
            "kaiwa_build_info", "1; the labels say what runs", labels=("version", "python")
        )
        info.add_metric((version("kaiwa"), platform.python_version()), 1)
        return [info, *PlatformCollector(registry=None).collect()]

    def collect(self) -> Iterable[Metric]:
        """The metrics as they are now."""
        if self._folder is None:
            return [*self._build, *ProcessCollector(registry=None).collect()]
        families: dict[str, Metric] = {}
        for pid in sorted(_members(self._folder)):
            for found in ProcessCollector(pid=pid.__int__, registry=None).collect():
                family = families.setdefault(
                    found.name, Metric(found.name, found.documentation, found.type)
                )
                for sample in found.samples:
                    family.add_sample(sample.name, {"pid": str(pid)}, sample.value)
        return [*self._build, *families.values()]


def _members(folder: Path) -> Iterator[int]:
    """The processes that live and have metrics in a folder. All have one parent; a number that the
    system has given again to another program has not."""
    written = {int(file.stem.rpartition("_")[2]) for file in folder.glob("*.db")}
    for pid in written | {os.getpid()}:
        try:
            facts = (PROC / str(pid) / "stat").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        parent = int(facts.rpartition(")")[2].split()[1])
        if parent == os.getppid():
            yield pid
