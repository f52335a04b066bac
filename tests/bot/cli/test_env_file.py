"""Values in ``.env``: beside the lines that are there, whole or not at all, for its owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bot.cli.setup.env_file import write_values
from bot.errors import SettingsError

VALUES = {"LINE_CHANNEL_SECRET": "new"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "LINE_CHANNEL_SECRET=new\n"),
        ("# a comment\n\nA=1", "# a comment\n\nA=1\nLINE_CHANNEL_SECRET=new\n"),
        ("A=1\n\nLINE_CHANNEL_SECRET=old # mine\nB=2\n", "A=1\n\nLINE_CHANNEL_SECRET=new\nB=2\n"),
        ("line_channel_secret=old\r\nB=2\r\n", "LINE_CHANNEL_SECRET=new\r\nB=2\r\n"),
        ("export LINE_CHANNEL_SECRET='old\nlines'\nB=2\n", "LINE_CHANNEL_SECRET=new\nB=2\n"),
        ("LINE_CHANNEL_SECRET=1\nLINE_CHANNEL_SECRET=2", "LINE_CHANNEL_SECRET=new\n" * 2),
        ("LINE_CHANNEL_SECRET=\nB=2\n", "LINE_CHANNEL_SECRET=new\nB=2\n"),
        ("  LINE_CHANNEL_SECRET = new # kept\n", "  LINE_CHANNEL_SECRET = new # kept\n"),
        (
            "#LINE_CHANNEL_SECRET=\nA='\nLINE_CHANNEL_SECRET=x\n'\n",
            "#LINE_CHANNEL_SECRET=\nA='\nLINE_CHANNEL_SECRET=x\n'\nLINE_CHANNEL_SECRET=new\n",
        ),
        ("no line of its form\n'\n", "no line of its form\n'\nLINE_CHANNEL_SECRET=new\n"),
    ],
)
def test_other_lines_stay(tmp_path: Path, before: str, after: str) -> None:
    """Comments, blank lines, values over several lines, and what nobody can read."""
    path = tmp_path / ".env"
    path.write_text(before, "utf-8", newline="")
    write_values(VALUES, path)
    assert path.read_bytes().decode() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_one_and_bytes_stay_bytes(tmp_path: Path) -> None:
    """What is no UTF-8 is somebody's; the file is replaced where it really is."""
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "env"
    real.write_bytes(b"A=\xff\n")
    (tmp_path / ".env").symlink_to(real)
    write_values(VALUES, tmp_path / ".env")
    assert (tmp_path / ".env").is_symlink()
    assert real.read_bytes() == b"A=\xff\nLINE_CHANNEL_SECRET=new\n"
    assert [path.name for path in real.parent.iterdir()] == ["env"]


def test_a_file_that_cannot_be_replaced_is_one_line(tmp_path: Path) -> None:
    """And nothing of the attempt is left."""
    (tmp_path / ".env").mkdir()
    with pytest.raises(SettingsError, match=r"^\.env: cannot be written \("):
        write_values(VALUES, tmp_path / ".env")
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
