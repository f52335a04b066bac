"""docs/architecture.md names every module, where it stands; of features only their folder."""

from __future__ import annotations

import re
from collections import defaultdict

from bot.pipeline.feature import Feature
from tests.project import ROOT, files

ROW = re.compile(r"^\| `(bot[\w/]*)` \| ((?:`\w+` ?)+)\|", re.MULTILINE)
FEATURES = ROOT / "bot/features"
VENDORS = (
    "anthropic",
    "demo",
    "gemini",
    "json_mode",
    "ollama",
    "openai",
)  # a folder each, of one shape


def test_the_map_is_the_tree() -> None:
    """A module that is moved, added or deleted changes its row."""
    mapped: defaultdict[str, set[str]] = defaultdict(set)
    for package, modules in ROW.findall((ROOT / "docs/architecture.md").read_text("utf-8")):
        assert package == "bot" or package not in mapped, f"{package} has two rows"
        mapped[package] |= set(re.findall(r"\w+", modules))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in files("bot/**/*.py", "bot/*.py"):
        is_folder_of_many = path.parent.name in VENDORS or path.parent.parent == FEATURES
        if path.stem != "__init__" and not is_folder_of_many:
            found[path.parent.relative_to(ROOT).as_posix()].add(path.stem)
    assert mapped == found


def test_the_recipe_of_a_feature_names_every_hook() -> None:
    """By when it is called."""
    recipe = (ROOT / "docs/architecture.md").read_text("utf-8").partition("**A feature**")[2]
    hooks = {name for name in (*vars(Feature), *Feature.__annotations__) if name[0] != "_"}
    assert {name for name in hooks if f"`{name}`" not in recipe} == set()


def test_few_modules_stand_flat() -> None:
    """What belongs together stands in a package."""
    flat = {
        path
        for path in files("bot/*.py")
        if path.parent == ROOT / "bot" and path.stem != "__init__"
    }
    assert len(flat) <= 21
