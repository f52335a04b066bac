"""While a turn runs, Slack shows what it is at; afterwards nothing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from bot.channels.slack.types import Address, write_address
from bot.live_events import AnswerText, ToolFinished, ToolStarted
from tests.bot.channels.slack.rig import TS, Rig
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT
from tests.waiting import until

SET = "assistant.threads.setStatus"


def address(**fields: Any) -> str:
    return write_address(
        Address(**{"channel": CHANNEL, "ts": TS, "thread": TS, "language": "en"} | fields)
    )


def shown(fake: SlackFake) -> list[str]:
    return [call["status"] for call in fake.called(SET)]


async def test_a_turn_is_seen_thinking_and_working(fake: SlackFake, rig: Rig) -> None:
    """With the tool's name, and gone at the end."""
    async with rig.slack.live_view("slack:x", address()) as watcher:
        await until(lambda: shown(fake) == ["is thinking…"])
        await watcher.show(AnswerText("words"))
        await watcher.show(ToolStarted("1", "get_weather", {}, "Weather"))
        await until(lambda: shown(fake)[1:] == ["is using “Weather”…"])
        await watcher.show(ToolFinished("1", "get_weather", {}, is_error=False, ms=1))
        await until(lambda: shown(fake)[2:] == ["is thinking…"])
    await rig.slack.tasks.join()
    assert shown(fake)[3:] == [""]
    assert {(call["channel_id"], call["thread_ts"]) for call in fake.called(SET)} == {(CHANNEL, TS)}


@pytest.mark.parametrize(
    ("title", "spoken"),
    [
        (
            "Everything that can be known about the weather",
            "is using “Everything that can be known about th…”…",
        ),
        ("two\nlines <!channel>", "is using “two lines @channel”…"),
    ],
)
async def test_a_servers_title_does_not_end_the_status(
    fake: SlackFake, rig: Rig, title: str, spoken: str
) -> None:
    """Slack refuses a longer one."""
    async with rig.slack.live_view("slack:x", address()) as watcher:
        await watcher.show(ToolStarted("1", "get_weather", {}, title))
        await until(lambda: shown(fake)[-1:] == [spoken])
    assert len(spoken) <= 50


async def test_a_cancelled_turn_leaves_no_status_behind(fake: SlackFake, rig: Rig) -> None:
    """Nor where the process shuts down: what is shown is taken back before the channel closes."""

    async def turn() -> None:
        async with rig.slack.live_view("slack:x", address()):
            await asyncio.Event().wait()

    running = asyncio.create_task(turn())
    await until(lambda: shown(fake) == ["is thinking…"])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.slack.__aexit__()
    assert shown(fake) == ["is thinking…", ""]


async def test_a_short_turn_shows_nothing(fake: SlackFake, rig: Rig) -> None:
    """It is over before anything was said, and nothing is waited for."""
    async with rig.slack.live_view("slack:x", address()):
        pass
    await rig.slack.tasks.join()
    assert shown(fake) == []


async def test_where_slack_shows_no_status_it_is_asked_once(fake: SlackFake, rig: Rig) -> None:
    """A channel without that feature costs one call, not one for each turn."""
    fake.no_status.add(CHANNEL)
    for _ in range(3):
        async with rig.slack.live_view("slack:x", address()):
            await until(lambda: len(shown(fake)) == 1)
        await rig.slack.tasks.join()
    async with rig.slack.live_view("slack:x", address(channel=DIRECT)):
        await until(lambda: len(shown(fake)) == 2)


@pytest.mark.parametrize("trouble", ["limit", "outage", "internal_error", "invalid_thread_ts"])
async def test_trouble_with_the_status_is_no_trouble(
    fake: SlackFake, rig: Rig, trouble: str
) -> None:
    """The next change is shown again."""
    if trouble == "limit":
        fake.limit(SET, 1)
    elif trouble == "outage":
        fake.break_down(SET)
    else:
        fake.fail(SET, trouble)
    async with rig.slack.live_view("slack:x", address()) as watcher:
        await until(lambda: len(shown(fake)) == 1)
        await watcher.show(ToolStarted("1", "calculate", {}))
        await until(lambda: shown(fake)[1:] == ["is using “calculate”…"])
    await rig.slack.tasks.join()
    assert shown(fake)[2:] == [""]


async def test_a_turn_that_ends_while_a_status_is_on_its_way_leaves_none(
    fake: SlackFake, rig: Rig
) -> None:
    """Slack would show it for two minutes more."""
    ended = threading.Event()

    def think() -> None:
        assert ended.wait(10)

    fake.meanwhile[SET] = think
    async with rig.slack.live_view("slack:x", address()):
        await until(lambda: len(shown(fake)) == 1)
    ended.set()
    await rig.slack.tasks.join()
    assert shown(fake) == ["is thinking…", ""]


async def test_a_command_has_no_status(fake: SlackFake, rig: Rig) -> None:
    """There is no message under which it could stand; for others it stands under theirs."""
    async with rig.slack.live_view("slack:x", address(ts="", thread="")) as watcher:
        await watcher.show(ToolStarted("1", "calculate", {}))
    async with rig.slack.live_view("slack:x", address(channel=DIRECT, thread="", language="")):
        await until(lambda: len(shown(fake)) == 1)
    assert fake.called(SET)[0]["thread_ts"] == TS
