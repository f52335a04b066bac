"""Each feature can be deleted: Kaiwa starts without it, and nothing imports it."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from bot.features.registry import FEATURES
from scripts.rooms import copy_without, features, run
from tests.project import ROOT, files

# What must know no feature, by name.
SOURCE = ("bot", "toolset")
PIPELINE = ("bot/pipeline", "bot/agent", "bot/channels", "bot/store")


def test_the_registry_lists_every_folder() -> None:
    """One line for each."""
    assert sorted(FEATURES) == features()


@pytest.mark.long
@pytest.mark.parametrize("name", features())
def test_a_feature_is_not_needed(name: str, tmp_path: Path) -> None:
    """Its folder and its line in the registry are taken away."""
    folder = tmp_path / "kaiwa"
    copy_without([name], folder)
    assert run(folder, "lint-imports", "--no-logo")
    assert run(folder, "python", "-c", "import bot.cli.main, bot.cli.commands")
    assert run(folder, "python", "-m", "pytest", "--quiet", "tests/bot/test_app.py")


@pytest.mark.long
def test_a_feature_is_added_by_its_folder_and_one_line(tmp_path: Path) -> None:
    """It has a tool, a card with a button, a command, a script, texts, and what is forgotten."""
    folder = tmp_path / "kaiwa"
    copy_without([], folder)
    copytree(ROOT / "tests/toys/applause", folder / "bot/features/applause")
    registry = folder / "bot/features/registry.py"
    text = registry.read_text("utf-8")
    registry.write_text(text.replace('    "polls",\n', '    "polls",\n    "applause",\n'), "utf-8")
    played = folder / "bot/features/applause/played.py"
    played.rename(folder / "tests/bot/features/test_applause.py")
    assert run(folder, "lint-imports", "--no-logo")
    assert run(folder, "python", "-m", "pytest", "--quiet", "tests/bot/features/test_applause.py")


@pytest.mark.long
def test_types_hold_without_any(tmp_path: Path) -> None:
    """Only the registry names them."""
    folder = tmp_path / "kaiwa"
    copy_without(features(), folder)
    assert run(folder, "mypy", "--no-error-summary", "--cache-dir", ".mypy_cache/.venv", *SOURCE)


@pytest.mark.parametrize("name", features())
def test_nobody_else_imports_a_feature(name: str) -> None:
    """Nor does anybody press its buttons or read its texts."""
    own = (f"bot.features.{name}", f'"{name.rstrip("s")}.', f'"{name}.')
    found = []
    for folder in PIPELINE:
        for path in files(f"{folder}/**/*.py"):
            text = path.read_text("utf-8")
            found += [f"{path.relative_to(ROOT)}: {word}" for word in own if word in text]
    assert found == []
