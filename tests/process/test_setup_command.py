"""``kaiwa setup`` as an operator has it: on a terminal or from a pipe, with right and wrong values,
interrupted, and in the end answering a hello."""

from __future__ import annotations

import asyncio
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackFake
from tests.process.kaiwa_process import ENTRY, left_behind
from tests.process.terminal import CTRL_C, CTRL_D, Terminal
from tests.project import environment
from tests.waiting import until

pytestmark = pytest.mark.process

TOKEN, SECRET = "LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET"
SIGNING_SECRET = "0123456789abcdef" * 2
PUBLIC = "https://127.0.0.1:1"  # nobody is there: LINE's stand-in says what its test comes to
RUNS = r"runs at (http://127\.0\.0\.1:\d+)/"
BEFORE = "# mine\nBOT_NAME=Hoshi # a star\n\nexport LINE_CHANNEL_SECRET='old'\n#PORT=1\nMODEL="
WIDTH = 160  # columns: Slack's manifest has long lines
STOPPED = "Stopped; .env has what is said to be written above, and is else as it was."


@pytest.fixture
def variables(
    tmp_path: Path, line: LineFake, slack: SlackFake, gemini: GeminiFake
) -> dict[str, str]:
    """The platforms on this machine, and no secret."""
    return environment(
        KAIWA_DATA_DIR=str(tmp_path / "data"),
        PORT="0",
        LINE_API_BASE_URL=line.base_url,
        LINE_DATA_API_BASE_URL=line.base_url,
        SLACK_API_BASE_URL=slack.api_base_url,
        GOOGLE_GEMINI_BASE_URL=gemini.base_url,
        TERM="xterm-256color",
        LANG="C.UTF-8",
    )


Open = Callable[..., Terminal]


@pytest.fixture
def opened(tmp_path: Path, variables: dict[str, str]) -> Iterator[Open]:
    """Opens terminals with a set-up in them; in the end nothing of it is left."""
    terminals: list[Terminal] = []

    def open_terminal(*arguments: str, **more: str) -> Terminal:
        terminals.append(Terminal(variables | more, *arguments, command="setup", width=WIDTH))
        return terminals[-1]

    yield open_terminal
    for terminal in terminals:
        terminal.close()
    assert left_behind(tmp_path) == []
    assert [path.name for path in tmp_path.glob(".env*")] in ([], [".env"])


def env_of(folder: Path) -> str:
    """What ``.env`` holds, which nobody else may read."""
    path = folder / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text("utf-8")


def answer(terminal: Terminal, prompt: str, *values: str) -> None:
    """Type at a prompt; each value but the last is asked for again."""
    for value in values:
        terminal.see(f"{prompt}[^\n]*: ")
        terminal.type(f"{value}\r")


def address_in(terminal: Terminal) -> str:
    """Where the Kaiwa of a set-up runs."""
    found = re.search(RUNS, terminal.text)
    assert found, terminal.text
    return found[1]


def post(address: str, path: str, body: bytes, headers: dict[str, str]) -> int:
    """What a platform sends; the status of the answer."""
    return httpx.post(f"{address}{path}", content=body, headers=headers).status_code


def say_hello_in_line(address: str, line: LineFake) -> int:
    """A person's message."""
    body, headers = line_events.webhook(line.text("hello"))
    return post(address, "/webhooks/line", body, headers)


