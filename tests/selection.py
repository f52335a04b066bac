"""Which tests run: in ``make quick`` those that start no process, in ``make test`` samples too,
nightly everything."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import OFFSETS, Sample

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
    "tests/bot/store/test_docket_keys.py",
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
    "tests/fakes/",
    "tests/gate/",
    "tests/injections/",
    "tests/process/",
    "tests/toolset/",
)
NIGHTLY = "tests/fakes/"  # run by make nightly alone

# The gate runs every nth of these, from an offset that changes with each run; the longest beginning
# counts.
SAMPLED = {
    "tests/bot/channels/line/test_approvals.py::test_the_longest_question": 6,
    "tests/bot/channels/slack/test_approvals.py::test_the_longest_question": 6,
    "tests/bot/channels/slack/test_presence_stop_button.py": 2,
    "tests/bot/channels/slack/test_stream_crash_points.py": 4,
    "tests/bot/channels/test_replies.py": 8,
    "tests/bot/cli/test_main.py": 2,
    "tests/bot/mcp_server/test_route.py": 4,
    "tests/bot/ops/": 3,
    "tests/bot/providers/conformance/test_contract.py": 3,
    "tests/bot/providers/shared/test_size_limits.py::test_a_stream_is_read_in_one_pass": 12,
    "tests/bot/providers/shared/test_size_limits.py::test_a_stream_without_end_": 6,
    "tests/bot/providers/shared/test_size_limits.py::test_an_answer_is_put_together_once": 6,
    "tests/bot/providers/shared/test_size_limits.py::test_json_is_read_in_one_pass": 12,
    "tests/bot/store/test_cluster.py": 4,
    "tests/bot/store/test_embedded.py": 3,
    "tests/bot/store/test_machine.py": 4,
    "tests/bot/store/test_rewriting.py": 3,
    "tests/bot/test_linear_text.py": 24,
    "tests/browser/": 24,
    "tests/crash/": 8,
    "tests/crash/test_control_events.py": 1,
    "tests/injections/": 12,
    "tests/process/": 40,
    "tests/process/test_late_answers.py": 40,
    "tests/process/test_run.py": 4,
    "tests/process/test_shutdown.py": 4,
    "tests/toolset/confined/test_process.py": 3,
    "tests/toolset/mcp/test_connection.py": 2,
    "tests/toolset/mcp/test_floods.py": 3,
    "tests/toolset/mcp/test_hostile.py": 8,
    "tests/toolset/mcp/test_http.py": 6,
    "tests/toolset/test_contract.py": 4,
    "tests/toolset/test_contract_arguments.py": 12,
    "tests/toolset/webpage/test_worker.py": 4,
}
# Whole processes that every gate starts: what they run is measured, or the only one of its kind.
ALWAYS = (
    "tests/process/test_chaos.py",
    "tests/process/test_mcp_server.py::test_a_client_starts_it_and_calls_a_tool",
    "tests/process/test_processes.py::test_one_process_listens_to_slack",
)
QUICK_CASES = 3  # at least as many cases of a test run in make quick, where it has them
OTHER_SERVER = 8  # of the store's tests on servers other than the bundled one

# Tests whose lines are those of other tests: being measured would take them twice as long again.
UNMEASURED = (
    "tests/bot/channels/line/test_approvals.py::test_the_longest_question",
    "tests/bot/channels/slack/test_approvals.py::test_the_longest_question",
    "tests/bot/channels/slack/test_stream_crash_points.py",
    "tests/bot/channels/test_replies.py",
    "tests/bot/cli/test_new_tool.py::test_its_own_test_passes",
    "tests/bot/providers/shared/test_size_limits.py::test_a_stream_",
    "tests/bot/providers/shared/test_size_limits.py::test_an_answer_is_put_together_once",
    "tests/bot/providers/shared/test_size_limits.py::test_json_is_read_in_one_pass",
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
# skips where a vendor has no form for a feature
NO_FORM = "tests/bot/providers/conformance/test_conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a run, and one that writes documents."""
    parser.addoption(
        "--quick", action="store_true", help="leave out what starts a process or takes long"
    )
    parser.addoption("--nightly", action="store_true", help="leave nothing out")
    parser.addoption(
        "--offset",
        type=int,
        help="where samples of long suites begin; by default somewhere else each time",
    )
    parser.addoption(
        "--write-tables",
        action="store_true",
        help="write what tests compare with docs/providers.md and docs/conversations.md",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Decide once for all workers; what is named on the command line is run whole."""
    option = config.option
    if worker := getattr(config, "workerinput", None):
        option.nightly, option.offset = worker["nightly"], worker["offset"]
        return
    option.nightly |= config.args_source is not config.ArgsSource.TESTPATHS
    if option.offset is None:
        option.offset = int(time.time()) % OFFSETS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three for two cores, because tests wait for processes, servers and deadlines; quick ones do
    not."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return cores if config.option.quick else max(1, cores * 3 // 2)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist what has been decided."""
    node.workerinput |= {"nightly": node.config.option.nightly, "offset": node.config.option.offset}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file or folder is not quick; None leaves it to pytest."""
    path = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
    return True if config.option.quick and path.startswith(NOT_QUICK) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests out of this run, and some out of the coverage."""
    for item in items:
        if item.get_closest_marker("other_server") or (
            item.nodeid.startswith(UNMEASURED) and not item.nodeid.startswith(MEASURED)
        ):
            item.add_marker("no_cover")
    if not config.option.nightly:
        chosen = set(of_the_gate(items, Sample(False, config.option.offset), config.option.quick))
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


def of_the_gate(items: list[pytest.Item], sample: Sample, quick: bool) -> Iterator[pytest.Item]:
    """All but the nightly tests, of the sampled ones some; in a quick run none that is slow and few
    cases each."""
    groups: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not (item.nodeid.startswith(NIGHTLY) or (quick and is_slow(item))):
            groups[group_of(item)].append(item)
    # Long ones begin first: the most sampled, then those that are named and yet run whole.
    for (_, every), group in sorted(groups.items(), key=lambda each: (-each[0][1], not each[0][0])):
        chosen = sample.of(group, every)
        yield from few_cases(chosen, sample) if quick else chosen


def few_cases(items: list[pytest.Item], sample: Sample) -> Iterator[pytest.Item]:
    """Of a test with many cases only some."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        yield from sample.of(cases, len(cases) // QUICK_CASES or 1)


def is_slow(item: pytest.Item) -> bool:
    """Whether it starts a process or takes half a second and more."""
    return any(item.get_closest_marker(marker) for marker in ("process", "long"))


def group_of(item: pytest.Item) -> tuple[str, int]:
    """The tests it is drawn from, and the first of how many it is."""
    if item.get_closest_marker("other_server"):
        return "other_server", OTHER_SERVER
    if item.nodeid.startswith(ALWAYS):
        return "", 1
    beginning = max((each for each in SAMPLED if item.nodeid.startswith(each)), key=len, default="")
    return beginning, SAMPLED.get(beginning, 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line each what was left out, and what was skipped and why."""
    option = terminalreporter.config.option
    if not option.nightly:
        again = f"--offset={option.offset} draws the same samples again"
        terminalreporter.write_line(f"left out: what only make nightly runs; {again}")
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2]
        no_form = report.nodeid.startswith(NO_FORM)
        reasons[
            "features a vendor has no form for" if no_form else reason.removeprefix("Skipped: ")
        ] += 1
    if reasons:
        told = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped: {told}")


@pytest.fixture(scope="session")
def sample(pytestconfig: pytest.Config) -> Sample:
    """What this run takes of a long suite."""
    return Sample(pytestconfig.option.nightly, pytestconfig.option.offset)


@pytest.fixture(autouse=True)
def processes_are_measured_as_their_test_is(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coverage finds them by this variable."""
    if request.node.get_closest_marker("no_cover"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
