"""What the bundled Valkey needs of its surroundings, and what is said where it does not get it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.store import embedded
from bot.store.embedded import ValkeyServer, open_embedded
from bot.tasks import try_lock
from tests.bot.store.processes import read, socket_of, write


@pytest.mark.parametrize("name", ["x" * 200, "with space and 'quotes'", "会話のデータ", "per%cent"])
async def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    """The socket lies elsewhere, so neither length nor characters matter."""
    data_dir = tmp_path / name / "deep" / "down"
    async with open_embedded(data_dir) as url:
        await write(url, "x")
        assert await read(url) == b"x"
    assert (data_dir / "appendonlydir").is_dir()


async def test_a_directory_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    """One sentence, with the variable to fix."""
    (tmp_path / "file").touch()
    with pytest.raises(
        SettingsError, match=r"^KAIWA_DATA_DIR: cannot be written \(Not a directory\)"
    ):
        async with open_embedded(tmp_path / "file" / "data"):
            pass  # pragma: no cover


async def test_files_that_cannot_be_used_stop_the_start(tmp_path: Path) -> None:
    """With the server's own last word, and nothing is left running."""
    (tmp_path / "appendonlydir").touch()
    with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: .*appendonlydir"):
        async with open_embedded(tmp_path):
            pass  # pragma: no cover
    with (tmp_path / "server.lock").open("ab") as lock:
        assert try_lock(lock)


async def test_a_machine_without_a_bundled_server_needs_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fix is to name a Redis."""
    monkeypatch.setattr(
        embedded, "_binary", lambda: tmp_path
    )  # the folder of a package without a server
    with pytest.raises(SettingsError, match=r"^REDIS_URL: "):
        async with open_embedded(tmp_path):
            pass  # pragma: no cover


async def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """Whoever prepared it could listen to every conversation."""
    folder = socket_of(ValkeyServer(tmp_path).url).parent
    folder.mkdir()
    folder.chmod(0o755)
    try:
        with pytest.raises(SettingsError, match=f"^TMPDIR: {folder.name} there is open to others"):
            async with open_embedded(tmp_path):
                pass  # pragma: no cover
    finally:
        folder.rmdir()


@pytest.mark.parametrize(
    ("temporary", "complaint"), [("x" * 90, "too long"), ("missing", "cannot be written")]
)
async def test_a_useless_temporary_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: str, complaint: str
) -> None:
    """A socket needs a short path in a place that exists."""
    monkeypatch.setattr(tempfile, "tempdir", f"/{temporary}")
    with pytest.raises(SettingsError, match=f"^TMPDIR: .*{complaint}"):
        async with open_embedded(tmp_path):
            pass  # pragma: no cover
