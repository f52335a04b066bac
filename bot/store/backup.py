"""A backup of a data folder: the bundled Valkey's append-only file, and the small files beside it,
in one zip archive.

The append-only file is rewritten for it: the new one holds the store at one moment, and nothing
that was deleted before.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import decode, encode
from redis.exceptions import ResponseError

from bot.errors import BadInput, SettingsError, StoreUnavailable
from bot.store.clients import Client, connect, translate_errors
from bot.store.embedded import ValkeyServer, in_use, lockable_folder, rewrite
from bot.store.keys import FORMAT
from bot.store.private import FILE, FOLDER, private_file
from bot.tasks import POLL_S, try_lock

LAYOUT = 1  # of the archive; every change of it raises the number
ABOUT, DATA = "about.json", "store.aof"
# What a person has beside the store: the page's token, and which conversation the terminal goes on.
BESIDE = ("console_token", "terminal-id")
APPENDED = "appendonlydir"  # the folder of Valkey's append-only file
MANIFEST = "appendonly.aof.manifest"
BASE = re.compile(r"^file (\S+) seq \d+ type b$", re.MULTILINE)
REWRITE_S = 60.0
# The bundled Valkey has 64 MB of memory; its file is larger, but never so large.
MOST_BYTES = 2**30
LEFT = "restore-"  # how the folder begins in which a restore works
DAMAGED = (BadZipFile, EOFError, KeyError, MsgspecError, RuntimeError, zlib.error)


class About(Struct, frozen=True):
    """What an archive says of itself.

    Attributes:
        layout: ``LAYOUT`` of the version that made it.
        store: ``FORMAT`` of that version.
        kaiwa: that version.
    """

    layout: int
    store: int
    kaiwa: Annotated[str, Meta(pattern=r"^[\w.+-]{1,40}$")]


async def write_backup(client: Client, home: Path, target: Path, version: str) -> int:
    """Write a backup into a new file that only its owner can read; it is there as a whole or not at
    all.

    Args:
        client: of the bundled Valkey of ``home``.
        version: of this Kaiwa.

    Returns:
        How many keys the store has.

    Raises:
        BadInput: the file cannot be written.
        StoreUnavailable: Valkey does not answer, or cannot write its file anew.
    """
    async with translate_errors():
        with await _fresh_file(client, home / APPENDED) as data:
            try:
                with _new_file(target) as file:
                    _pack(file, data, home, About(LAYOUT, FORMAT, version))
            except FileExistsError:
                raise BadInput(f"{str(target)!r} exists: name a new file") from None
            except OSError as error:
                raise BadInput(f"{str(target)!r} cannot be written: {error.strerror}") from error
        return int(await client.dbsize())


async def _fresh_file(client: Client, folder: Path) -> IO[bytes]:
    """The file that Valkey has just written anew, opened."""
    try:
        async with asyncio.timeout(REWRITE_S):
            while True:
                # one under way may have begun too early, and another may end and replace ours
                with suppress(ResponseError, FileNotFoundError):
                    if not await rewrite(client):
                        raise StoreUnavailable(
                            "the bundled Valkey cannot write its file anew",
                            f"see {folder.parent / 'valkey.log'}; is the disk full?",
                        )
                    names: list[str] = BASE.findall((folder / MANIFEST).read_text("utf-8"))
                    return (folder / names[0]).open("rb")
                await asyncio.sleep(POLL_S)
    except TimeoutError as error:
        fix = "try again when it has less to do"
        raise StoreUnavailable("the bundled Valkey takes too long for a copy", fix) from error


@contextmanager
def _new_file(target: Path) -> Iterator[IO[bytes]]:
    """A file under another name, which gets its own when it is whole."""
    if target.exists():
        raise FileExistsError
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _pack(file: IO[bytes], data: IO[bytes], home: Path, about: About) -> None:
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, encode(about))
        with archive.open(DATA, "w", force_zip64=True) as entry:
            shutil.copyfileobj(data, entry)
        for name in BESIDE:
            if (home / name).is_file():
                archive.writestr(name, (home / name).read_bytes())


async def restore_backup(file: Path, data_dir: Path, *, replace: bool) -> int:
    """Put a backup into a data folder that no Kaiwa uses. It is loaded beside the store first, and
    then takes its place.

    Args:
        replace: also where the store holds something, which is deleted.

    Returns:
        How many keys the store has now.

    Raises:
        BadInput: the file is no backup that this version can read, or the store holds something.
        SettingsError: another Kaiwa uses the folder, or Valkey cannot run there.
    """
    with _open(file) as archive, lockable_folder(data_dir) as (home, lock):
        if not try_lock(lock):
            raise in_use(home)
        for leftover in home.glob(f"{LEFT}*"):  # of one that was killed
            shutil.rmtree(leftover)
        if replace:  # it may be damaged, and this the mend
            await ValkeyServer(home).stop()  # one that a killed owner has left
        elif held := await _count_keys(home):
            raise BadInput(f"the store in {home} holds {held} keys; --replace deletes them")
        with TemporaryDirectory(prefix=LEFT, dir=home) as folder:
            fresh = Path(folder)
            _unpack(archive, fresh)
            try:
                count = await _count_keys(fresh)
            except SettingsError as error:
                if error.variable != "KAIWA_DATA_DIR":  # Valkey does not run here at all
                    raise
                raise _damaged(file) from error
            if (home / APPENDED).exists():
                (home / APPENDED).rename(fresh / "before")
            (fresh / APPENDED).rename(home / APPENDED)
            for name in BESIDE:
                if (fresh / name).exists():
                    (fresh / name).replace(home / name)
        return count


def _open(file: Path) -> ZipFile:
    """The archive, after a look at every byte of it."""
    try:
        archive = ZipFile(file)
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise BadZipFile
        about = decode(archive.read(ABOUT), type=About)
        if about.layout > LAYOUT or about.store > FORMAT:
            raise BadInput(
                f"{str(file)!r} was made by Kaiwa {about.kaiwa}, which is newer than this one; "
                "update Kaiwa, then restore it"
            )
        if about.store < FORMAT:
            raise BadInput(
                f"{str(file)!r} has format {about.store}, which this version cannot read; "
                f"restore it with Kaiwa {about.kaiwa}"
            )
        if archive.getinfo(DATA).is_dir() or archive.testzip():
            raise BadZipFile
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read: {error.strerror}") from error
    except DAMAGED as error:
        raise _damaged(file) from error
    return archive


def _damaged(file: Path) -> BadInput:
    return BadInput(f"{str(file)!r} is damaged, or no backup of Kaiwa's; take another one")


def _unpack(archive: ZipFile, folder: Path) -> None:
    """Lay the files out as Valkey and Kaiwa look for them."""
    (folder / APPENDED).mkdir(FOLDER)
    (folder / APPENDED / MANIFEST).write_text(f"file {DATA} seq 1 type b\n", "utf-8")
    places = {DATA: folder / APPENDED / DATA} | {name: folder / name for name in BESIDE}
    for name in places.keys() & set(archive.namelist()):
        private_file(places[name])
        with archive.open(name) as packed, places[name].open("wb") as file:
            shutil.copyfileobj(packed, file)


async def _count_keys(home: Path) -> int:
    """Start the server of a folder, count, and stop it."""
    server = ValkeyServer(home)
    try:
        await server.start()
        client = connect(server.url, 1)
        try:
            async with translate_errors():
                return int(await client.dbsize())
        finally:
            await client.aclose()
    finally:
        await server.stop()
