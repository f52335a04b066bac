"""Archives that a restore takes, and those that it refuses before it touches anything."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from msgspec.json import encode
from redis import Redis as BlockingRedis

from bot.errors import BadInput, SettingsError
from bot.store.backup import ABOUT, APPENDED, DATA, About, restore_backup, write_backup
from bot.store.clients import connect
from bot.store.embedded import open_embedded
from bot.store.keys import FORMAT
from tests.bot.store.processes import mode_of, read, write

THIS = About(1, FORMAT, "0.5.0")


async def copy(home: Path, target: Path) -> int:
    """A backup of a store that holds a word."""
    async with open_embedded(home) as url:
        await write(url, "for later")
        client = connect(url, 1)
        try:
            return await write_backup(client, home, target, "0.5.0")
        finally:
            await client.aclose()


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    """A backup."""
    assert await copy(tmp_path / "home", tmp_path / "kaiwa.zip") > 0
    return tmp_path / "kaiwa.zip"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Files with what they hold, and folders, of a folder."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


def pack(file: Path, **entries: bytes) -> Path:
    """An archive of our own making."""
    with ZipFile(file, "w") as packed:
        for name, content in entries.items():
            packed.writestr({"about": ABOUT, "data": DATA}[name], content)
    return file


async def test_what_was_deleted_is_in_no_backup(tmp_path: Path) -> None:
    """The append-only file is written anew for it."""
    home, target = tmp_path / "home", tmp_path / "kaiwa.zip"
    async with open_embedded(home) as url:
        with BlockingRedis.from_url(url) as redis:
            redis.set("a", "a secret", ex=60)
            redis.delete("a")
        assert "a secret" in "".join(
            path.read_text("utf-8") for path in (home / APPENDED).glob("*.aof")
        )
    await copy(home, target)
    with ZipFile(target) as packed:
        data = packed.read(DATA)
    assert b"for later" in data
    assert b"a secret" not in data


async def test_a_backup_replaces_no_file(archive: Path, tmp_path: Path) -> None:
    """And leaves none half written."""
    before = contents(tmp_path)
    with pytest.raises(BadInput, match="exists: name a new file"):
        await copy(tmp_path / "home", archive)
    with pytest.raises(BadInput, match="cannot be written: No such file or directory"):
        await copy(tmp_path / "home", tmp_path / "nowhere" / "kaiwa.zip")
    assert contents(tmp_path) == before
    assert mode_of(archive) == 0o600


async def test_what_a_killed_restore_has_left_goes(archive: Path, tmp_path: Path) -> None:
    """It holds words."""
    (tmp_path / "new" / "restore-abc").mkdir(parents=True)
    (tmp_path / "new" / "restore-abc" / "words").touch()
    await restore_backup(archive, tmp_path / "new", replace=False)
    assert list((tmp_path / "new").glob("restore-*")) == []
    async with open_embedded(tmp_path / "new") as url:
        assert await read(url) == b"for later"


def harm(archive: Path, how: str) -> None:
    """Damage an archive."""
    whole = archive.read_bytes()
    middle = whole.index(DATA.encode()) + len(DATA) + 30
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    harmed = {"cut": whole[:-30], "flipped": flipped, "empty": b"", "text": b"no archive " * 50}
    archive.write_bytes(harmed[how])


def spoil(home: Path) -> None:
    """Make a store one that Valkey cannot load."""
    for file in (home / APPENDED).glob("*.aof"):
        file.write_bytes(b"no commands\r\n")


@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "text"])
async def test_a_damaged_file_is_refused(archive: Path, tmp_path: Path, how: str) -> None:
    """In one line with what to do, and nothing is written."""
    harm(archive, how)
    with pytest.raises(BadInput, match=r"kaiwa.zip' is damaged, .*; take another one$"):
        await restore_backup(archive, tmp_path / "new", replace=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("about", "complaint"),
    [
        (encode(About(2, FORMAT, "9.0.0")), "made by Kaiwa 9.0.0, which is newer .* update Kaiwa"),
        (encode(About(1, FORMAT + 1, "9.0.0")), "made by Kaiwa 9.0.0, which is newer"),
        (encode(About(1, FORMAT - 1, "0.2.0")), "cannot read; restore it with Kaiwa 0.2.0"),
        (encode(About(1, FORMAT, "\x1b[2J")), "is damaged, or no backup of Kaiwa's"),
        (b"[]", "is damaged, or no backup of Kaiwa's"),
    ],
)
async def test_a_file_of_another_version_says_which(
    tmp_path: Path, about: bytes, complaint: str
) -> None:
    """Newer ones want an update; what is no description is damaged."""
    file = pack(tmp_path / "kaiwa.zip", about=about, data=b"")
    with pytest.raises(BadInput, match=complaint):
        await restore_backup(file, tmp_path / "new", replace=True)
    assert not (tmp_path / "new").exists()


async def test_a_file_without_data_or_of_nobody_is_refused(tmp_path: Path) -> None:
    """Each in a line of its own."""
    file = pack(tmp_path / "kaiwa.zip", about=encode(THIS))
    with pytest.raises(BadInput, match="is damaged"):
        await restore_backup(file, tmp_path / "new", replace=True)
    with pytest.raises(BadInput, match="cannot be read: No such file or directory"):
        await restore_backup(tmp_path / "other.zip", tmp_path / "new", replace=True)


async def test_data_that_valkey_cannot_load_replaces_nothing(archive: Path, tmp_path: Path) -> None:
    """The store stays as it was."""
    file = pack(tmp_path / "other.zip", about=encode(THIS), data=b"no commands\r\n")
    with pytest.raises(BadInput, match="is damaged"):
        await restore_backup(file, tmp_path / "home", replace=True)
    async with open_embedded(tmp_path / "home") as url:
        assert await read(url) == b"for later"


async def test_a_store_that_no_longer_loads_can_be_replaced(archive: Path, tmp_path: Path) -> None:
    """That is what backups are for."""
    spoil(tmp_path / "home")
    with pytest.raises(SettingsError, match="the bundled Valkey cannot work there"):
        await restore_backup(archive, tmp_path / "home", replace=False)
    await restore_backup(archive, tmp_path / "home", replace=True)
    async with open_embedded(tmp_path / "home") as url:
        assert await read(url) == b"for later"