def test_line_is_set_up(opened: Open, tmp_path: Path, line: LineFake) -> None:
    """From both values over webhook and menu to the hello that is answered; the file keeps its
    other lines, and no secret is shown."""
    (tmp_path / ".env").write_text(BEFORE, "utf-8")
    terminal = opened("line")
    answer(terminal, TOKEN, line_events.TOKEN)
    answer(terminal, SECRET, line_events.SECRET)
    answer(terminal, "PUBLIC_URL", PUBLIC)
    terminal.see("waiting")
    shown = terminal.text
    assert say_hello_in_line(address_in(terminal), line) == 200
    assert terminal.ended() == 0
    assert line.webhook == {"endpoint": f"{PUBLIC}/webhooks/line", "active": True}
    assert [sent.call for sent in line.sent] == ["reply"]
    assert line_events.TOKEN not in shown
    assert line_events.SECRET not in shown
    for words in (
        "works for Kaiwa test (@216test)",
        "is that of channel 1234567890",
        f"cloudflared tunnel --url {address_in(terminal)}\n",
        "console/channel/1234567890/messaging-api",
        "LINE reaches the webhook",
        "https://line.me/R/ti/p/%40216test",
    ):
        assert words in shown
    assert "hello  has come, and is answered" in terminal.text
    assert env_of(tmp_path) == (
        f"# mine\nBOT_NAME=Hoshi # a star\n\nLINE_CHANNEL_SECRET={line_events.SECRET}\n#PORT=1\n"
        f"MODEL=\nLINE_CHANNEL_ACCESS_TOKEN={line_events.TOKEN}\nPUBLIC_URL={PUBLIC}\n"
    )


def test_wrong_values_of_line_are_said_at_once(
    opened: Open, tmp_path: Path, line: LineFake
) -> None:
    """Half a token, one with a blank, the secret of another channel, an address that LINE does not
    reach; each is asked for again, and nothing is written before LINE has taken it."""
    terminal = opened("line")
    answer(terminal, TOKEN, line_events.TOKEN[:9], "two words", "", line_events.TOKEN)
    answer(terminal, SECRET, "f" * 32, f"{SECRET}='{line_events.SECRET}'")
    terminal.see("runs at")
    assert "PUBLIC_URL" not in env_of(tmp_path)
    line.webhook_test |= {"success": False, "statusCode": 404, "reason": "ERROR_STATUS_CODE"}
    answer(terminal, "PUBLIC_URL", "http://kaiwa.example", PUBLIC)
    terminal.see("does not reach the webhook")
    line.webhook_test |= {"success": True}
    answer(terminal, "PUBLIC_URL", "")
    terminal.see("waiting")
    wrongly = line_events.webhook(line.text("hello"))
    headers = wrongly[1] | {"X-Line-Signature": "AAAA"}
    assert post(address_in(terminal), "/webhooks/line", wrongly[0], headers) == 400
    terminal.see("is LINE_CHANNEL_SECRET the right one")
    assert say_hello_in_line(address_in(terminal), line) == 200
    assert terminal.ended() == 0
    assert "LINE refuses LINE_CHANNEL_ACCESS_TOKEN" in terminal.text
    assert "has a blank or a sign that cannot be part of it" in terminal.text
    assert "is not that of channel 1234567890" in terminal.text
    # The terminal shows again what is no secret.
    assert "PUBLIC_URL: http://kaiwa.example\n" in terminal.text
    assert "is no public address  write https://host" in terminal.text


def test_a_webhook_that_is_not_in_use_is_waited_for(
    opened: Open, tmp_path: Path, line: LineFake
) -> None:
    """A new channel's switch: it is on the page that was printed, and Enter tries again."""
    line.uses_webhook = False
    terminal = opened("line", LINE_CHANNEL_ACCESS_TOKEN=line_events.TOKEN)
    answer(terminal, SECRET, line_events.SECRET)
    answer(terminal, "PUBLIC_URL", PUBLIC)
    terminal.see("switch on “Use webhook” in LINE's console")
    assert "give the address below, switch them on, and press Enter" in terminal.text
    assert "PUBLIC_URL" not in env_of(tmp_path)
    line.uses_webhook = True
    answer(terminal, "PUBLIC_URL", "")
    terminal.see("waiting")
    assert f"PUBLIC_URL={PUBLIC}\n" in env_of(tmp_path)


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_an_interrupted_set_up_leaves_the_file_as_it_was(
    opened: Open, tmp_path: Path, key: str
) -> None:
    """At a prompt, with half a value typed and another one taken."""
    (tmp_path / ".env").write_text(BEFORE, "utf-8")
    terminal = opened("line")
    answer(terminal, TOKEN, line_events.TOKEN)
    terminal.see(f"{SECRET}[^\n]*: ")
    terminal.type(line_events.SECRET[:7] if key == CTRL_C else "")
    assert terminal.leave(key) == 130
    assert terminal.text.endswith(STOPPED)
    assert (tmp_path / ".env").read_text("utf-8") == BEFORE


