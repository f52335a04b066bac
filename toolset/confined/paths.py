"""Reads the path a model wrote; what could name anything outside the folder is refused before the disk is touched."""

from __future__ import annotations

import unicodedata

from toolset.tool import ToolError

DEEPEST = 16  # folders within folders
NAME_CAP = 200  # bytes; some systems add to a name
NOT_IN_NAMES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})  # invisible, or turning the text round


def names_of(path: str) -> tuple[str, ...]:
    """The names on the way, none for the folder itself.

    Raises:
        ToolError: the path is absolute, climbs, or has a name that nobody could read.
    """
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if path.startswith("/") or ".." in names or "\\" in path:
        raise _invalid("write it relative to the workspace, such as notes/today.txt")
    if any(unicodedata.category(letter) in NOT_IN_NAMES for letter in path):
        raise _invalid("it has invisible characters")
    if len(names) > DEEPEST or any(len(name.encode()) > NAME_CAP for name in names):
        raise _invalid(f"at most {DEEPEST} names, each of at most {NAME_CAP} bytes")
    return names


def name_of_file(path: str) -> tuple[tuple[str, ...], str]:
    """The folder of a file, and its name there.

    Raises:
        ToolError: as above, or it names no file.
    """
    names = names_of(path)
    if not names or path.endswith(("/", "/.")):
        raise _invalid("write the name of a file")
    return names[:-1], names[-1]


def _invalid(fix: str) -> ToolError:
    return ToolError(f"invalid parameters: path: {fix}")
