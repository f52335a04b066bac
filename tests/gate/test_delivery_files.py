"""The files that other machines read agree with each other and name no machine of ours."""

from __future__ import annotations

import json
import os
import re
import tomllib
from itertools import chain, pairwise
from typing import Any

import pytest

from bot.ops.variable_names import own_variables
from tests.project import ROOT, files, name_of

LOCKS = ["requirements.txt", "requirements-models.txt", "requirements-dev.txt"]
BENCHMARKS = "requirements-benchmarks.txt"
PIN = re.compile(
    (
        r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+)(.*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: "
        r"\\)?\n)+)"
    ),
    re.MULTILINE,
)

# Written in pieces, so that this file passes its own test.
FOREIGN = re.compile(
    "python"
    r"hosted\.org|pypi\."
    "org/simple|registry\\."
    r"npmjs|(?<![\w.\-/])/(?:root|work)/[a-z.]"
)


def text(name: str) -> str:
    """A file of the root."""
    return (ROOT / name).read_text("utf-8")


def app_json() -> Any:
    """The description Heroku sets an app up from."""
    return json.loads(text("app.json"))


def pins(lock: str) -> dict[tuple[str, str], str]:
    """(name, marker) → version of every pin with hashes."""
    return {(name, marker): version for name, version, marker, _ in PIN.findall(text(lock))}


@pytest.mark.parametrize("lock", [*LOCKS, BENCHMARKS])
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    """No line but comments, pins and their hashes: no index address, no file, no unpinned name."""
    assert len(pins(lock)) > 40
    rest = PIN.sub("", text(lock))
    assert [line for line in rest.splitlines() if not line.lstrip().startswith("#")] == []


def test_the_small_models_list_is_all_there_is() -> None:
    """Its packages come without their own dependencies, so every name in it is one that
    pyproject.toml gives."""
    wanted = tomllib.loads(text("pyproject.toml"))["dependency-groups"]["llm"]
    assert [name for name, _ in pins("requirements-llm.txt")] == [
        re.split("[=>]", name)[0] for name in wanted
    ]
    assert PIN.sub("", text("requirements-llm.txt")).splitlines()[-1].lstrip().startswith("#")


def test_tests_run_with_what_users_run() -> None:
    """Each list holds every pin of the one before it: the models' those of the runtime, the
    development's both.

    Benchmarks compare what users run too, so theirs holds the models'.
    """
    for smaller, larger in [*pairwise(LOCKS), (LOCKS[1], BENCHMARKS)]:
        before, after = pins(smaller), pins(larger)
        assert {key: after.get(key) for key in before} == before


def test_the_lock_knows_every_dependency() -> None:
    """A dependency added to pyproject.toml without make lock is noticed."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    locked = [{name for name, _ in pins(lock)} for lock in [*LOCKS, BENCHMARKS]]
    extras = project["optional-dependencies"]
    apart = [extras.pop("dev"), extras.pop("benchmarks")]
    wanted = [project["dependencies"], chain.from_iterable(extras.values()), *apart]
    for names, requirements in zip(locked, wanted, strict=True):
        assert {re.split(r"[^a-z0-9-]", requirement)[0] for requirement in requirements} <= names


def test_kaiwa_is_built_by_what_the_lists_hold() -> None:
    """Every step that installs Kaiwa itself is kept from fetching a build backend, which would come
    without a hash."""
    project = tomllib.loads(text("pyproject.toml"))
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
    for lock in [*LOCKS, BENCHMARKS]:
        assert "hatchling" in {name for name, _ in pins(lock)}
    for script, step in (("scripts/setup.sh", "--editable ."), ("bin/post_compile", "--no-deps .")):
        (line,) = (line for line in text(script).splitlines() if step in line)
        assert "--no-index --no-build-isolation" in line


def test_nothing_tracked_names_a_registry_or_a_machine() -> None:
    """Addresses of package registries and paths of one machine mean nothing elsewhere."""
    found = [
        name_of(path)
        for path in files()
        if FOREIGN.search(path.read_bytes().decode(errors="replace"))
    ]
    assert found == []


def test_heroku_starts_what_the_procfile_names() -> None:
    """The formation of app.json is made of process types of the Procfile."""
    processes = dict(line.split(": ", 1) for line in text("Procfile").splitlines())
    assert processes == {"web": "HOST=0.0.0.0 kaiwa run", "worker": "kaiwa worker"}
    assert app_json()["formation"] == {"web": {"quantity": 1, "size": "basic"}}


def test_heroku_asks_for_settings_that_exist() -> None:
    """Every variable of app.json is a setting; secrets are generated, and history is kept in
    Redis."""
    variables = app_json()["env"]
    assert variables.keys() <= own_variables()
    generated = {
        name for name, variable in variables.items() if variable.get("generator") == "secret"
    }
    assert generated == {"CONSOLE_TOKEN", "SECRET_KEY"}
    assert app_json()["addons"] == [{"plan": "heroku-redis:premium-0"}]


def test_the_button_asks_for_what_the_commands_for_heroku_set() -> None:
    """Both ways lead to a bot that knows its language, its day and its page, and keeps its data."""
    _, _, after = text("docs/hosting.md").partition("\n## Heroku\n")
    part, _, _ = after.partition("\n## ")
    named = set(re.findall(r"\b([A-Z]+(?:_[A-Z]+)*)=", part))
    assert (
        {"CONSOLE_TOKEN", "LANGUAGE", "PUBLIC_URL", "TIMEZONE"} <= named <= app_json()["env"].keys()
    )
    assert f"--addons {app_json()['addons'][0]['plan']}" in part
    assert "heroku run kaiwa doctor --fix --url https://" in part
    assert "](https://heroku.com/deploy)" in part
    _, _, after = text("README.md").partition("\n## Heroku\n")
    (first,) = re.findall(r"```sh\n(.*?)```", after.partition("\n## ")[0], re.DOTALL)
    assert first in part
    assert first.count("\n") == 2


@pytest.mark.parametrize(
    "script", [".ci/run", "bin/post_compile", "scripts/setup.sh", "scripts/types.sh"]
)
def test_scripts_can_be_run(script: str) -> None:
    """A script without its executable bit fails on every other machine."""
    assert os.access(ROOT / script, os.X_OK)


def test_ci_runs_the_gate() -> None:
    """What CI runs is what a developer runs, and its failure is CI's."""
    lines = text(".ci/run").splitlines()
    assert "set -euo pipefail" in lines
    assert lines[-1] == "make test"
    others = 'make VENV=".venv-$version" PYTHON="$python" types imports quick'
    assert others in map(str.strip, lines)


def test_the_set_up_of_line_and_slack_is_in_an_order_that_works() -> None:
    """LINE's account comes first, and Kaiwa runs before either platform sends it a request."""
    _, _, line = text("docs/line.md").partition("\n## By hand\n")
    _, _, slack = text("docs/slack.md").partition("\n## By hand\n")
    steps = (
        "manager.line.biz",
        "developers.line.biz/console",
        "`make run`",
        "tunnel",
        "doctor --fix",
    )
    places = [line.index(step) for step in steps]
    assert places == sorted(places)
    http = slack[slack.index("**HTTP:**") :]
    places = [http.index(step) for step in ("tunnel", "`make run`", "slack_manifest.yaml")]
    assert places == sorted(places)
