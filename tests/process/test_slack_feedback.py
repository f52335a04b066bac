"""Feedback on an answer in Slack across processes: pressed in any, kept once, counted by the
command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL
from tests.process.kaiwa_process import kaiwa
from tests.process.webhooks import post_slack, press_feedback
from tests.waiting import until

TS = "1795298220.000100"
ANY_LINE = "^"


async def test_feedback_outlives_processes_and_is_counted(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """Two processes on one port, then the next start, then the command; the last press is what
    counts."""
    slack.add_user()
    gemini.say("21 °C")
    async with kaiwa(tmp_path, "run", "--processes", "2", **variables) as running:
        assert await post_slack(running, slack, "how warm is Tokyo?", TS) == 200
        await until(lambda: slack.shown == ["21 °C"], 20)
        for choice in ("positive", "negative", "positive"):
            assert await press_feedback(running, slack, CHANNEL, choice) == 200
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await press_feedback(running, slack, CHANNEL, "negative") == 200
        async with kaiwa(tmp_path, "feedback", "--json", ready=ANY_LINE, **variables) as command:
            assert await command.process.wait() == 0
    (printed,) = (line for line in command.lines if line.startswith("{"))
    report = json.loads(printed)
    assert (report["good"], report["bad"], len(report["ratings"])) == (0, 1, 1)
    assert len(gemini.requests) == 1
