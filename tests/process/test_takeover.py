"""A process is paused or killed in the middle of its work: another one goes on, and nobody is
answered twice."""

from __future__ import annotations

import signal
from threading import Event
from typing import Any

import pytest

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import Installation, KaiwaProcess, left_behind
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until

TALK = "conversation-1"
TS = "1795298220.000100"
LOST = "lease.lost"
HALF = (
    "It is 21 °C in Tokyo, the sun is out, and if nothing unforeseen comes from the sea it will "
    "stay"
)
HANAKO, TARO = "U" + "1" * 32, "U" + "2" * 32


@pytest.fixture
def variables(variables: dict[str, str], wttr: WttrFake) -> dict[str, str]:
    """Everything on, and a tool that waits for as long as a test wants."""
    return variables | {"WTTR_BASE_URL": wttr.base_url, "WEATHER_TIMEOUT_S": "25"}


async def in_a_tool_call(running: KaiwaProcess, gemini: GeminiFake, wttr: WttrFake) -> None:
    """Bring a turn to where one of its two tool calls is on record, and the other one runs."""
    wttr.fail("stalled")
    gemini.calls(("calculate", {"expression": "6 * 7"}), ("get_weather", {"location": "Tokyo"}))
    await running.say(TALK, "How much is 6 * 7, and how is the weather?")
    await until(lambda: bool(wttr.requests and running.log("tool.called")))


def continued(asked: dict[str, Any]) -> Answer:
    """What the model says to whoever goes on; all else is queued."""
    return said(f"after {len(asked['contents'])} messages")


async def test_what_a_killed_process_had_begun_is_finished_once(
    here: Installation,
    gemini: GeminiFake,
    wttr: WttrFake,
    line: LineFake,
    slack: SlackFake,
) -> None:
    """kill -9 in half an answer in Slack, in a tool call, and before and after LINE has heard of a
    reply: ten seconds later each is answered, Slack in the message that was begun, and no model or
    tool call that was finished has been repeated."""
    async with here.run() as killed:
        gemini.say("Hello Hanako")
        line.trouble("reply", "stalled")
        assert await post_line(killed, line, "Hello", HANAKO) == 200
        await until(lambda: line.texts == [["Hello Hanako"]])
        gemini.say("Hello Taro")
        line.trouble("reply", "unheard")
        assert await post_line(killed, line, "Hello", TARO) == 200
        await until(lambda: len(line.calls("reply")) == 2)
        await in_a_tool_call(killed, gemini, wttr)
        slack.add_user()
        gemini.say(HALF, end="stalled")
        assert await post_slack(killed, slack, "hello?", TS) == 200
        await until(lambda: slack.shown == [HALF])
        await killed.kill()
    wttr.recover()
    gemini.always = continued
    async with here.run() as running:
        await running.idle(seconds=30)
        assert [call["tool"] for call in running.log("tool.called")] == ["get_weather"]
        assert await running.answers(TALK, 1) == ["after 3 messages"]
    assert line.texts == [["Hello Hanako"], ["Hello Taro"]]
    assert slack.shown == ["after 1 messages"]
    assert len(slack.called("chat.startStream")) == 1
    assert slack.called("chat.postMessage") + slack.called("chat.delete") == []
    assert len(gemini.requests) == 6
    assert left_behind(here.folder) == []


async def test_a_paused_process_neither_commits_nor_sends_what_others_have_taken_over(
    here: Installation, gemini: GeminiFake, wttr: WttrFake, line: LineFake
) -> None:
    """SIGSTOP in a model call, in a tool call and in a reply to LINE; when the process goes on, all
    it waited for is there, and its leases are gone."""
    held = Event()
    async with here.run() as paused:
        gemini.say("Hello Taro")
        line.trouble("reply", "unheard")
        assert await post_line(paused, line, "Hello", TARO) == 200
        await until(lambda: bool(line.calls("reply")))
        await in_a_tool_call(paused, gemini, wttr)
        gemini.say("Too late", gate=held)
        assert await post_line(paused, line, "Hello", HANAKO) == 200
        await until(lambda: len(gemini.requests) == 3)
        paused.process.send_signal(signal.SIGSTOP)
        held.set()
        wttr.recover()
        gemini.always = continued
        async with here.worker() as worker:
            await until(lambda: len(line.texts) == 2 and len(worker.log("turn.answered")) == 2)
            paused.process.send_signal(signal.SIGCONT)
            await until(lambda: len(paused.log(LOST)) == 3)
        await paused.say(TALK, "Are you still there?")
        assert await paused.answers(TALK, 2) == ["after 3 messages", "after 5 messages"]
        await paused.idle(seconds=30)
        assert sorted(line.texts) == [["Hello Taro"], ["after 1 messages"]]
        _, newest = paused.log("turn.answered")  # one was committed before the pause
        assert newest["conversation"] == f"console:{TALK}"
