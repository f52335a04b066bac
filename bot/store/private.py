"""The data folder is its owner's alone, whatever it was before: whoever reads its files reads every conversation."""

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
    """Make the folder, or make it private with all that is in it; where it really is. Links in it are not followed.

    Raises:
        SettingsError: somebody else can read it, and that cannot be changed.
    """
    try:
        path.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        home = path.resolve()
        folder = os.open(home, OPEN)
    except OSError as error:
        raise SettingsError("KAIWA_DATA_DIR", f"cannot be written ({error.strerror}); choose another place") from error
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise _others(home)
        _close_to_others(folder, home)
    finally:
        os.close(folder)
    return home


def private_file(path: Path) -> None:
    """Make an empty file that nobody else can read; one that is there stays.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        path.touch(mode=FILE)
    except OSError as error:
        raise SettingsError("KAIWA_DATA_DIR", f"cannot be written ({error.strerror}); choose another place") from error


def _close_to_others(folder: int, path: Path) -> None:
    """From the top down: in a folder that is closed nobody can exchange what is looked at."""
    with suppress(PermissionError):
        os.fchmod(folder, FOLDER)
    if os.fstat(folder).st_mode & OTHERS:
        raise SettingsError("KAIWA_DATA_DIR", f"{path} cannot be made private on this disk; choose another place")
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # the server deletes files of its own
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and _is_ours(found, path / name):
                below = os.open(name, OPEN, dir_fd=folder)
                try:
                    _close_to_others(below, path / name)
                finally:
                    os.close(below)
            elif stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS and _is_ours(found, path / name):
                os.chmod(name, FILE, dir_fd=folder)


def _is_ours(found: os.stat_result, path: Path) -> bool:
    """Root leaves what it has given away, such as workspaces: nobody gets to it through a closed folder."""
    if found.st_uid == os.geteuid():
        return True
    if os.geteuid() == 0:
        return False
    raise _others(path)


def _others(path: Path) -> SettingsError:
    fix = f"chown -R {os.geteuid()} {path}"
    return SettingsError("KAIWA_DATA_DIR", f"{path} belongs to another user, who can read it: {fix}, or another place")
