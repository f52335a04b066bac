"""What ``make quick`` leaves out, which tests begin first, and whose lines coverage does not
count."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.project import ROOT

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
    "tests/bot/store/test_budget_on_a_cluster.py",
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
# They wait most, so the others run beside them.
FIRST = ("tests/crash/", "tests/process/", "tests/browser/")
# Tests whose lines are those of other tests: being measured would take them twice as long again.
UNMEASURED = (
    "tests/bot/channels/line/test_approvals.py::test_the_longest_question",
    "tests/bot/channels/slack/test_approvals.py::test_the_longest_question",
    "tests/bot/channels/slack/test_stream_crash_points.py",
    "tests/bot/channels/test_replies.py",
    "tests/bot/cli/test_new_tool.py::test_its_own_test_passes",
    "tests/bot/providers/shared/test_size_limits.py",
    "tests/bot/providers/test_registry.py::test_a_missing_",
    "tests/bot/providers/test_registry.py::test_only_the_sdk_",
    "tests/bot/store/test_machine.py",
    "tests/bot/test_linear_text.py",
    "tests/browser/test_dead_worker.py",
    "tests/crash/",
    "tests/injections/",
    "tests/process/",
    "tests/toolset/test_contract.py",
    "tests/toolset/test_contract_arguments.py",
)
MEASURED = (  # all the same
    "tests/process/test_processes.py::test_one_process_listens_to_slack",
    "tests/process/test_shutdown.py",
)
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
    """Four for two cores, because tests wait for processes, servers and deadlines; quick ones do
    not."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return cores if config.option.quick else cores * 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file or folder is not quick; None leaves it to pytest."""
    path = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
    return True if config.option.quick and path.startswith(NOT_QUICK) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Measure the import of our modules, and nothing else of the collection: it would take twice
    as long."""
    plugins = session.config.pluginmanager
    coverage = getattr(plugins.getplugin("_cov"), "cov_controller", None)
    if coverage is None or plugins.hasplugin("dsession"):
        return (yield)
    for package in ("bot", "toolset"):
        for path in (ROOT / package).glob("**/*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            import_module(name.removesuffix(".__init__"))
    coverage.pause()
    try:
        return (yield)
    finally:
        coverage.resume()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what waits first, leave lines out of the coverage, and slow tests out of a quick run."""
    for item in items:
        is_twin = item.nodeid.startswith(UNMEASURED) and not item.nodeid.startswith(MEASURED)
        # a property plays the same lines a hundred times
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if is_twin or is_property or item.get_closest_marker("other_server"):
            item.add_marker("no_cover")
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    if config.option.quick:
        slow = [item for item in items if is_slow(item)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


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


@pytest.fixture(autouse=True)
def processes_are_measured_as_their_test_is(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coverage finds them by this variable."""
    if request.node.get_closest_marker("no_cover"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
