"""``kaiwa setup`` in one process: what it asks of platforms, and what becomes of a first
message."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from threading import Thread, Timer

import httpx
import pytest

from bot.cli.setup.running import RunningKaiwa
from tests.bot.command_line import Call
from tests.fakes import line_events
from tests.fakes.line import LineFake, line_fake
from tests.fakes.slack import BOT_TOKEN, SlackFake
from tests.project import ROOT
from tests.waiting import until

pytestmark = [pytest.mark.usefixtures("restored_logging"), pytest.mark.process]

TOKEN, SECRET = "LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET"
VALUES = f"{SECRET}={line_events.SECRET}\n{TOKEN}={line_events.TOKEN}\nhttps://127.0.0.1:1\n"


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineFake]:
    """LINE, at a stand-in."""
    with line_fake() as fake:
        monkeypatch.setenv("LINE_API_BASE_URL", fake.base_url)
        monkeypatch.setenv("LINE_DATA_API_BASE_URL", fake.base_url)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        yield fake


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_a_set_up_from_a_pipe_ends_with_an_answered_hello(call: Call, line: LineFake) -> None:
    """Its values first, then what LINE sends to the Kaiwa that it has started."""
    port = free_port()

    def write() -> None:
        asyncio.run(until(lambda: bool(line.calls("test"))))
        body, headers = line_events.webhook(line.text("hello"))
        httpx.post(f"http://127.0.0.1:{port}/webhooks/line", content=body, headers=headers)

    person = Thread(target=write)
    person.start()
    code, out, err = call("setup", "line", typed=VALUES, PORT=str(port))
    person.join()
    assert (code, err) == (0, "")
    assert [sent.call for sent in line.sent] == ["reply"]
    assert line_events.SECRET not in out
    assert line_events.TOKEN not in out
    assert "✓ hello: has come, and is answered\n" in out


def test_a_secret_that_cannot_be_tested_is_taken_with_a_warning(call: Call, line: LineFake) -> None:
    """LINE may not say whose a token is; then the first webhook tells."""
    line.fail("verify", 404, times=2)
    code, out, _ = call("setup", "line", typed=VALUES.partition("https")[0], PORT="0")
    assert code == 1
    assert "! LINE secret: not tested (404: failure); the first webhook shows" in out
    line.fail("issue", 500)
    _, out, _ = call("setup", "line", typed="", PORT="0")
    assert "! LINE secret: not tested (500: failure)" in out


def test_a_line_that_is_away_is_said(call: Call, line: LineFake) -> None:
    """The value may be right."""
    line.fail("info", 503)
    code, out, _ = call("setup", "line", typed=VALUES)
    assert code == 1
    assert "✗ LINE token: LINE does not say: 503: failure (is LINE reachable from here?)" in out


def test_a_kaiwa_that_does_not_start_says_why(call: Call, slack: SlackFake, line: LineFake) -> None:
    """As where another one has the port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        typed = f"{BOT_TOKEN}\nxapp-test-token\n"
        code, out, _ = call(
            "setup", "slack", typed=typed, PORT=str(port), SLACK_API_BASE_URL=slack.api_base_url
        )
    assert code == 1
    assert out.splitlines()[-1].startswith(
        f"✗ Kaiwa: does not start: PORT: cannot listen on 127.0.0.1:{port}"
    )


def test_a_platform_that_forgets_its_disk_keeps_no_file(call: Call) -> None:
    """Its variables are set elsewhere."""
    code, _, err = call("setup", "line", DYNO="web.1")
    assert code == 2
    assert err.startswith("kaiwa: DYNO: this platform forgets .env")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"event": "turn.apologised", "cause": "no key"}], "✗ hello: is not answered: no key"),
        (
            [{"event": "delivery.postponed", "channel": "line", "cause": "400"}] * 2,
            "! hello: delivery.postponed: 400\n✗ Kaiwa: has ended",
        ),
        ([{"event": "turn.answered", "messages": 0}, {"event": "delivery.sent"}], "✗ Kaiwa"),
        ([{"event": "turn.answered", "messages": 1, "conversation": "slack:D1"}], "✗ Kaiwa"),
    ],
)
def test_what_becomes_of_a_hello_is_told(
    events: list[dict[str, object]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What others write, and a greeting without a message, is no hello."""
    lines = [json.dumps({"conversation": "line:U1"} | event) for event in events]
    with printing(*lines) as process:
        assert not RunningKaiwa(process).wait_for_hello("line")
    assert capsys.readouterr().out.startswith(said)


def test_a_hello_is_not_waited_for_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody may have left."""
    with printing("no event", wait="input()") as process:
        assert not RunningKaiwa(process).wait_for_hello("line", patience_s=0)
        process.kill()
    assert "nothing came in 0 s" in capsys.readouterr().out


class Left(Exception):
    """What a signal's handler raises."""


def test_a_signal_ends_the_wait_whichever_thread_gets_it() -> None:
    """It does so before anything else ends it."""
    is_late = threading.Event()

    def leave(_number: int, _frame: object) -> None:
        raise Left

    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    def end() -> None:
        is_late.set()
        process.kill()

    before = signal.signal(signal.SIGUSR1, leave)
    try:
        with printing(wait="input()") as process:
            last = Timer(15, end)
            last.start()
            Timer(1, interrupt).start()
            with pytest.raises(Left):
                RunningKaiwa(process).wait_for_hello("line")
            last.cancel()
            process.kill()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not is_late.is_set()


def printing(*lines: str, wait: str = "") -> subprocess.Popen[str]:
    """A process that prints these lines."""
    code = f"print({chr(10).join(lines)!r}, flush=True); {wait or 'pass'}"
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