def test_a_set_up_that_waits_can_be_left(opened: Open, tmp_path: Path, line: LineFake) -> None:
    """Kaiwa ends with it, by a signal or a key, and the values stay: the next set-up offers
    them."""
    terminal = opened("line")
    answer(terminal, TOKEN, line_events.TOKEN)
    answer(terminal, SECRET, line_events.SECRET)
    answer(terminal, "PUBLIC_URL", PUBLIC)
    terminal.see("waiting")
    assert terminal.leave(CTRL_C) == 130
    values = {line.partition("=")[0] for line in env_of(tmp_path).splitlines()}
    assert values == {TOKEN, SECRET, "PUBLIC_URL"}
    again = opened("line")
    for name in (TOKEN, SECRET, "PUBLIC_URL"):
        answer(again, name, "")
    again.see("waiting")
    assert "No channel yet?" not in again.text
    assert again.kill(signal.SIGTERM) == 143


def test_slack_is_set_up_by_a_socket(opened: Open, tmp_path: Path, slack: SlackFake) -> None:
    """The manifest comes first; values of another kind, and a token that Slack does not take, are
    said at once."""
    terminal = opened("slack", BOT_NAME="Hoshi")
    answer(terminal, "SLACK_BOT_TOKEN", APP_TOKEN, "xoxb-half", BOT_TOKEN)
    answer(terminal, "SLACK_APP_TOKEN or SLACK_SIGNING_SECRET", "x", "xapp-half", APP_TOKEN)
    terminal.see("waiting")
    message = slack_events.message("hello", "1.000001", channel=slack_events.DIRECT)
    slack.add_message(slack_events.DIRECT, "1.000001", "hello")
    asyncio.run(until(lambda: slack.connected > 0))
    slack.send(message)
    assert terminal.ended() == 0
    for words in (
        "is the value of SLACK_APP_TOKEN",
        "SLACK_BOT_TOKEN was refused (invalid_auth)",
        "has another form",
        "SLACK_APP_TOKEN was refused (invalid_auth)",
        'name: "Hoshi"',
        "socket_mode_enabled: true",
        "hello  has come, and is answered",
    ):
        assert words in terminal.text
    assert env_of(tmp_path) == f"SLACK_BOT_TOKEN={BOT_TOKEN}\nSLACK_APP_TOKEN={APP_TOKEN}\n"


def test_slack_is_set_up_by_http(opened: Open, tmp_path: Path, slack: SlackFake) -> None:
    """The manifest has the address, which is asked for again where nobody answers; a request with
    another secret is said to be so."""
    terminal = opened("slack", SLACK_BOT_TOKEN=BOT_TOKEN)
    answer(terminal, "SLACK_APP_TOKEN or SLACK_SIGNING_SECRET", SIGNING_SECRET)
    answer(terminal, "PUBLIC_URL", PUBLIC)
    terminal.see("Enter takes it")
    assert "PUBLIC_URL" not in env_of(tmp_path)
    answer(terminal, "PUBLIC_URL", "")
    terminal.see("waiting")
    address = address_in(terminal)
    slack.add_message(slack_events.DIRECT, "1.000001", "hello")
    message = slack_events.message("hello", "1.000001", channel=slack_events.DIRECT)
    body = slack_events.as_json(message)
    assert post(address, "/webhooks/slack", body, slack_events.signed(body)) == 401
    terminal.see("is SLACK_SIGNING_SECRET the right one")
    headers = slack_events.signed(body, SIGNING_SECRET)
    assert post(address, "/webhooks/slack", body, headers) == 200
    assert terminal.ended() == 0
    assert terminal.text.count(f"url: {PUBLIC}/webhooks/slack") == 3
    assert "SLACK_BOT_TOKEN is set in the environment." in terminal.text
    assert env_of(tmp_path).splitlines() == [
        f"SLACK_BOT_TOKEN={BOT_TOKEN}",
        f"SLACK_SIGNING_SECRET={SIGNING_SECRET}",
        f"PUBLIC_URL={PUBLIC}",
    ]


