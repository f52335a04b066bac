"""The conversations' folders under one, and how much they may hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from toolset.confined.tree import opened, plainly, removed, walk
from toolset.tool import ToolError, ToolSetupError

FILE_CAP = 1024 * 1024  # bytes
TOTAL_CAP = 20 * 1024 * 1024  # bytes of a conversation's files together
MOST_ENTRIES = 500  # files and folders of a conversation

NOBODY = 65_534  # user and group; commands never run as root, so what root makes here is given away
FULL = f"the workspace is full: at most {MOST_ENTRIES} files and {TOTAL_CAP // 1024 // 1024} MiB"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a folder holds."""

    entries: int
    size: int

    @property
    def is_over(self) -> bool:
        """Whether it is over the limits."""
        return self.entries > MOST_ENTRIES or self.size > TOTAL_CAP

    def exceeds(self, other: Usage) -> bool:
        """Whether it is over the limits in something that has grown since; what shrinks is let through."""
        return (self.entries > MOST_ENTRIES and self.entries > other.entries) or (
            self.size > TOTAL_CAP and self.size > other.size
        )


class Workspace:
    """A folder for each conversation, made when it is first used.

    Args:
        owner: of all that is made; None leaves it to the user Kaiwa runs as.
    """

    def __init__(self, root: Path, owner: int | None) -> None:
        self.root = root
        self.owner = owner

    @classmethod
    def at(cls, root: str) -> Workspace:
        """The workspace in a folder, made if need be.

        Raises:
            ToolSetupError: it cannot be made.
        """
        path = Path(root).expanduser().absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ToolSetupError(f"WORKSPACE_DIR: {error.strerror}: {root}") from error
        return cls(path, NOBODY if os.geteuid() == 0 else None)

    def path_of(self, conversation: str) -> Path:
        """Where the folder of a conversation is; its name tells nothing about the conversation."""
        return self.root / sha256(conversation.encode()).hexdigest()[:32]

    @contextmanager
    def folder(self, conversation: str) -> Iterator[int]:
        """The open folder of a conversation.

        Raises:
            ToolError: it cannot be opened.
        """
        with plainly(""):
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with plainly(""), opened(root, [self.path_of(conversation).name], make=True, owner=self.owner) as folder:
                yield folder
        finally:
            os.close(root)

    def forget(self, conversation: str) -> int:
        """Delete the folder of a conversation, however a command has left it; how many files were in it.

        Raises:
            ToolError: it cannot be deleted.
        """
        with plainly(""):
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return removed(root, self.path_of(conversation).name)
            finally:
                os.close(root)

    def usage(self, conversation: str) -> Usage:
        """What the folder of a conversation holds.

        Raises:
            ToolError: it cannot be measured.
        """
        with self.folder(conversation) as folder:
            return usage(folder)


def usage(folder: int) -> Usage:
    """What an open folder holds, links and the like included.

    Raises:
        ToolError: it cannot be measured.
    """
    try:
        sizes = [entry.size if entry.kind == "file" else 0 for entry in walk(folder)]
    except OSError as error:
        raise ToolError("the workspace holds a folder that may not be opened") from error
    return Usage(len(sizes), sum(sizes))
