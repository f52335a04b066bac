"""Folders and files, opened one name at a time from an open folder: no symlink is followed, no swap leads out.

Whoever runs commands in the folder may plant links, pipes and devices there, and exchange names while we look. So
nothing is ever opened by a path, and what was opened is looked at again before it is used.
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

from toolset.confined.paths import DEEPEST
from toolset.tool import ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
MOST_SEEN = 2_000  # entries; a folder of more is not looked through

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
    """What stands in a folder.

    Attributes:
        names: from the top; a command may have made names that no text can hold, as Python escapes them.
        size: bytes of a file.
        parent: descriptor of the folder it stands in, open while the walk rests here.
    """

    names: tuple[str, ...]
    kind: Kind
    size: int
    parent: int

    @property
    def path(self) -> str:
        return "/".join(self.names).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@contextmanager
def plainly(path: str) -> Iterator[None]:
    """What the system says about a path, in words for the model.

    Raises:
        ToolError: in place of any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise ToolError(f"{REASONS.get(error.errno or 0, 'cannot be used')}: {path or 'the workspace'}") from error


@contextmanager
def opened(top: int, names: Sequence[str], *, make: bool = False, owner: int | None = None) -> Iterator[int]:
    """The folder at the end of these names.

    Args:
        make: folders that are missing, for ``owner``.

    Raises:
        OSError: one of them is no folder.
    """
    here = os.dup(top)
    try:
        for name in names:
            below = _made(here, name, owner) if make else os.open(name, FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _made(parent: int, name: str, owner: int | None) -> int:
    made = False
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
        made = True
    folder = os.open(name, FOLDER, dir_fd=parent)
    if made and owner is not None:
        os.fchown(folder, owner, owner)
    return folder


@contextmanager
def opened_file(parent: int, name: str) -> Iterator[int]:
    """A regular file that has this one name; a second one could lie elsewhere.

    Raises:
        OSError: it is something else.
    """
    _require_plain(os.stat(name, dir_fd=parent, follow_symlinks=False))  # opening a device may already do something
    file = os.open(name, FILE, dir_fd=parent)
    try:
        _require_plain(os.fstat(file))
        yield file
    finally:
        os.close(file)


def size_of(parent: int, name: str) -> int | None:
    """Bytes of a plain file, None where there is none.

    Raises:
        OSError: something else stands there.
    """
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _require_plain(found)
    return found.st_size


def walk(top: int, names: tuple[str, ...] = ()) -> Generator[Entry, None, None]:
    """Everything below a folder, folders before what is in them, each folder in the order of its names.

    Links are shown, never followed.

    Raises:
        OSError: a folder may not be opened.
        ToolError: there is too much, or it is too deep.
    """
    seen = 0

    def below(folder: int, names: tuple[str, ...]) -> Generator[Entry, None, None]:
        nonlocal seen
        found: list[tuple[str, os.stat_result]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_SEEN or len(names) >= DEEPEST:
                    raise ToolError("there are too many files, or folders nested too deeply")
                with suppress(FileNotFoundError):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
        for name, about in sorted(found, key=lambda item: item[0]):
            here = Entry((*names, name), _kind(about.st_mode), about.st_size, folder)
            yield here
            if here.kind == "folder":
                with suppress(FileNotFoundError, NotADirectoryError), opened(folder, [name]) as inner:  # else: swapped
                    yield from below(inner, here.names)

    return below(top, names)


def removed(top: int, name: str) -> int:
    """Delete a folder with all that is in it; how many files and links it held. None there is none to delete.

    Folders in it are moved up beside it before it goes, so that none is too deep. Nobody else may be at work in it.

    Raises:
        OSError: something may not be deleted.
    """
    files = 0
    waiting = [found for found in os.listdir(top) if found == name or found.startswith(f"{name}.")]  # one cut short too
    while waiting:
        with suppress(FileNotFoundError), _cleared(top, waiting[-1]) as folder:
            for entry in os.listdir(folder):
                if stat.S_ISDIR(os.stat(entry, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(entry, 0o700, dir_fd=folder)
                    beside = f"{name}.{secrets.token_hex(8)}"
                    os.rename(entry, beside, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.insert(0, beside)
                else:
                    os.unlink(entry, dir_fd=folder)
                    files += 1
        with suppress(FileNotFoundError):
            os.rmdir(waiting.pop(), dir_fd=top)
    return files


@contextmanager
def _cleared(top: int, name: str) -> Iterator[int]:
    """An open folder that may be changed, whatever a command has made of its mode."""
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, FOLDER, dir_fd=top)
    try:
        yield folder
    finally:
        os.close(folder)


def _kind(mode: int) -> Kind:
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def _require_plain(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise OSError(errno.ELOOP, NOT_PLAIN)
