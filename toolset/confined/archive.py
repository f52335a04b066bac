"""Packs a workspace into an archive for the sandbox, and copies the command's files and folders
back."""

from __future__ import annotations

import os
import tarfile
from contextlib import closing, suppress
from io import BytesIO

from toolset.confined.files import replace
from toolset.confined.tree import FILE, Entry, Kind, open_file, open_folder, translate_errors, walk
from toolset.confined.workspace import FULL, usage
from toolset.tool import ToolError

EMPTY = b"\0" * tarfile.RECORDSIZE  # an archive without entries


def pack(folder: int) -> bytes:
    """A tar archive of a folder; without links and special files.

    Raises:
        ToolError: it is too large, or something is unreadable.
    """
    if usage(folder).is_over:
        raise ToolError(f"{FULL}; delete something first")
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive, closing(walk(folder)) as entries:
        for entry in entries:
            about = tarfile.TarInfo("/".join(entry.names))
            about.mode = 0o700 if entry.kind == "folder" else 0o600
            if entry.kind == "folder":
                about.type = tarfile.DIRTYPE
                archive.addfile(about)
            elif _is_plain(entry):
                with translate_errors(entry.path), open_file(entry.parent, entry.names[-1]) as file:
                    content = _content(file)
                    about.size, about.mtime = len(content), int(os.fstat(file).st_mtime)
                archive.addfile(about, BytesIO(content))
    return packed.getvalue()


def copy_back(made: int, folder: int, owner: int | None) -> None:
    """Make ``folder`` equal to ``made``, the folder of a sandbox that has ended.

    Each file is replaced whole; an unchanged one is not written.

    Raises:
        ToolError: ``made`` is too large or unreadable, and nothing was changed; or the disk failed.
    """
    if usage(made).is_over:
        raise ToolError(FULL)
    with closing(walk(made)) as entries:
        kinds = {entry.names: entry.kind for entry in entries if _is_copied(entry)}
    with translate_errors(""):
        _remove_missing(folder, kinds)
        for names, kind in kinds.items():
            with open_folder(
                folder, names if kind == "folder" else names[:-1], make=True, owner=owner
            ) as parent:
                if kind == "file":
                    _copy_file(made, names, parent, owner)


def _is_copied(entry: Entry) -> bool:
    """Whether an entry is copied; a file must be readable."""
    if entry.kind == "file":
        with translate_errors(entry.path):
            os.close(os.open(entry.names[-1], FILE, dir_fd=entry.parent))
    return entry.kind != "other"


def _remove_missing(folder: int, kinds: dict[tuple[str, ...], Kind]) -> None:
    """Delete what the command has deleted; what was not in the archive stays."""
    with closing(walk(folder)) as entries:
        there = [(entry.names, entry.kind, _is_plain(entry)) for entry in entries]
    for names, kind, is_plain in reversed(there):
        if kinds.get(names) == kind:
            continue
        with (
            open_folder(folder, names[:-1]) as parent,
            suppress(OSError),
        ):  # a folder with entries that stay
            if is_plain:
                os.unlink(names[-1], dir_fd=parent)
            elif kind == "folder":
                os.rmdir(names[-1], dir_fd=parent)


def _copy_file(made: int, names: tuple[str, ...], parent: int, owner: int | None) -> None:
    with open_folder(made, names[:-1]) as within:
        file = os.open(
            names[-1], FILE, dir_fd=within
        )  # a hard link could only lead to a file of the sandbox
    try:
        content = _content(file)
    finally:
        os.close(file)
    with suppress(FileNotFoundError), open_file(parent, names[-1]) as old:
        if _content(old) == content:
            return
    replace(parent, names[-1], content, owner)


def _content(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as reader:
        return reader.read()


def _is_plain(entry: Entry) -> bool:
    if entry.kind != "file":
        return False
    return os.stat(entry.names[-1], dir_fd=entry.parent, follow_symlinks=False).st_nlink == 1
