"""The names of all Lua scripts, those of features too."""

from __future__ import annotations

from pathlib import Path

from tests.project import ROOT

STORE, FEATURES = ROOT / "bot/store/lua", ROOT / "bot/features"
SHARED = "shared.lua"  # files that begin others


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.lua") if file.name != SHARED)


SCRIPT_FILES = {file.stem: file for file in _files(STORE)}
for _room in sorted(FEATURES.iterdir()):
    SCRIPT_FILES |= {f"{_room.name}.{file.stem}": file for file in _files(_room)}
SCRIPT_NAMES = tuple(SCRIPT_FILES)
