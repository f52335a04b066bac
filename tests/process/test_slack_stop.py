"""``/stop`` in Slack after the process that was answering was killed: Slack's stop button goes
too."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, as_json, mention
from tests.process.kaiwa_process import WORKING, KaiwaProcess, kaiwa
from tests.process.webhooks import post_slack, post_slack_direct, post_to_slack
from tests.waiting import until

TS, LATER = "1795298220.000100", "1795298260.000100"


async def stop_in_thread(running: KaiwaProcess, slack: SlackFake) -> int:
    """Somebody mentions the bot again in the thread."""
    slack.add_message(CHANNEL, LATER, "/stop", thread_ts=TS)
    return await post_to_slack(running, as_json(mention("/stop", LATER, thread_ts=TS)))


async def stop_directly(running: KaiwaProcess, slack: SlackFake) -> int:
    """Somebody writes it in their 1:1."""
    return await post_slack_direct(running, slack, "/stop", LATER)


@pytest.mark.parametrize(
    ("ask", "stop", "channel"),
    [(post_slack, stop_in_thread, CHANNEL), (post_slack_direct, stop_directly, DIRECT)],
)
async def test_slack_shows_no_turn_of_a_dead_process(
    tmp_path: Path,
    variables: dict[str, str],
    gemini: GeminiFake,
    slack: SlackFake,
    ask: Callable[[KaiwaProcess, SlackFake, str, str], Awaitable[int]],
    stop: Callable[[KaiwaProcess, SlackFake], Awaitable[int]],
    channel: str,
) -> None:
    """Whoever reads the command removes the button."""
    slack.add_user()
    gemini.stall()
    async with kaiwa(tmp_path, "run", "--no-worker", **variables) as door:
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables) as first:
            assert await ask(door, slack, "how warm is Tokyo?", TS) == 200
            await until(lambda: slack.sessions == {(channel, TS): "processing"}, 10)
            assert await first.stop(signal.SIGKILL) == -signal.SIGKILL
        assert await stop(door, slack) == 200
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables):
            await until(lambda: slack.shown == ["止めました。"], 20)
            await until(lambda: slack.sessions == {(channel, TS): "active"}, 10)
