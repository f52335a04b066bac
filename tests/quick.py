"""What ``make quick`` leaves out, and which tests stand between others."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

# What make quick does not even import: tests that start processes or take long, and other vendors'
# SDKs.
NOT_QUICK = (
    "tests/bot/channels/console/test_routes.py",
    "tests/bot/channels/test_replies.py",
    "tests/bot/cli/test_evals.py",
    "tests/bot/evals/",
    "tests/bot/mcp_server/",
    "tests/bot/ops/",
    "tests/bot/providers/conformance/",
    "tests/bot/providers/shared/test_schema_dialect.py",
    "tests/bot/providers/shared/test_size_limits.py",
    "tests/bot/providers/test_answer_facts.py",
    "tests/bot/providers/test_anthropic",
    "tests/bot/providers/test_bodies.py",
    "tests/bot/providers/test_files.py",
    "tests/bot/providers/test_json_mode.py",
    "tests/bot/providers/test_llama_cpp_cassettes.py",
    "tests/bot/providers/test_ollama",
    "tests/bot/providers/test_openai",
    "tests/bot/providers/test_refused_keys.py",
    "tests/bot/store/test_cluster.py",
    "tests/bot/store/test_embedded.py",
    "tests/bot/store/test_machine.py",
    "tests/bot/store/test_rewriting.py",
    "tests/bot/store/test_server.py",
    "tests/bot/store/test_tool_pins.py",
    "tests/bot/test_linear_text.py",
    "tests/bot/test_worker.py",
    "tests/bot/web/test_connections.py",
    "tests/browser/",
    "tests/chaos/",
    "tests/crash/",
    "tests/docs/",
    "tests/gate/",
    "tests/injections/",
    "tests/process/",
    "tests/toolset/",
)
# They wait most, so their files stand between those of the others.
WAITING = ("tests/crash/", "tests/process/", "tests/browser/")
# It skips where a vendor has no form for a feature.
NO_FORM = "tests/bot/providers/conformance/test_conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a run, and one that writes documents."""
    parser.addoption(
        "--quick", action="store_true", help="leave out what starts a process or takes long"
    )
    parser.addoption(
        "--write-tables",
        action="store_true",
        help="write what tests compare with docs/providers.md and docs/conversations.md",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than cores, because tests wait for processes, servers and deadlines; quick ones do
    not."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return cores if config.option.quick else cores + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file or folder is not quick; None leaves it to pytest."""
    path = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
    return True if config.option.quick and path.startswith(NOT_QUICK) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests; of a quick run take the slow ones out."""
    if config.option.quick:
        slow = [item for item in items if is_slow(item)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    else:
        items[:] = interleaved(items)


def interleaved(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests by file, the files that wait in even distances between the others."""
    waiting: dict[Path, list[pytest.Item]] = {}
    others: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files = waiting if item.nodeid.startswith(WAITING) else others
        files.setdefault(item.path, []).append(item)
    places = [(index / len(waiting), tests) for index, tests in enumerate(waiting.values())]
    places += [(index / len(others), tests) for index, tests in enumerate(others.values())]
    places.sort(key=lambda place: place[0])
    return [item for _, tests in places for item in tests]


def is_slow(item: pytest.Item) -> bool:
    """Whether it starts a process, or takes half a second and more."""
    markers = ("process", "long", "other_server")
    return any(item.get_closest_marker(marker) for marker in markers)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line what was skipped and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        no_form = report.nodeid.startswith(NO_FORM)
        reasons["features a vendor has no form for" if no_form else reason] += 1
    if reasons:
        counts = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped: {counts}")
