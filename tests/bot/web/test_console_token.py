"""The token of a data folder: the same for every process, readable by its owner only."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.web.console_token import load_or_create_token
from tests.project import environment

MAKE = """
import pathlib, sys
from bot.web.console_token import load_or_create_token
print(load_or_create_token(pathlib.Path(sys.argv[1])))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "console_token"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_token_is_made_once(path: Path) -> None:
    """In a folder that nobody else may enter, in a file that nobody else may read."""
    token = load_or_create_token(path)
    assert len(token) == 43
    assert load_or_create_token(path) == token
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


@pytest.mark.process
def test_processes_that_start_at_once_agree(path: Path) -> None:
    """None reads what another has half written."""
    command = [sys.executable, "-c", MAKE, str(path)]
    started = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    tokens = {process.communicate()[0].strip() for process in started}
    assert tokens == {load_or_create_token(path)}


def test_a_token_of_the_operators_stays(path: Path) -> None:
    """And is closed to others, if it was not."""
    path.parent.mkdir()
    path.write_text("a token of my own choice\n".replace(" ", "-"))
    path.chmod(0o644)
    assert load_or_create_token(path) == "a-token-of-my-own-choice"
    assert mode(path) == 0o600


@pytest.mark.parametrize("stored", [b"", b"\0" * 44, b"short\n", b"two words that are no token\n"])
def test_what_is_no_token_is_replaced(path: Path, stored: bytes) -> None:
    """After a power failure the file may be empty."""
    path.parent.mkdir()
    path.write_bytes(stored)
    assert len(load_or_create_token(path)) == 43
    assert load_or_create_token(path) == path.read_text().strip()


def test_a_place_where_nothing_can_be_kept_is_told(path: Path) -> None:
    """With the variable to fix; a link to somewhere else is no such file."""
    path.parent.mkdir()
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: .* or set CONSOLE_TOKEN"):
        load_or_create_token(path)
    assert not (path.parent / "elsewhere").exists()
