"""``kaiwa tools new``: what it writes works as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.as_typed import program
from bot.cli.new_tool import OWN, Written, next_steps, own_folder, write_tool
from bot.errors import BadInput
from tests.project import ROOT
from toolset.testing import call_tool
from toolset.tool import ToolOutcome

# The command twice in one process: to write a tool, and to call it.
NEW_AND_CALL = """
import sys
from bot.cli.main import main
sys.path[0] = "."
call = ["call", "roll_dice", '{"text": "hello"}']
for words in (["new", *sys.argv[1:], "roll_dice"], call):
    sys.argv = ["kaiwa", "tools", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
"""


def test_a_new_tool_works_as_it_is(tmp_path: Path) -> None:
    """Four files, a result, and an error for what does not fit."""
    written = write_tool("roll_dice", tmp_path)
    assert written == Written(
        tmp_path / "roll_dice.py",
        tmp_path / "schemas" / "roll_dice",
        tmp_path / "tests" / "test_roll_dice.py",
    )
    assert "class RollDice(Tool):" in written.tool.read_text("utf-8")
    assert call_tool("roll_dice", {"text": "hello"}, tmp_path) == ToolOutcome({"text": "HELLO"})
    assert call_tool("roll_dice", {}, tmp_path).is_error


def test_a_function_needs_two_files(tmp_path: Path) -> None:
    """It works as it is, too; its schemas are made of its types."""
    written = write_tool("roll_dice", tmp_path, as_function=True)
    assert "async def roll_dice(text: " in written.tool.read_text("utf-8")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(files) == [written.tool, written.test]
    assert call_tool("roll_dice", {"text": "hello"}, tmp_path) == ToolOutcome({"result": "HELLO"})
    assert call_tool("roll_dice", {}, tmp_path).is_error
    assert "Change the work, the types, and the description" in next_steps(written, None)


@pytest.mark.process
@pytest.mark.parametrize(("form", "result"), [((), "result"), (("--class",), "text")])
def test_in_a_checkout_it_keeps_the_projects_rules(
    tmp_path: Path, form: tuple[str, ...], result: str
) -> None:
    """Written into a checkout it passes lint, format and the contract of all tools, and is called
    by the command."""
    checkout = tmp_path / "checkout"
    for folder in ("bot", "toolset", "schemas", "tests/fakes", "tests/toolset"):
        shutil.copytree(
            ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    # The stand-in for Slack reads its manifest.
    manifests = ROOT.glob("slack_manifest*.yaml")
    for path in (ROOT / "pyproject.toml", *manifests, *(ROOT / "tests").glob("*.p*")):
        shutil.copy(path, checkout / path.relative_to(ROOT))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout)}

    def run_in_checkout(*words: str) -> str:
        done = subprocess.run(
            [*words], cwd=checkout, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    printed = run_in_checkout(sys.executable, "-c", NEW_AND_CALL, *form)
    assert "kaiwa tools call roll_dice '" in printed
    assert printed.endswith(f'\n{{\n  "{result}": "HELLO"\n}}\n')
    new = ["toolset/roll_dice.py", "tests/toolset/test_roll_dice.py"]
    run_in_checkout(sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", *new)
    run_in_checkout(
        sys.executable, "-m", "ruff", "format", "--quiet", "--no-cache", "--check", *new
    )
    contract = ["tests/toolset/test_contract.py", "tests/toolset/test_contract_arguments.py"]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "roll_dice"]
    assert " passed" in run_in_checkout(*pytest_, *contract, new[1])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Roll",
        "roll-dice",
        "1st",
        "_roll",
        "../roll",
        "class",
        "none",
        "true",
        "tool",
        "tool_error",
        "str",
        "x" * 65,
    ],
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str) -> None:
    """It becomes a module, a class, and what the model calls."""
    with pytest.raises(BadInput, match=r"NAME: .* cannot be used; write small letters"):
        write_tool(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "there", ["roll.py", "roll/x", "schemas/roll/parameters.json", "tests/test_roll.py"]
)
def test_nothing_is_overwritten(tmp_path: Path, there: str) -> None:
    """Not even in part."""
    path = tmp_path / there
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(BadInput, match="is there already; choose another name, or move it away"):
        write_tool("roll", tmp_path)
    assert [file.read_text("utf-8") for file in tmp_path.rglob("*") if file.is_file()] == ["mine"]


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("get_weather", "toolset/weather.py"),
        ("find_tools", "Kaiwa"),
        ("whisper", "{folder}/shout.py"),
    ],
)
def test_the_name_of_another_tool_is_refused(tmp_path: Path, name: str, origin: str) -> None:
    """Its file may have another name; with two tools of one name nothing would start."""
    shout = write_tool("shout", tmp_path).tool
    shout.write_text(
        shout.read_text("utf-8").replace('name = "shout"', 'name = "whisper"'), "utf-8"
    )
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput) as refused:
        write_tool(name, tmp_path)
    where = origin.format(folder=tmp_path)
    assert (
        str(refused.value)
        == f"NAME: {name} is the name of a tool already ({where}); choose another name"
    )
    assert [
        path
        for path in sorted(tmp_path.rglob("*.*"))
        if path not in before and path.suffix != ".pyc"
    ] == []


def test_half_a_tool_does_not_stop_the_next_one(tmp_path: Path) -> None:
    """Whoever writes two tools may begin with both."""
    (tmp_path / "half.py").write_text(
        "class Half:\n    risk = 'low'\n    async def call(self): ...", "utf-8"
    )
    assert write_tool("shout", tmp_path).tool.is_file()


def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    """Such as one in the place of which there is a file."""
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(BadInput, match="/file/tools: cannot be written to"):
        write_tool("roll", tmp_path / "file" / "tools")


def test_the_next_steps_name_a_folder_that_is_not_read_yet(tmp_path: Path) -> None:
    """And can be pasted into a shell."""
    folder = tmp_path / "my tools"
    written = write_tool("roll", folder)
    call = """kaiwa tools call roll '{"text": "hello"}'"""
    test = f"{program('pytest')} '{folder}/tests/test_roll.py'"
    assert f"\n  TOOLS_DIR='{folder}' {call}\n  {test}" in next_steps(written, None)
    assert f"\n  {call}\n" in next_steps(written, folder)


def test_in_a_checkout_kaiwas_own_folder_is_the_place() -> None:
    """Its schemas and tests stand beside it."""
    assert own_folder() == OWN == ROOT / "toolset"
