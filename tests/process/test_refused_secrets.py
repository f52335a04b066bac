"""A platform that refuses our secrets ends the start with one line; one that is away does not."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.fakes.line import LineFake
from tests.fakes.line_events import USER
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, kaiwa, left_behind
from tests.process.test_processes import all_ready, members
from tests.process.webhooks import post_line
from tests.waiting import until, until_true

SECRET = "not-the-right-one"
COMMANDS = {
    "run": ("run",),
    "processes": ("run", "--processes=2"),
    "worker": ("worker",),
}
AUTH = "auth.test"


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_refused_token_is_one_line_that_names_the_variable(
    here: Installation, redis_url: str, command: str
) -> None:
    """With exit code 1, and nothing goes on trying, whichever process meets it."""
    here.variables |= {"LINE_CHANNEL_ACCESS_TOKEN": SECRET, "REDIS_URL": redis_url}
    await is_refused(here, command, "LINE_CHANNEL_ACCESS_TOKEN: LINE refuses it")


@pytest.mark.parametrize(
    ("variable", "value", "error"),
    [
        ("SLACK_BOT_TOKEN", f"xoxb-{SECRET}", "invalid_auth"),
        ("SLACK_BOT_TOKEN", "", "account_inactive"),
        ("SLACK_APP_TOKEN", f"xapp-{SECRET}", "invalid_auth"),
    ],
)
async def test_so_is_a_refused_token_of_slack(
    here: Installation, slack: SlackFake, variable: str, value: str, error: str
) -> None:
    """The bot's or the app's, with the bundled store, which ends too."""
    if value:
        here.variables[variable] = value
    else:
        slack.fail(AUTH, error, times=9)
    await is_refused(here, "run", f"{variable}: Slack refuses it ({error})")
    assert slack.connected == 0


async def is_refused(here: Installation, command: str, complaint: str) -> None:
    """The command ends by itself."""
    async with kaiwa(here.folder, *COMMANDS[command], ready="^kaiwa: ", **here.variables) as ended:
        assert await ended.process.wait() == 1
    [line] = [line for line in ended.lines if line.startswith("kaiwa: ")]
    assert line.startswith(f"kaiwa: {complaint}")
    assert re.search(r", then run \S*kaiwa doctor$", line)
    assert "Traceback" not in ended.output
    assert SECRET not in ended.output
    assert left_behind(here.folder) == []


@pytest.mark.parametrize("options", [(), ("--processes=2",)], ids=["one", "two"])
async def test_a_platform_that_is_away_is_shown_and_told_until_it_is_back(
    here: Installation, slack: SlackFake, line: LineFake, options: tuple[str, ...]
) -> None:
    """LINE goes on meanwhile, and brings the operator one alert, however many processes raise
    it."""
    here.variables["ALERT_TO"] = f"line:{USER}"
    slack.slow_s = 0.05
    slack.break_down(AUTH, times=1_000)
    async with here.run(*options) as running, running.browser() as http:

        async def is_away() -> bool:
            state = await http.get("/readyz")
            causes = state.json().get("away", {})
            return state.status_code == 200 and causes == {"slack": f"{AUTH}: status 503"}

        await until_true(is_away)
        state = (await http.get("/readyz")).json()
        assert state == {
            "ready": True,
            "reason": None,
            "refuses": None,
            "away": {"slack": f"{AUTH}: status 503"},
        }
        await until(lambda: len(slack.called(AUTH)) > 2 + len(options))
        assert await post_line(running, line, "what is 6*7?") == 200
        await until(lambda: len(line.sent) > 1)
        slack.recover()
        processes = 1 + len(options)
        await until(lambda: len(running.log("platform.back")) == processes)
        assert "away" not in (await http.get("/readyz")).json()
        assert len(running.log("platform.away")) == processes
        assert len(running.log("platform.back")) == processes
    told = [text for texts in line.texts for text in texts if "has not answered" in text]
    assert len(told) == 1
    assert told[0].startswith("slack has not answered since my start: auth.test: status 503.")
    assert "kaiwa doctor" in told[0]


async def test_a_secret_that_is_refused_while_kaiwa_runs_ends_no_process(
    here: Installation, slack: SlackFake
) -> None:
    """A process that replaces a killed one starts all the same, and says what is refused."""
    async with here.run("--processes=2") as running:
        await all_ready(running, 2)
        slack.tokens.clear()
        os.kill(members(running)[0], signal.SIGKILL)
        await until(lambda: bool(running.log("alert.raised")))
        await all_ready(running, 2)
        [alert] = running.log("alert.raised")
        assert alert["cause"] == "token_refused"
        assert "SLACK_BOT_TOKEN: Slack refuses it (invalid_auth)" in alert["notice"]
        assert await running.stop() == 0
    assert left_behind(here.folder) == []
