"""Folders and files, opened one name at a time from an open folder: no symlink is followed, no swap
leads out.

A command may have left links, pipes and devices there, and may swap names meanwhile. So nothing is
opened by a path, and an opened file is checked again before it is used.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from toolset.tool import ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
DEEPEST = 16  # folders within folders
MAX_WALK = 2_000  # entries; a larger tree is an error

NOT_PLAIN = "not a plain file"
REASONS = {
    errno.ENOENT: "no such file or folder",
    errno.ENOTDIR: "not a folder",
    errno.EISDIR: "a folder, not a file",
    errno.ELOOP: NOT_PLAIN,
    errno.EACCES: "may not be opened",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
}

Kind = Literal["file", "folder", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder.

    Attributes:
        names: from the top; bytes that are not UTF-8 are surrogate escapes.
        size: bytes of a file.
        parent: descriptor of its folder, open until the walk goes on.
    """

    names: tuple[str, ...]
    kind: Kind
    size: int
    parent: int

    @property
    def path(self) -> str:
        return path_text(self.names)


def path_text(names: Sequence[str]) -> str:
    """A path as text; bytes that are not UTF-8 are escaped."""
    return "/".join(names).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn system errors about a path into text for the model.

    Raises:
        ToolError: for any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"{REASONS.get(error.errno or 0, 'cannot be used')}: {path or 'the workspace'}"
        ) from error


@contextmanager
def open_folder(
    top: int, names: Sequence[str], *, make: bool = False, owner: int | None = None
) -> Iterator[int]:
    """Open the folder at the end of these names.

    Args:
        make: create missing folders, for ``owner``.

    Raises:
        OSError: one of them is not a folder.
    """
    here = os.dup(top)
    try:
        for name in names:
            below = _make_folder(here, name, owner) if make else os.open(name, FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _make_folder(parent: int, name: str, owner: int | None) -> int:
    made = False
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
        made = True
    folder = os.open(name, FOLDER, dir_fd=parent)
    if made and owner is not None:
        os.fchown(folder, owner, owner)
    return folder


@contextmanager
def open_file(parent: int, name: str) -> Iterator[int]:
    """Open a regular file without further hard links, which could lie elsewhere.

    Raises:
        OSError: it is something else.
    """
    _require_plain(
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    )  # opening a device may already have an effect
    file = os.open(name, FILE, dir_fd=parent)
    try:
        _require_plain(os.fstat(file))
        yield file
    finally:
        os.close(file)


def size_of(parent: int, name: str) -> int | None:
    """Bytes of a plain file; None where there is none.

    Raises:
        OSError: it is something else.
    """
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _require_plain(found)
    return found.st_size


def walk(top: int, names: tuple[str, ...] = ()) -> Generator[Entry, None, None]:
    """All entries below a folder, each folder before its content, sorted by name. Links are not
    followed.

    Raises:
        OSError: a folder is unreadable.
        ToolError: there are too many entries, or folders are nested too deeply.
    """
    seen = 0

    def below(folder: int, names: tuple[str, ...]) -> Generator[Entry, None, None]:
        nonlocal seen
        found: list[tuple[str, os.stat_result]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MAX_WALK or len(names) >= DEEPEST:
                    raise ToolError("there are too many files, or folders nested too deeply")
                with suppress(FileNotFoundError):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
        for name, about in sorted(found, key=lambda item: item[0]):
            here = Entry((*names, name), _kind(about.st_mode), about.st_size, folder)
            yield here
            if here.kind == "folder":
                with (
                    suppress(FileNotFoundError, NotADirectoryError),
                    open_folder(folder, [name]) as inner,
                ):  # else: swapped
                    yield from below(inner, here.names)

    return below(top, names)


def remove_tree(top: int, name: str) -> int:
    """Delete a folder with its content; returns the number of files and links in it, 0 where there
    is no folder.

    Inner folders are first moved up beside it, so that none is too deep. Nobody else may use the
    folder meanwhile.

    Raises:
        OSError: something cannot be deleted.
    """
    files = 0
    waiting = [
        found for found in os.listdir(top) if found == name or found.startswith(f"{name}.")
    ]  # also of a deletion cut short
    while waiting:
        with suppress(FileNotFoundError), _open_cleared(top, waiting[-1]) as folder:
            for entry in os.listdir(folder):
                if stat.S_ISDIR(os.stat(entry, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(entry, 0o700, dir_fd=folder)
                    watch = f"{name}.{secrets.token_hex(8)}"
                    os.rename(entry, watch, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.insert(0, watch)
                else:
                    os.unlink(entry, dir_fd=folder)
                    files += 1
        with suppress(FileNotFoundError):
            os.rmdir(waiting.pop(), dir_fd=top)
    return files


@contextmanager
def _open_cleared(top: int, name: str) -> Iterator[int]:
    """Open a folder for changes, whatever mode a command has given it."""
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, FOLDER, dir_fd=top)
    try:
        yield folder
    finally:
        os.close(folder)


def _kind(mode: int) -> Kind:
    kinds: dict[int, Kind] = {stat.S_IFDIR: "folder", stat.S_IFREG: "file"}
    return kinds.get(stat.S_IFMT(mode), "other")


def _require_plain(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise OSError(errno.ELOOP, NOT_PLAIN)
