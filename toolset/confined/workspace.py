"""The folders of all conversations under one root, and their limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from toolset.confined.tree import open_folder, remove_tree, translate_errors, walk
from toolset.tool import ToolError, ToolSetupError

FILE_CAP = 1024 * 1024  # bytes
TOTAL_CAP = 20 * 1024 * 1024  # bytes of a conversation's files together
MAX_ENTRIES = 500  # files and folders of a conversation

NOBODY = 65_534  # user and group; commands never run as root, so root gives its files to this one
FULL = f"the workspace is full: at most {MAX_ENTRIES} files and {TOTAL_CAP // 1024 // 1024} MiB"


@dataclass(frozen=True, slots=True)
class Usage:
    """Number of entries and total bytes of a folder."""

    entries: int
    size: int

    @property
    def is_over(self) -> bool:
        """Whether it is over the limits."""
        return self.entries > MAX_ENTRIES or self.size > TOTAL_CAP

    def exceeds(self, other: Usage) -> bool:
        """Whether a limit is exceeded by a value that is larger than in ``other``."""
        return (self.entries > MAX_ENTRIES and self.entries > other.entries) or (
            self.size > TOTAL_CAP and self.size > other.size
        )


class Workspace:
    """A folder for each conversation, created on first use.

    Args:
        owner: of all files created; None for the user Kaiwa runs as.
    """

    def __init__(self, root: Path, owner: int | None) -> None:
        self.root = root
        self.owner = owner

    @classmethod
    def at(cls, root: str) -> Workspace:
        """Create the root folder if it is missing.

        Raises:
            ToolSetupError: it cannot be created.
        """
        path = Path(root).expanduser().absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ToolSetupError(f"WORKSPACE_DIR: {error.strerror}: {root}") from error
        return cls(path, NOBODY if os.geteuid() == 0 else None)

    def path_of(self, conversation: str) -> Path:
        """The folder of a conversation; its name is a digest."""
        return self.root / sha256(conversation.encode()).hexdigest()[:32]

    @contextmanager
    def folder(self, conversation: str) -> Iterator[int]:
        """Open the folder of a conversation.

        Raises:
            ToolError: it cannot be opened.
        """
        name = self.path_of(conversation).name
        with (
            self._opened() as root,
            open_folder(root, [name], make=True, owner=self.owner) as folder,
        ):
            yield folder

    def forget(self, conversation: str) -> int:
        """Delete the folder of a conversation; returns the number of its files.

        Raises:
            ToolError: it cannot be deleted.
        """
        with self._opened() as root:
            return remove_tree(root, self.path_of(conversation).name)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        with translate_errors(""):
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield root
            finally:
                os.close(root)


def usage(folder: int) -> Usage:
    """Measure an open folder; links and special files count too.

    Raises:
        ToolError: it cannot be measured.
    """
    try:
        sizes = [entry.size if entry.kind == "file" else 0 for entry in walk(folder)]
    except OSError as error:
        raise ToolError("the workspace holds a folder that may not be opened") from error
    return Usage(len(sizes), sum(sizes))
