"""Writes a file whole: whoever reads meanwhile sees the old one or the new one. And deletes."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from secrets import token_hex

from toolset.confined.paths import name_of_file
from toolset.confined.tree import opened, plainly, size_of
from toolset.confined.workspace import FILE_CAP, FULL, Usage, usage
from toolset.tool import ToolError

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write(folder: int, path: str, content: bytes, owner: int | None) -> None:
    """Make or replace a file, with the folders on the way.

    Raises:
        ToolError: something else stands there, or it would be too much.
    """
    within, name = name_of_file(path)
    if len(content) > FILE_CAP:
        raise ToolError(f"the file would be larger than {FILE_CAP // 1024} KiB")
    with plainly(path):
        _require_room(folder, within, name, len(content))
        with opened(folder, within, make=True, owner=owner) as parent:
            replace(parent, name, content, owner)


def delete(folder: int, path: str) -> None:
    """Delete a file, a link, or a folder with all in it. No link is followed.

    Raises:
        ToolError: there is none.
    """
    within, name = name_of_file(path.rstrip("/"))
    with plainly(path), opened(folder, within) as parent:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


def _require_room(folder: int, within: tuple[str, ...], name: str, size: int) -> None:
    old = None
    with suppress(FileNotFoundError), opened(folder, within) as parent:
        old = size_of(parent, name)  # only a plain file is replaced
    before = usage(folder)
    new_entries = len(within) + 1 if old is None else 0  # as if every folder were new
    if Usage(before.entries + new_entries, before.size - (old or 0) + size).exceeds(before):
        raise ToolError(FULL)


def replace(parent: int, name: str, content: bytes, owner: int | None) -> None:
    """Make or replace a file of an open folder.

    Raises:
        OSError: the disk failed, or a folder stands there.
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
