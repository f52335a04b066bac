"""A misspelled name in ``.env`` is named, with the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.checks import CheckResult
from bot.cli.new_tool import write_tool
from bot.ops.variable_names import check_names
from bot.settings import load
from tests.bot.command_line import Call
from tests.project import ROOT

pytestmark = pytest.mark.usefixtures("restored_logging")


def warning(detail: str, fix: str) -> CheckResult:
    """A line of the report."""
    return CheckResult("warning", "variables", detail, fix)


def write_env(folder: Path, *lines: str) -> None:
    """Write the file that settings are read from."""
    (folder / ".env").write_text("\n".join(lines), "utf-8")


def test_a_misspelled_name_is_named_with_the_right_one(tmp_path: Path) -> None:
    """Of Kaiwa, of a channel and of a tool."""
    write_env(
        tmp_path,
        "GEMINI_APIKEY=key",
        "SLACK_FOLOW_THREADS=1",
        "BRAVE_KEY=key",
        "export LINE_PUSHES=never",
    )
    assert check_names(load()) == [
        warning("nothing reads GEMINI_APIKEY of .env", "did you mean GEMINI_API_KEY?"),
        warning("nothing reads SLACK_FOLOW_THREADS of .env", "did you mean SLACK_FOLLOW_THREADS?"),
        warning("nothing reads BRAVE_KEY of .env", "did you mean BRAVE_API_KEY?"),
        warning("nothing reads LINE_PUSHES of .env", "did you mean LINE_PUSH?"),
    ]


def test_names_like_no_other_share_a_line(tmp_path: Path) -> None:
    """A file may hold those of other programs; without a value a name has no effect anywhere."""
    write_env(tmp_path, "POSTGRES_USER=me", "QUUX=1", "EMPTY=", "AIzaSyPastedAlone", "port=8001")
    assert check_names(load()) == [
        warning(
            "of .env, nothing reads: POSTGRES_USER, QUUX",
            "see .env.example for the names there are",
        )
    ]


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ("GEMINI_KEY", "GEMINI_API_KEY"),
        ("LINE_CHANNEL_TOKEN", "LINE_CHANNEL_ACCESS_TOKEN"),
    ],
)
def test_a_name_of_other_programs_is_known_in_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: str, own: str
) -> None:
    """Unless Kaiwa's own is set: then the other one is for another program."""
    expected = [warning(f"{foreign} is set, and nothing reads it", f"set {own} in its place")]
    monkeypatch.setenv(foreign, "value")
    monkeypatch.setenv("QUUX", "of another program")
    assert check_names(load()) == expected
    monkeypatch.setenv("LINE_CHANNEL_SECRET", "secret")
    monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", "token")
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    assert check_names(load()) == []
    monkeypatch.delenv(foreign)
    write_env(tmp_path, f"{foreign}=value")
    assert check_names(load()) == expected


def test_what_an_operators_tool_reads_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file names its variables."""
    folder = tmp_path / "tools"
    monkeypatch.setenv("TOOLS_DIR", str(folder))
    tool = write_tool("shout", folder).tool
    variable = 'from .env."""\n\n    shout_volume: int = 3'
    tool.write_text(tool.read_text("utf-8").replace('or .env."""', variable, 1), "utf-8")
    write_env(tmp_path, "SHOUT_VOLUME=11")
    assert check_names(load()) == []
    tool.write_text("1 / 0", "utf-8")
    assert check_names(load()) == []


def test_every_variable_of_the_example_is_known(tmp_path: Path) -> None:
    """Whoever copies the file and sets all of it reads no warning."""
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    names = [
        line.lstrip("#").partition("=")[0]
        for line in lines
        if "=" in line and not line.startswith("# ")
    ]
    settings = load()
    write_env(tmp_path, *(f"{name}=x" for name in names))
    assert check_names(settings) == []


@pytest.mark.process
def test_the_doctor_names_it(call: Call, tmp_path: Path) -> None:
    """Among its other lines."""
    write_env(tmp_path, "GEMINI_KEY=key")
    assert "GEMINI_KEY is set, and nothing reads it" in call("doctor", PORT="0")[1]
