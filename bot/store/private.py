"""Permissions of the data folder: only its owner may read it, since its files hold every
conversation."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from bot.errors import SettingsError

FOLDER, FILE = 0o700, 0o600
OTHERS = 0o077
OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def private_folder(path: Path) -> Path:
    """Create the folder, or make an existing one and everything in it private; links in it are not
    followed.

    Returns:
        Its real path.

    Raises:
        SettingsError: somebody else can read it, and that cannot be changed.
    """
    try:
        path.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        home = path.resolve()
        folder = os.open(home, OPEN)
    except OSError as error:
        raise SettingsError(
            "KAIWA_DATA_DIR", f"cannot be written ({error.strerror}); choose another folder"
        ) from error
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise _others(home)
        _close_to_others(folder, home)
    finally:
        os.close(folder)
    return home


def private_file(path: Path) -> None:
    """Create an empty file that nobody else can read; an existing one stays as it is.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        path.touch(mode=FILE)
    except OSError as error:
        raise SettingsError(
            "KAIWA_DATA_DIR", f"cannot be written ({error.strerror}); choose another folder"
        ) from error


def _close_to_others(folder: int, path: Path) -> None:
    """Make everything private, from the top down: in a closed folder nobody can swap an entry
    meanwhile."""
    with suppress(PermissionError):
        os.fchmod(folder, FOLDER)
    if os.fstat(folder).st_mode & OTHERS:
        raise SettingsError(
            "KAIWA_DATA_DIR", f"{path} cannot be made private on this disk; choose another folder"
        )
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # the server deletes files of its own
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and _is_ours(found, path / name):
                below = os.open(name, OPEN, dir_fd=folder)
                try:
                    _close_to_others(below, path / name)
                finally:
                    os.close(below)
            elif (
                stat.S_ISREG(found.st_mode)
                and found.st_mode & OTHERS
                and _is_ours(found, path / name)
            ):
                os.chmod(name, FILE, dir_fd=folder)


def _is_ours(found: os.stat_result, path: Path) -> bool:
    """Whether the entry is ours; root skips those of others, such as workspaces: the folder above
    is closed."""
    if found.st_uid == os.geteuid():
        return True
    if os.geteuid() == 0:
        return False
    raise _others(path)


def _others(path: Path) -> SettingsError:
    fix = f"chown -R {os.geteuid()} {path}"
    return SettingsError(
        "KAIWA_DATA_DIR",
        f"{path} belongs to another user, who can read it: {fix}, or choose another folder",
    )
