"""The file PLACES: tables with their lines, and one line for each error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from bot.errors import SettingsError
from bot.place_file import MOST_BYTES, Table, parse, read_sources, unpack
from bot.settings import load
from bot.transcript import encode

FILE = '''# what differs where
[[place]]
platform = "slack"
persona = """
[[place]]
tools = no table and no key: a text \\"""
"""  # [[place]]
tools = ["calc*",
  "weather"]

  [[place]]
persona_file = "shop.md"
risk.create_image = "high"
[place.more]
line = 1

[["account"]]
platform = "line"
name = 'shop'
'''


def written(folder: Path, text: str) -> Path:
    """A file with this text, beside a persona."""
    (folder / "shop.md").write_text("You sell tea.\n", "utf-8")
    path = folder / "places.toml"
    path.write_text(text, "utf-8")
    return path


def test_tables_have_the_lines_of_their_keys(tmp_path: Path) -> None:
    """Text of several lines that looks like tables is none."""
    file = parse(read_sources(written(tmp_path, FILE)))
    first, second = file.places
    assert first == Table("place", 1, 2, first.values, {"platform": 3, "persona": 4, "tools": 8})
    assert second.lines == {"persona_file": 12, "risk": 13, "more": 14}
    assert (second.number, second.line) == (2, 11)
    (account,) = file.accounts
    assert (account.line, account.lines, account.line_of("slack_bot_token")) == (
        17,
        {"platform": 18, "name": 19},
        17,
    )


def test_the_file_and_its_personas_are_one_whole(tmp_path: Path) -> None:
    """They are kept together, and either changes the digest."""
    path = written(tmp_path, FILE)
    sources = read_sources(path)
    assert sources.personas == {"shop.md": "You sell tea."}
    assert unpack(encode(sources)) == sources
    (tmp_path / "shop.md").write_text("You sell coffee.", "utf-8")
    other = read_sources(path)
    assert other.text == sources.text
    assert other.digest != sources.digest
    assert len(sources.digest) == 16


BROKEN = {
    "[[place]]\nplatform = \n": "PLACES: places.toml, line 2: Invalid value; write TOML",
    '[[place]]\nplatform = """x\n': "line 3: ",
    "[[places]]\n": "line 1: only [[place]] and [[account]] tables belong in it",
    "place = 3\n": "only [[place]] and [[account]] tables",
    "place = [3]\n": "only [[place]] and [[account]] tables",
    '[[place]]\n\npersona_file = "no.md"\n': (
        "PLACES: places.toml, line 3, place 1, persona_file: there is no such file, or it cannot "
        "be read; write its path from this file's folder"
    ),
    "[[place]]\n" * 501: "places.toml: write at most 500 tables",
    "#" * (MOST_BYTES + 1): "PLACES: places.toml: is longer than 256 KiB; shorten it",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong_is_one_line_with_the_mend(tmp_path: Path, text: str) -> None:
    """File, line, table and field where there are such."""
    with pytest.raises(SettingsError) as error:
        parse(read_sources(written(tmp_path, text)))
    assert BROKEN[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes of another encoding are no text."""
    path = tmp_path / "places.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"places\.toml: is no text; save it as UTF-8"):
        read_sources(path)


def test_only_files_are_read(tmp_path: Path) -> None:
    """A pipe is empty the next time, and keeps its reader waiting; what cannot be read may hold
    accounts."""
    path = tmp_path / "places.toml"
    os.mkfifo(path)
    for where in (path, tmp_path, tmp_path / "gone.toml"):
        with pytest.raises(SettingsError, match="there is no such file, or it cannot be read"):
            read_sources(where)
        assert load(known={"places": where}).has_accounts


def test_lists_within_lists_are_no_reason_to_stop(tmp_path: Path) -> None:
    """However deep: the file is wrong like any other."""
    path = written(tmp_path, f"a = {'[' * 10_000}")
    assert load(known={"places": path}).has_accounts
    with pytest.raises(SettingsError, match="write TOML"):
        read_sources(path)


def test_persona_files_are_short_enough_to_be_kept(tmp_path: Path) -> None:
    """All together."""
    text = ""
    for number in range(17):
        (tmp_path / f"{number}.md").write_text("x" * 60_000, "utf-8")
        text += f'[[place]]\npersona_file = "{number}.md"\n'
    fix = "PLACES: places.toml: its persona files have more than 1,000,000 characters"
    with pytest.raises(SettingsError, match=fix):
        read_sources(written(tmp_path, text))


class Place(BaseModel):
    """Some fields."""

    model_config = ConfigDict(extra="forbid")

    platform: str = ""
    tokens: int = 0


def test_a_wrong_field_is_named_with_its_line(tmp_path: Path) -> None:
    """Without its value."""
    text = '[[place]]\nplatform = "x"\n\ntokens = "a lot"\n[[place]]\nplattform = "x"\n'
    file = parse(read_sources(written(tmp_path, text)))
    where = {
        0: "PLACES: places.toml, line 4, place 1, tokens: write a whole number",
        1: "PLACES: places.toml, line 6, place 2, plattform: there is no such field; write one of "
        "platform, tokens",
    }
    for index, line in where.items():
        with pytest.raises(SettingsError) as error:
            file.checked(file.places[index], Place, file.places[index].values)
        assert str(error.value) == line
