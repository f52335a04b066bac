"""The data folder is private, whatever it was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.errors import SettingsError
from bot.store.embedded import open_embedded
from bot.store.private import private_folder
from tests.bot.store.processes import mode_of, write

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
STRANGER = 1234


async def test_an_open_data_folder_is_closed_with_all_that_is_in_it(tmp_path: Path) -> None:
    """What was there before, and what the server writes under an umask that lets all read."""
    home, before = tmp_path / "data", os.umask(0)
    try:
        (home / "appendonlydir").mkdir(parents=True)
        (home / "old.log").touch()
        async with open_embedded(home) as url:
            await write(url, "words")
    finally:
        os.umask(before)
    found = {path.relative_to(home): mode_of(path) for path in (home, *home.rglob("*"))}
    assert {mode for path, mode in found.items() if (home / path).is_dir()} == {0o700}
    assert {mode for path, mode in found.items() if (home / path).is_file()} == {0o600}
    assert len(found) > 6


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Nobody has files elsewhere closed or opened by putting a link into the folder; the folder
    itself may be one."""
    outside, home = tmp_path / "outside", tmp_path / "home"
    outside.mkdir(mode=0o755)
    outside.chmod(0o755)
    (outside / "file").touch()
    (outside / "file").chmod(0o644)
    home.mkdir()
    (home / "folder").symlink_to(outside)
    (home / "file").symlink_to(outside / "file")
    (tmp_path / "data").symlink_to(home)
    assert private_folder(tmp_path / "data") == home.resolve()
    assert (mode_of(outside), mode_of(outside / "file"), mode_of(home)) == (0o755, 0o644, 0o700)


@as_root
def test_a_folder_of_somebody_else_stops_the_start(tmp_path: Path) -> None:
    """Its owner can always read it; the fix is named."""
    home = tmp_path / "data"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    with pytest.raises(
        SettingsError, match=r"^KAIWA_DATA_DIR: .*/data belongs to another user.*chown -R 0 .*/data"
    ):
        private_folder(home)


@as_root
def test_a_disk_that_keeps_nothing_private_stops_the_start() -> None:
    """Some do not know whose a file is; here it is the kernel's own."""
    with pytest.raises(
        SettingsError, match=r"^KAIWA_DATA_DIR: /proc/sys/vm cannot be made private on this disk"
    ):
        private_folder(Path("/proc/sys/vm"))


@as_root
def test_what_root_has_given_away_stays_so(tmp_path: Path) -> None:
    """A workspace's folders belong to nobody; through the closed folder no one gets to them."""
    home = tmp_path / "data"
    (home / "files").mkdir(parents=True)
    os.chown(home / "files", STRANGER, STRANGER)
    (home / "files").chmod(0o755)
    assert private_folder(home) == home.resolve()
    assert (mode_of(home), mode_of(home / "files")) == (0o700, 0o755)


@as_root
def test_a_file_of_somebody_else_stops_the_start(open_folder: Path) -> None:
    """Unless by root, it cannot be closed to its owner."""
    (open_folder / "file").touch()
    (open_folder / "file").chmod(0o644)
    os.chown(open_folder, STRANGER, STRANGER)
    os.seteuid(STRANGER)
    try:
        with pytest.raises(
            SettingsError, match=r"^KAIWA_DATA_DIR: .*/file belongs to another user"
        ):
            private_folder(open_folder)
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder to which everybody finds the way, which a test's own is not."""
    with TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)
