"""The files of a workspace, by the path a model wrote: reading, listing, searching, writing,
deleting.

A path that could name anything outside the folder is refused before the disk is touched. A file is
written whole: readers see the old one or the new one.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
import unicodedata
from collections.abc import Callable
from contextlib import closing, suppress
from secrets import token_hex
from typing import Any

from toolset.confined.patterns import compile_glob, compile_regex
from toolset.confined.tree import (
    DEEPEST,
    Entry,
    open_file,
    open_folder,
    path_text,
    size_of,
    translate_errors,
    walk,
)
from toolset.confined.workspace import FILE_CAP, FULL, Usage, usage
from toolset.tool import ToolError

NAME_CAP = 200  # bytes; some systems add to a name
NOT_IN_NAMES = frozenset(
    {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
)  # invisible, or changing the direction of text
TEXT_CAP = 32 * 1024  # bytes handed out at once
MAX_LISTED = 300
MAX_MATCHES = 100
LINE_CAP = 300  # characters of a line that are shown
SEARCHED_CAP = 20_000  # characters of a line that are searched
SEARCH_S = 10.0

TOO_LARGE = f"larger than {FILE_CAP // 1024} KiB"
NO_TEXT = "not a text file (UTF-8)"
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_lines(folder: int, path: str) -> list[str]:
    """The lines of a text file.

    Raises:
        ToolError: there is no such file, or it is not text.
    """
    within, name = split_file_path(path)
    with translate_errors(path), open_folder(folder, within) as parent:
        text = _text(parent, name)
    if text is None:
        raise ToolError(f"{NO_TEXT}, or {TOO_LARGE}: {path}")
    return _lines(text)


def list_entries(folder: int, path: str, glob: str = "") -> tuple[list[Entry], bool]:
    """The entries below a folder, recursively, and whether there are more.

    Args:
        glob: only entries whose path from that folder fits; empty for all.

    Raises:
        ToolError: there is no such folder, or the glob is wrong.
    """
    names = split_path(path)
    fits = compile_glob(glob) if glob else None
    entries: list[Entry] = []
    with (
        translate_errors(path),
        open_folder(folder, names) as top,
        closing(walk(top, names)) as found,
    ):
        for entry in found:
            if fits and not fits(path_text(entry.names[len(names) :])):
                continue
            if len(entries) == MAX_LISTED:
                return entries, True
            entries.append(entry)
    return entries, False


def search(
    folder: int, path: str, fits: Callable[[str], bool], limit_s: float = SEARCH_S
) -> dict[str, Any]:
    """Find the lines below a folder that fit; of a very long line its beginning counts.

    Args:
        limit_s: seconds after which the search is given up.

    Returns:
        ``matches``, the number of ``skipped_files``, which are not text, too large or unreadable,
        and whether there are ``more`` matches.

    Raises:
        ToolError: there is no such folder, or the search takes too long.
    """
    names = split_path(path)
    found: list[dict[str, Any]] = []
    result: dict[str, Any] = {"matches": found, "skipped_files": 0, "more": False}
    end = time.monotonic() + limit_s
    with (
        translate_errors(path),
        open_folder(folder, names) as top,
        closing(walk(top, names)) as entries,
    ):
        for entry in entries:
            if entry.kind == "folder":
                continue
            content = _text_of(entry)
            if content is None:
                result["skipped_files"] += 1
                continue
            for number, line in enumerate(_lines(content), 1):
                if time.monotonic() > end:
                    raise ToolError(
                        f"given up after {limit_s:g} s; search in a folder, or for something "
                        "simpler"
                    )
                if fits(line[:SEARCHED_CAP]):
                    if len(found) == MAX_MATCHES:
                        return {**result, "more": True}
                    found.append({"path": entry.path, "line": number, "text": line[:LINE_CAP]})
    return result


def line_matcher(text: str, *, ignore_case: bool, is_regex: bool) -> Callable[[str], bool]:
    """A function that says whether a line contains a text, or fits a regular expression.

    Raises:
        ToolError: it is no regular expression.
    """
    if is_regex:
        return compile_regex(text, ignore_case=ignore_case)
    if ignore_case:
        wanted = text.casefold()
        return lambda line: wanted in line.casefold()
    return lambda line: text in line


def write(folder: int, path: str, content: bytes, owner: int | None) -> None:
    """Create or replace a file, and create missing folders.

    Raises:
        ToolError: the path is not a plain file, or the workspace would be too large.
    """
    within, name = split_file_path(path)
    if len(content) > FILE_CAP:
        raise ToolError(f"the file would be larger than {FILE_CAP // 1024} KiB")
    with translate_errors(path):
        _require_room(folder, within, name, len(content))
        with open_folder(folder, within, make=True, owner=owner) as parent:
            replace(parent, name, content, owner)


def delete(folder: int, path: str) -> None:
    """Delete a file, a link, or a folder with its content; no link is followed.

    Raises:
        ToolError: it does not exist.
    """
    within, name = split_file_path(path.rstrip("/"))
    with translate_errors(path), open_folder(folder, within) as parent:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


def _require_room(folder: int, within: tuple[str, ...], name: str, size: int) -> None:
    old = None
    with suppress(FileNotFoundError), open_folder(folder, within) as parent:
        old = size_of(parent, name)  # raises for anything but a plain file
    before = usage(folder)
    new_entries = len(within) + 1 if old is None else 0  # as if every folder were new
    if Usage(before.entries + new_entries, before.size - (old or 0) + size).exceeds(before):
        raise ToolError(FULL)


def replace(parent: int, name: str, content: bytes, owner: int | None) -> None:
    """Create or replace a file of an open folder.

    Raises:
        OSError: the disk failed, or there is a folder of that name.
    """
    draft = f".{token_hex(8)}.part"
    file = os.open(draft, NEW, 0o600, dir_fd=parent)
    try:
        with os.fdopen(file, "wb") as writer:
            if owner is not None:
                os.fchown(file, owner, owner)
            writer.write(content)
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=parent)
        raise


def split_path(path: str) -> tuple[str, ...]:
    """The names in a path; none for the workspace itself.

    Raises:
        ToolError: the path is absolute, has ``..``, or has a name with invisible characters.
    """
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if path.startswith("/") or ".." in names or "\\" in path:
        raise _invalid("write it relative to the workspace, such as notes/today.txt")
    if any(unicodedata.category(letter) in NOT_IN_NAMES for letter in path):
        raise _invalid("it has invisible characters")
    if len(names) > DEEPEST or any(len(name.encode()) > NAME_CAP for name in names):
        raise _invalid(f"at most {DEEPEST} names, each of at most {NAME_CAP} bytes")
    return names


def split_file_path(path: str) -> tuple[tuple[str, ...], str]:
    """The folder's names and the file's name in a path.

    Raises:
        ToolError: as ``split_path``, or the path names no file.
    """
    names = split_path(path)
    if not names or path.endswith(("/", "/.")):
        raise _invalid("write the name of a file")
    return names[:-1], names[-1]


def _invalid(fix: str) -> ToolError:
    return ToolError(f"invalid parameters: path: {fix}")


def _text_of(entry: Entry) -> str | None:
    try:
        return _text(entry.parent, entry.names[-1])
    except OSError:  # a link, a pipe, gone meanwhile
        return None


def _text(parent: int, name: str) -> str | None:
    """The file's text; None where it is not text, or too large."""
    with open_file(parent, name) as file:
        data = _bytes(file)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if len(data) > FILE_CAP or "\0" in text else text


def _bytes(file: int) -> bytes:
    """The content, up to one byte over the limit: that byte shows that the file is too large."""
    with os.fdopen(os.dup(file), "rb") as reader:
        return reader.read(FILE_CAP + 1)


def _lines(text: str) -> list[str]:
    """Lines as other programs count them: only line feeds end one."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
