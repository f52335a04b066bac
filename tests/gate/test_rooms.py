"""Each feature can be deleted: nothing imports it or names what is its own.

Others take the place of all of them, a folder and a line of the registry each.
"""

from __future__ import annotations

from pathlib import Path
from shutil import move

import pytest

from bot.features.registry import FEATURES
from scripts.rooms import add_features, copy_without, features, run
from tests.project import ROOT, files

# What must know no feature by name, but its own folder.
KNOW_NONE = ("bot/pipeline", "bot/agent", "bot/channels", "bot/store", "bot/features")
REFUSES = "tests/bot/pipeline/test_undecided.py"  # a start with tools that act
TOYS = sorted((ROOT / "tests/toys").iterdir())


def test_the_registry_lists_every_folder() -> None:
    """One line for each, and each has a page."""
    assert sorted(FEATURES) == features()
    pages = {path.parent.name for path in files("bot/features/*/README.md")}
    assert pages == set(FEATURES)


@pytest.mark.long
def test_kaiwa_runs_with_other_features_in_place_of_all(tmp_path: Path) -> None:
    """None is needed, and what one has, from a tool to a route, is added by a folder and a line."""
    folder = tmp_path / "kaiwa"
    copy_without(features(), folder)
    add_features(TOYS, folder)
    tests = []
    for toy in TOYS:
        tests.append(f"tests/bot/features/test_{toy.name}.py")
        move(folder / f"bot/features/{toy.name}/played.py", folder / tests[-1])
    assert run(folder, "lint-imports", "--no-logo")
    assert run(folder, "python", "-c", "import bot.cli.main, bot.cli.serving")
    assert run(folder, "python", "-m", "pytest", "--quiet", REFUSES, *tests)


@pytest.mark.parametrize("name", features())
def test_nobody_else_names_what_is_a_features_own(name: str) -> None:
    """Nobody imports it, presses its buttons, reads its texts or runs its scripts."""
    own = (f"bot.features.{name}", f'"{name.rstrip("s")}.', f'"{name}.')
    found = []
    for folder in KNOW_NONE:
        for path in files(f"{folder}/**/*.py"):
            text = path.read_text("utf-8")
            if path.parent.name != name and any(word in text for word in own):
                found.append(path.relative_to(ROOT).as_posix())
    assert found == []
