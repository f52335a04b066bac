"""SIGTERM and Ctrl-C: nothing new is taken in, what runs is finished or left for others, and no
process stays."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import Installation, KaiwaProcess, left_behind
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until, until_true

AS_JSON = {"Content-Type": "application/json"}
SUM_AND_WEATHER = (("calculate", {"expression": "6 * 7"}), ("get_weather", {"location": "Tokyo"}))


@pytest.fixture
def variables(variables: dict[str, str], wttr: WttrFake) -> dict[str, str]:
    """Everything on, and a tool that waits for as long as a test wants."""
    return variables | {"WTTR_BASE_URL": wttr.base_url, "WEATHER_TIMEOUT_S": "25"}


async def in_a_tool_call(
    running: KaiwaProcess, line: LineFake, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """Bring a turn to where one of its two tool calls is on record, and the other one runs."""
    wttr.fail("stalled")
    wttr.place("Tokyo")
    gemini.calls(*SUM_AND_WEATHER)
    assert await post_line(running, line, "How much is 6 * 7, and how is the weather?") == 200
    await until(lambda: bool(wttr.requests and running.log("tool.called")))


def hello_or_weather(asked: dict[str, Any]) -> Answer:
    """The model's answer, whichever of two turns asks for it first."""
    text = "Hello!" if "hello?" in str(asked["contents"]) else "42, and sunny"
    return said(text)


async def stopping(running: KaiwaProcess, number: signal.Signals) -> None:
    """Give the order to stop, and wait until it is known."""
    running.process.send_signal(number)

    async def known() -> bool:
        return await running.get("/readyz") == 503

    await until_true(known)


async def test_a_stopping_process_takes_nothing_in_and_finishes_what_it_has(
    here: Installation,
    gemini: GeminiFake,
    wttr: WttrFake,
    line: LineFake,
    slack: SlackFake,
) -> None:
    """503 at every door while a turn runs; the turn ends as if nothing were, then the process does,
    with code 0."""
    async with here.run("--processes", "2") as running:
        await in_a_tool_call(running, line, gemini, wttr)
        gemini.say("42, and sunny")
        await stopping(running, signal.SIGTERM)
        assert await post_line(running, line, "And Osaka?") == 503
        assert await post_slack(running, slack, "hello?", "1795298220.000100") == 503
        assert await running.post("/console/talk-0001/messages", b'{"text": "hi"}', AS_JSON) == 503
        assert await running.get("/healthz") == 200
        wttr.recover()
        assert await running.process.wait() == 0
    assert [texts[0] for texts in line.texts] == ["42, and sunny"]
    assert slack.posted == []
    assert left_behind(here.folder) == []


async def test_a_second_sigterm_ends_the_process_at_once_and_loses_nothing(
    here: Installation,
    gemini: GeminiFake,
    wttr: WttrFake,
    line: LineFake,
    slack: SlackFake,
) -> None:
    """The next start goes on where the turns were: what was finished is not done again, and each is
    answered once."""
    async with here.run() as running:
        await in_a_tool_call(running, line, gemini, wttr)
        gemini.stall()
        assert await post_slack(running, slack, "hello?", "1795298220.000100") == 200
        await until(lambda: len(gemini.requests) == 2)
        await stopping(running, signal.SIGTERM)
        assert await running.stop(signal.SIGTERM, seconds=20) == 0
    assert left_behind(here.folder) == []
    assert (line.texts, slack.posted) == ([], [])
    wttr.recover()
    gemini.always = hello_or_weather
    async with here.run() as running:
        await until(lambda: bool(line.texts and slack.posted))
        assert [call["tool"] for call in running.log("tool.called")] == ["get_weather"]
        assert await running.stop() == 0
    assert [texts[0] for texts in line.texts] == ["42, and sunny"]
    assert slack.answers == ["Hello!"]
    assert len(gemini.requests) == 4


async def test_ctrl_c_twice_leaves_the_turn_to_another_worker(
    here: Installation,
    gemini: GeminiFake,
    wttr: WttrFake,
    line: LineFake,
    redis_url: str,
) -> None:
    """It goes on there, and what was finished is not done again."""
    here.variables |= {"REDIS_URL": redis_url}
    async with here.run() as running:
        await in_a_tool_call(running, line, gemini, wttr)
        async with here.worker() as worker:
            await stopping(running, signal.SIGINT)
            assert await running.stop(signal.SIGINT, seconds=20) == 0
            wttr.recover()
            gemini.say("42, and sunny")
            await until(lambda: bool(line.texts))
            assert [call["tool"] for call in worker.log("tool.called")] == ["get_weather"]
    assert [texts[0] for texts in line.texts] == ["42, and sunny"]
    assert len(gemini.requests) == 2
    assert left_behind(here.folder) == []