def test_gemini_is_set_up(opened: Open, tmp_path: Path, gemini: GeminiFake) -> None:
    """Asked which platform; a wrong key is said, and the page's first message is answered."""
    gemini.say("Hello!")
    terminal = opened()
    for typed in ("mail", "Gemini"):
        terminal.see(r"line, slack or gemini\? ")
        terminal.type(f"{typed}\r")
    answer(terminal, "GEMINI_API_KEY", "wrong-key", KEY)
    terminal.see("waiting")
    assert "gemini:gemini-flash-latest cannot be used" in terminal.text
    page = f"{address_in(terminal)}/console/page_0123456789abcdef/messages"
    assert httpx.post(page, json={"text": "hello"}).status_code == 202
    assert terminal.ended() == 0
    assert env_of(tmp_path) == f"GEMINI_API_KEY={KEY}\n"


def piped(
    folder: Path, variables: dict[str, str], *arguments: str, typed: str
) -> subprocess.CompletedProcess[str]:
    """A set-up without a terminal."""
    command = [sys.executable, "-c", ENTRY, "setup", *arguments]
    return subprocess.run(
        command, cwd=folder, env=variables, input=typed, capture_output=True, text=True, timeout=150
    )


def test_values_come_from_a_pipe(tmp_path: Path, variables: dict[str, str], line: LineFake) -> None:
    """By name or in turn; what is wrong or missing ends the set-up: nobody is there to mend it."""
    right = f"# from a safe\n{SECRET}={line_events.SECRET}\n{line_events.TOKEN}\n"
    ended = piped(tmp_path, variables, "line", typed=right)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.splitlines()[-1].startswith("✗ PUBLIC_URL: is missing (")
    assert env_of(tmp_path) == f"{TOKEN}={line_events.TOKEN}\n{SECRET}={line_events.SECRET}\n"
    wrong = piped(tmp_path, variables, "line", typed=f"{TOKEN}=wrong\n{SECRET}=wrong\n")
    assert wrong.returncode == 1
    assert "✗ LINE token: LINE refuses LINE_CHANNEL_ACCESS_TOKEN" in wrong.stdout
    assert env_of(tmp_path) == f"{TOKEN}={line_events.TOKEN}\n{SECRET}={line_events.SECRET}\n"
    assert left_behind(tmp_path) == []


def test_what_cannot_begin_is_one_line(tmp_path: Path, variables: dict[str, str]) -> None:
    """A word that is none, which may be a secret, is not repeated; nor is a platform guessed."""
    for arguments in (("xoxb-secret",), ()):
        ended = piped(tmp_path, variables, *arguments, typed="")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith("kaiwa: setup: write line, slack or gemini")
        assert "xoxb" not in ended.stderr
    refused = piped(tmp_path, variables | {TOKEN: "wrong"}, "line", typed="")
    assert refused.returncode == 1
    assert f"correct {TOKEN} there, or unset it" in refused.stdout
    (tmp_path / ".env").mkdir()
    given = variables | {"GEMINI_API_KEY": KEY}
    ended = piped(tmp_path, given, "gemini", typed="")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("kaiwa: .env: cannot be written (")
