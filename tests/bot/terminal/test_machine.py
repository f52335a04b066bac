"""What the machine tells of the person, and which conversation is theirs."""

from __future__ import annotations

import locale
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.terminal.machine import conversation_id, language_tag, time_zone

ZONES = Path("/usr/share/zoneinfo")


def localtime(tmp_path: Path, zone: str) -> Path:
    """A link like /etc/localtime."""
    link = tmp_path / "localtime"
    link.symlink_to(ZONES / zone)
    return link


def test_a_conversation_goes_on_in_the_next_run(tmp_path: Path) -> None:
    """The same id every time, until a new one is asked for."""
    first = conversation_id(tmp_path, new=False)
    assert first.startswith("console:terminal_")
    assert conversation_id(tmp_path, new=False) == first
    second = conversation_id(tmp_path, new=True)
    assert second != first
    assert conversation_id(tmp_path, new=False) == second


@pytest.mark.parametrize("content", [b"", b"../../x", "東京".encode(), b"\xff\xfe"])
def test_a_spoiled_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    """What is no id is not used as one."""
    (tmp_path / "terminal-id").write_bytes(content)
    assert conversation_id(tmp_path, new=False).startswith("console:terminal_")


def test_a_folder_that_cannot_be_used_names_its_variable(tmp_path: Path) -> None:
    """One sentence for whoever set it."""
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="KAIWA_DATA_DIR"):
        conversation_id(tmp_path / "file", new=False)


@pytest.mark.parametrize(
    ("named", "tag"),
    [
        ("ja_JP.UTF-8", "ja-JP"),
        ("de_CH.UTF-8@euro", "de-CH"),
        ("en.UTF-8", "en"),
        ("C.UTF-8", ""),
        ("C", ""),
        ("UTF-8", ""),
        ("POSIX", ""),
    ],
)
def test_the_language_is_that_of_the_locale(
    monkeypatch: pytest.MonkeyPatch, named: str, tag: str
) -> None:
    """As the system names it; ``C`` names none."""
    monkeypatch.setattr(locale, "setlocale", lambda _category: named)
    assert language_tag() == tag


@pytest.mark.parametrize(
    ("variable", "linked", "zone"),
    [
        ("", "Asia/Tokyo", "Asia/Tokyo"),
        ("Asia/Tokyo", "Europe/Berlin", "Asia/Tokyo"),
        (":Asia/Tokyo", "Etc/UTC", "Asia/Tokyo"),
        ("", "Etc/UTC", ""),
        ("UTC", "Asia/Tokyo", ""),
    ],
)
def test_the_time_zone_is_that_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, linked: str, zone: str
) -> None:
    """TZ names it, or the link that every system keeps; a server's UTC says nothing of a person."""
    monkeypatch.setenv("TZ", variable)
    assert time_zone(localtime(tmp_path, linked)) == zone


def test_a_file_without_a_name_is_no_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some systems copy the file instead of linking it."""
    monkeypatch.delenv("TZ", raising=False)
    (tmp_path / "localtime").touch()
    assert time_zone(tmp_path / "localtime") == ""
