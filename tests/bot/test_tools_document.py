"""The pages about tools are true: their commands and examples work as they stand there."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from runpy import run_path

import pytest
from typer.testing import CliRunner

from bot.agent.hooks import Refuse
from bot.cli.main import cli
from bot.plugins import load_hooks
from bot.settings import load
from bot.transcript import ToolCall
from tests.bot.command_line import Call
from tests.fakes.pets import PetsFake
from tests.project import ROOT
from tests.toolset.contexts import context
from toolset.mcp.config import read_servers
from toolset.offer.rules import read_rules
from toolset.testing import call_tool
from toolset.tool import ToolOutcome

pytestmark = pytest.mark.usefixtures("restored_logging")


def document(name: str) -> str:
    """A page of docs."""
    return (ROOT / "docs" / name).read_text("utf-8")


def example(name: str, language: str, marked: str = "") -> str:
    """The one example of a page that holds these words."""
    found = re.findall(rf"```{language}\n(.*?)```", document(name), re.DOTALL)
    (text,) = (one for one in found if marked in one)
    return str(text)


def test_the_written_class_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From nothing to a tool that is called."""
    monkeypatch.chdir(tmp_path)
    new, call, test = (
        shlex.split(line) for line in example("tools.md", "sh", "--class").splitlines()
    )
    written = CliRunner().invoke(cli, new[1:])
    assert written.exit_code == 0
    monkeypatch.setenv(*call[0].split("="))
    called = CliRunner().invoke(cli, call[2:])
    assert (called.exit_code, called.stdout) == (0, '{\n  "text": "HELLO"\n}\n')
    assert test[:6] == ["make", "dev", "&&", ".venv/bin/python", "-m", "pytest"]
    assert Path(test[6]).is_file()
    assert test[6] in written.stdout


def test_the_class_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With its schemas and its settings; the test on the page passes too."""
    tools = tmp_path / "my_tools"
    schemas = tools / "schemas" / "roll_dice"
    schemas.mkdir(parents=True)
    (tools / "dice.py").write_text(example("tools.md", "python", "class RollDice"), "utf-8")
    for file, word in (("parameters", '"count"'), ("response", '"rolls"')):
        (schemas / f"{file}.json").write_text(example("tools.md", "json", word), "utf-8")
    rolled = call_tool("roll_dice", {}, tools).response
    assert (len(rolled["rolls"]), rolled["thrown_so_far"]) == (1, 1)
    refused = call_tool("roll_dice", {"count": 4}, tools, dice_most=3)
    assert refused == ToolOutcome.error("at most 3 dice at once")
    monkeypatch.setenv("TOOLS_DIR", str(tools))
    monkeypatch.setenv("DICE_MOST", "0")
    assert "roll_dice" not in CliRunner().invoke(cli, ["tools"]).stdout
    (tmp_path / "shown.py").write_text(example("tools.md", "python", "def test_two_dice"), "utf-8")
    monkeypatch.chdir(tmp_path)
    run_path("shown.py")["test_two_dice"]()


def test_the_counter_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each call by one, also those that begin at once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.py").write_text(example("tools_reference.md", "python", "Shares"), "utf-8")
    for count in (1, 2):
        assert call_tool("count_up", {}, tmp_path) == ToolOutcome({"result": count})
    count_up = run_path("counter.py")["count_up"]

    async def at_once() -> list[int]:
        counted: list[int] = await asyncio.gather(*(count_up(context()) for _ in range(30)))
        return counted

    assert sorted(asyncio.run(at_once())) == list(range(1, 31))


async def test_the_hook_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaded as the page says, it refuses and edits as it says."""
    hook = example("tools_reference.md", "python", "(Hook)")
    (tmp_path / "_careful.py").write_text(hook, "utf-8")
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    monkeypatch.setenv("HOOKS", "_careful:Careful")
    (careful,) = load_hooks(load())
    command = ToolCall("c1", "run_command", {"command": ["ls"]})
    assert await careful.before(command, context()) == Refuse("commands are run in our Slack only")
    assert await careful.before(ToolCall("c2", "get_weather", {}), context()) is None
    reported = await careful.after(
        command, context(), ToolOutcome({"output": "see intranet.example"})
    )
    assert reported == ToolOutcome.error("the answer holds an address that must not be told")
    assert await careful.after(command, context(), ToolOutcome({"output": "ok"})) == ToolOutcome(
        {"output": "ok"}
    )


def test_the_rules_can_be_read(tmp_path: Path) -> None:
    """TOOLS_ALLOW takes them."""
    path = tmp_path / "rules.toml"
    path.write_text(example("tools_reference.md", "toml"), "utf-8")
    slack, line = read_rules(path)
    assert slack.risk == {"github_create_issue": "high"}
    assert line.channel == "line"


@pytest.mark.parametrize("marked", ["tickets", '"kaiwa"'])
def test_the_servers_can_be_read(marked: str, tmp_path: Path) -> None:
    """MCP_SERVERS takes both files, that for other programs too."""
    path = tmp_path / "servers.json"
    path.write_text(example("tools_external.md", "json", marked), "utf-8")
    assert marked.strip('"') in [server.name for server in read_servers(path)]


def test_operations_are_added(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As printed, of another address."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_tools").mkdir()
    with PetsFake().served() as pets:
        printed = example("tools_external.md", "sh").replace("https://api.example", pets.base_url)
        code, out, errors = call(*shlex.split(printed)[1:])
    assert (code, errors) == (0, "")
    for name in ("listPets", "getPet", "addPet"):
        assert f"pets_demo_{name} " in out
