"""Takes a conversation's files into a box, and what a command has made of them back out: plain files and folders."""

from __future__ import annotations

import os
import tarfile
from contextlib import closing, suppress
from io import BytesIO

from toolset.confined.tree import FILE, Entry, Kind, opened, opened_file, plainly, walk
from toolset.confined.workspace import FULL, usage
from toolset.confined.writing import replace
from toolset.tool import ToolError

EMPTY = b"\0" * tarfile.RECORDSIZE  # an archive of nothing


def archived(folder: int) -> bytes:
    """The files and folders of a folder; links and the like stay behind.

    Raises:
        ToolError: there is too much, or something may not be read.
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
                with plainly(entry.path), opened_file(entry.parent, entry.names[-1]) as file:
                    content = _content(file)
                    about.size, about.mtime = len(content), int(os.fstat(file).st_mtime)
                archive.addfile(about, BytesIO(content))
    return packed.getvalue()


def keep(made: int, folder: int, owner: int | None) -> None:
    """Let a folder hold what stands in the folder of a box that has ended.

    Every file stays whole; one that is as it was is not written again.

    Raises:
        ToolError: before anything is changed, where there is too much or something may not be read; or the disk failed.
    """
    if usage(made).is_over:
        raise ToolError(FULL)
    with closing(walk(made)) as entries:
        kinds = {entry.names: entry.kind for entry in entries if _require_readable(entry)}
    with plainly(""):
        _remove_others(folder, kinds)
        for names, kind in kinds.items():
            with opened(folder, names if kind == "folder" else names[:-1], make=True, owner=owner) as parent:
                if kind == "file":
                    _put(made, names, parent, owner)


def _require_readable(entry: Entry) -> bool:
    """Whether there is anything to be kept of it."""
    if entry.kind == "file":
        with plainly(entry.path):
            os.close(os.open(entry.names[-1], FILE, dir_fd=entry.parent))
    return entry.kind != "other"


def _remove_others(folder: int, kinds: dict[tuple[str, ...], Kind]) -> None:
    """What a command cannot have deleted, since it was not in the box, is left."""
    with closing(walk(folder)) as entries:
        there = [(entry.names, entry.kind, _is_plain(entry)) for entry in entries]
    for names, kind, is_plain in reversed(there):
        if kinds.get(names) == kind:
            continue
        with opened(folder, names[:-1]) as parent, suppress(OSError):  # a folder that still holds such things
            if is_plain:
                os.unlink(names[-1], dir_fd=parent)
            elif kind == "folder":
                os.rmdir(names[-1], dir_fd=parent)


def _put(made: int, names: tuple[str, ...], parent: int, owner: int | None) -> None:
    with opened(made, names[:-1]) as within:
        file = os.open(names[-1], FILE, dir_fd=within)  # a second name of it could only be another one in the box
    try:
        content = _content(file)
    finally:
        os.close(file)
    with suppress(FileNotFoundError), opened_file(parent, names[-1]) as old:
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
