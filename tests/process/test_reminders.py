"""Reminders of real processes: set in LINE and Slack, said at their time, and after a kill."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, called, said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, left_behind
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until

TS = "1795298220.000100"
WISH = "Remind me to drink water"


def obliging(seconds: int) -> Any:
    """A model that sets whatever reminder it is asked for, that many seconds ahead."""

    def answer(asked: dict[str, Any]) -> Answer:
        if "functionResponse" in asked["contents"][-1]["parts"][0]:
            return said("Set.")
        return called("set_reminder", **{"text": "drink water", "in": f"PT{seconds}S"})

    return answer


async def test_reminders_of_one_moment_come_once_each_whoever_dies(
    here: Installation,
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    redis_url: str,
) -> None:
    """LINE gets a push, Slack an answer in the thread: kill -9 to one process, then to the other,
    while they say the reminders of twenty people."""
    due = time.time() + 10
    gemini.always = lambda asked: obliging(max(1, round(due - time.time())))(asked)
    users = [f"U{number:032x}" for number in range(20)]
    here.variables |= {"REDIS_URL": redis_url}
    async with (
        here.run() as running,
        here.worker() as other,
    ):
        assert await post_slack(running, slack, WISH, TS) == 200
        assert [await post_line(running, line, WISH, user) for user in users] == [200] * len(users)
        await until(lambda: len(line.texts) >= len(users))
        await until(lambda: len(line.calls("push")) > 0, 30)
        for killed in (other, running):
            killed.process.kill()
            await asyncio.sleep(0.1)  # the other one goes on meanwhile
    async with here.run() as running:
        await until(lambda: len(line.texts) >= 2 * len(users) and len(slack.posted) == 2, 60)
        await running.idle(20)
        assert await running.stop() == 0
    assert sorted(sent.to for sent in line.sent if sent.texts == ["⏰ drink water"]) == users
    assert len(line.texts) == 2 * len(users)
    assert slack.answers == ["Set.", "⏰ drink water"]
    assert [message["thread_ts"] for message in slack.posted] == [TS, TS]
    assert left_behind(here.folder) == []
