"""Reminders of real processes: set in LINE and Slack, said at their time, and after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import kaiwa, left_behind
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until

TS = "1795298220.000100"


def obliging(seconds: int) -> Any:
    """A model that sets whatever reminder it is asked for, that many seconds ahead."""

    def answer(asked: dict[str, Any]) -> Answer:
        if "functionResponse" in asked["contents"][-1]["parts"][0]:
            return answer_of([{"text": "Set."}])
        call = {"name": "set_reminder", "args": {"text": "drink water", "in": f"PT{seconds}S"}}
        return answer_of([{"functionCall": call, "thoughtSignature": ""}])

    return answer


async def test_two_processes_say_a_reminder_once_where_it_was_set(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """LINE gets a push, Slack an answer in the thread."""
    gemini.always = obliging(2)
    async with kaiwa(tmp_path, "run", "--processes", "2", **variables) as running:
        assert await post_line(running, line, "Remind me to drink water") == 200
        assert await post_slack(running, slack, "Remind me to drink water", TS) == 200
        await until(lambda: len(line.texts) == 2 and len(slack.posted) == 2)
        await running.idle(10)
        assert await running.stop() == 0
    assert line.texts == [["Set."], ["⏰ drink water"]]
    assert [len(line.calls(call)) for call in ("reply", "push")] == [1, 1]
    assert slack.answers == ["Set.", "⏰ drink water"]
    assert [message["thread_ts"] for message in slack.posted] == [TS, TS]
    assert left_behind(tmp_path) == []


async def test_a_reminder_survives_the_death_of_its_process(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """kill -9 right after it was set; the next process says it."""
    gemini.always = obliging(3)
    async with kaiwa(tmp_path, "run", **variables) as killed:
        assert await post_line(killed, line, "Remind me to drink water") == 200
        await until(lambda: line.texts == [["Set."]])
        assert await killed.stop(signal.SIGKILL) == -9
    async with kaiwa(tmp_path, "run", **variables) as running:
        await until(lambda: len(line.texts) == 2)
        await running.idle(10)
        assert await running.stop() == 0
    assert line.texts == [["Set."], ["⏰ drink water"]]
    assert left_behind(tmp_path) == []


async def test_reminders_of_one_moment_come_once_each_whoever_dies(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """kill -9 to one process, then to the other, while they say the reminders of forty people."""
    due = time.time() + 15
    gemini.always = lambda asked: obliging(max(1, round(due - time.time())))(asked)
    users = [f"U{number:032x}" for number in range(40)]
    async with kaiwa(tmp_path, "run", "--processes", "2", **variables) as running:
        posted = [
            await post_line(running, line, "Remind me to drink water", user) for user in users
        ]
        assert posted == [200] * len(users)
        await until(lambda: len(line.texts) == len(users), 15)
        members = [child for child in children(running.process.pid) if b"member" in command(child)]
        await until(lambda: len(line.calls("push")) > 0, 30)
        for member in members:
            os.kill(member, signal.SIGKILL)
            await asyncio.sleep(0.1)  # the other one goes on meanwhile
        await until(lambda: len(line.texts) >= 2 * len(users), 60)
        await running.idle(20)
        assert await running.stop() == 0
    assert sorted(sent.to for sent in line.sent if sent.texts == ["⏰ drink water"]) == users
    assert len(line.texts) == 2 * len(users)
    assert left_behind(tmp_path) == []


def children(process: int) -> list[int]:
    return [
        int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def command(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()
