"""While a turn runs, Slack shows what it is at, with a button that stops it; afterwards nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels import STOP, Delivery, InboundEvent, Reply
from bot.channels.slack import presence
from bot.channels.slack.types import Address, write_address
from bot.live_events import AnswerText, ToolFinished, ToolStarted
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import QUICK, THREAD, TS, Rig, arrival, begun_turn, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    envelope,
    mention,
    message,
    session_stopped,
)
from tests.waiting import until

SET = "assistant.threads.setStatus"
SESSION = "agents.sessions.setStatus"
HERE = write_address(Address(CHANNEL, TS, TS, language="en"))
LATER = "1700000090.000100"
NOTE = f"slack:at_work:{THREAD}"
PROMPTS, TITLE = "assistant.threads.setSuggestedPrompts", "assistant.threads.setTitle"
IN_DIRECT = f"slack:T00000001:{DIRECT}"


def shown(fake: SlackFake) -> list[str]:
    return [call["status"] for call in fake.called(SET)]


async def test_a_turn_is_seen_thinking_and_working(fake: SlackFake, rig: Rig) -> None:
    """With the tool's name, and gone at the end."""
    async with begun_turn(rig) as watcher:
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
    async with begun_turn(rig) as watcher:
        await watcher.show(ToolStarted("1", "get_weather", {}, title))
        await until(lambda: shown(fake)[-1:] == [spoken])
    assert len(spoken) <= 50


async def test_a_cancelled_turn_leaves_no_status_behind(fake: SlackFake, rig: Rig) -> None:
    """Nor where the process shuts down: what is shown is taken back before the channel closes."""

    async def turn() -> None:
        async with begun_turn(rig):
            await asyncio.Event().wait()

    running = asyncio.create_task(turn())
    await until(lambda: shown(fake) == ["is thinking…"])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.slack.__aexit__()
    assert shown(fake) == ["is thinking…", ""]


async def test_a_short_turn_shows_nothing(fake: SlackFake, rig: Rig) -> None:
    """It is over before anything was said, and nothing is waited for."""
    async with begun_turn(rig):
        pass
    await rig.slack.tasks.join()
    assert shown(fake) == []


async def test_where_slack_shows_no_status_it_is_asked_once(fake: SlackFake, rig: Rig) -> None:
    """A channel without that feature costs one call, not one for each turn."""
    fake.no_status.add(CHANNEL)
    for _ in range(3):
        async with begun_turn(rig):
            await until(lambda: len(shown(fake)) == 1)
        await rig.slack.tasks.join()
    async with begun_turn(rig, channel=DIRECT):
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
    async with begun_turn(rig) as watcher:
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
    async with begun_turn(rig):
        await until(lambda: len(shown(fake)) == 1)
    ended.set()
    await rig.slack.tasks.join()
    assert shown(fake) == ["is thinking…", ""]


async def test_a_command_has_no_status(fake: SlackFake, rig: Rig) -> None:
    """There is no message under which it could stand; for others it stands under theirs."""
    async with begun_turn(rig, ts="", thread="") as watcher:
        await watcher.show(ToolStarted("1", "calculate", {}))
    async with begun_turn(rig, channel=DIRECT, thread="", language=""):
        await until(lambda: len(shown(fake)) == 1)
    assert fake.called(SET)[0]["thread_ts"] == TS


@pytest.fixture
async def slow(fake: SlackFake) -> AsyncIterator[Rig]:
    """Every turn takes long."""
    async with open_rig(fake, timing=replace(QUICK, stop_after_s=0.0)) as slow:
        yield slow


def statuses(fake: SlackFake) -> list[str]:
    return [call["status"] for call in fake.called(SESSION)]


async def test_a_long_turn_can_be_stopped(fake: SlackFake, slow: Rig) -> None:
    """The button takes the place of the words, and goes with the turn."""
    async with begun_turn(slow) as watcher:
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        assert slow.kv.lives[NOTE] == 3_600
        await watcher.show(ToolStarted("1", "get_weather", {}))
    await slow.slack.tasks.join()
    assert fake.sessions == {(CHANNEL, TS): "active"}
    assert {call["status"] for call in fake.called(SET)} <= {"is thinking…"}
    assert slow.kv.stored[NOTE] == b""


async def test_the_next_turn_of_a_thread_gets_a_button_of_its_own(
    fake: SlackFake, slow: Rig
) -> None:
    """Also if it begins before the button of the turn before is gone."""
    async with begun_turn(slow):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
    async with begun_turn(slow):
        await until(lambda: statuses(fake) == ["processing", "active", "processing"])
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        assert slow.kv.stored[NOTE] == TS.encode()
    await slow.slack.tasks.join()
    assert (fake.sessions, slow.kv.stored[NOTE]) == ({(CHANNEL, TS): "active"}, b"")


async def test_the_button_of_a_process_that_died_is_taken_away(fake: SlackFake) -> None:
    """By whoever goes on with its turn, however short that is."""
    async with open_rig(fake) as slow:
        slow.kv.stored[NOTE] = TS.encode()
        async with begun_turn(slow):
            pass
        await slow.slack.tasks.join()
        assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_the_button_of_a_dead_process_goes_with_the_message_that_is_taken_back(
    fake: SlackFake,
) -> None:
    """Nobody goes on with that turn, and Slack would show the button for an hour."""
    async with open_rig(fake) as slow:
        slow.kv.stored[NOTE], fake.sessions[CHANNEL, TS] = TS.encode(), "processing"
        back = Reply("", replaces="turn", keep="until_refused")
        deletion = Delivery("turn_back", "turn", back, HERE, attempts=1, deletes=())
        await slow.slack.deliver(THREAD, deletion, ours)
        await slow.slack.tasks.join()
        assert fake.sessions == {(CHANNEL, TS): "active"}
        assert slow.kv.stored[NOTE] == b""


@pytest.mark.long
@pytest.mark.parametrize(("channel", "text"), [(CHANNEL, "/stop"), (DIRECT, "And tomorrow?")])
async def test_the_button_of_a_process_that_died_after_its_answer_goes_with_the_next_message(
    store: Store, fake: SlackFake, channel: str, text: str
) -> None:
    """It was answered, but Slack had not yet taken the button away; nobody goes on with that
    turn."""
    fake.add_message(DIRECT, TS, "A question")
    ask = message if channel == DIRECT else mention
    place = {"channel": channel} if channel == DIRECT else {"channel": channel, "thread_ts": TS}
    conversation = f"slack:{TEAM}:{DIRECT}" if channel == DIRECT else THREAD
    step = Step("Sunny.", gate=asyncio.Event())
    async with SlackPipeline(store, fake, [step], timing=replace(QUICK, stop_after_s=0.0)) as dead:
        await dead.post(ask("A question", TS, channel=channel))
        processing = asyncio.create_task(dead.runner.process(conversation))
        await until(lambda: fake.sessions == {(channel, TS): "processing"})
        fake.stall(SESSION)
        assert step.gate
        step.gate.set()
        await processing
        await until(lambda: statuses(fake) == ["processing", "active"])
    assert fake.sessions == {(channel, TS): "processing"}
    fake.add_message(channel, LATER, text, thread_ts=place.get("thread_ts"))
    async with SlackPipeline(store, fake, [Step("Rain.")]) as here:
        await here.send(ask(text, LATER, **place))
    assert fake.sessions == {(channel, TS): "active"}


async def test_an_app_that_is_no_agent_has_words_instead(fake: SlackFake, slow: Rig) -> None:
    """Asked once in a channel, not for each turn."""
    fake.is_agent = False
    for _ in range(3):
        async with begun_turn(slow) as watcher:
            await until(lambda: "processing" in statuses(fake))
            await watcher.show(ToolStarted("1", "get_weather", {}))
            await until(lambda: fake.called(SET)[-1]["status"] == "is using “get_weather”…")
        await slow.slack.tasks.join()
    assert statuses(fake) == ["processing", "active"]


@pytest.mark.parametrize("error", ["internal_error", "thread_not_found"])
async def test_a_passing_refusal_leaves_later_turns_their_button(
    fake: SlackFake, slow: Rig, error: str
) -> None:
    """It says nothing about the channel; nor does a thread whose first message has been deleted."""
    fake.fail(SESSION, error)
    for before in ([], ["processing", "active"]):
        async with begun_turn(slow):
            # awaited in this round
            await until(lambda: statuses(fake) == [*before, "processing"])  # noqa: B023
        await slow.slack.tasks.join()


async def test_a_button_that_is_not_taken_away_at_first_is_later(
    fake: SlackFake, slow: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack would show it for an hour."""
    monkeypatch.setattr(presence, "AWAY_S", 0.01)
    async with begun_turn(slow):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        fake.fail(SESSION, "internal_error")
    await slow.slack.tasks.join()
    assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_an_app_that_would_not_hear_the_press_shows_no_button(
    fake: SlackFake, slow: Rig
) -> None:
    """Slack warns, and the log says how to mend it."""
    fake.is_subscribed = False
    with capture_logs() as logged:
        for _ in range(2):
            async with begun_turn(slow):
                await until(lambda: "processing" in statuses(fake))
            await slow.slack.tasks.join()
    assert [line["event"] for line in logged] == ["slack.stop_button_missing"]
    assert (statuses(fake), fake.sessions) == (["processing", "active"], {(CHANNEL, TS): "active"})


@pytest.mark.long
async def test_a_button_is_taken_away_also_where_slack_is_busy(fake: SlackFake, slow: Rig) -> None:
    """It is asked again after the wait it wants; a beginning that got no answer may have shown the
    button."""
    fake.break_down(SESSION, after=True)
    async with begun_turn(slow):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        fake.limit(SESSION, 1)
    await slow.slack.tasks.join()
    assert statuses(fake) == ["processing", "active", "active"]
    assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_without_the_store_there_is_no_button(fake: SlackFake, slow: Rig) -> None:
    """One that nobody would take away again."""
    slow.kv.away = True
    async with begun_turn(slow):
        await until(lambda: bool(fake.called(SET)))
    await slow.slack.tasks.join()
    assert fake.called(SESSION) == []


@pytest.mark.parametrize(
    ("channel", "conversation", "group"),
    [(CHANNEL, THREAD, True), (DIRECT, f"slack:{TEAM}:{DIRECT}", False)],
)
async def test_a_press_of_the_button_stops_the_turn(
    fake: SlackFake, slow: Rig, channel: str, conversation: str, *, group: bool
) -> None:
    """In its conversation, each press once; the button goes at once, whichever process has the
    turn."""
    fake.add_message(DIRECT, TS, "A question")
    stopped = session_stopped(TS, channel=channel)
    heard = await slow.receive(stopped)
    assert await slow.receive(stopped) == []
    at = stopped["event"]["event_ts"]
    spoken = Message(
        f"{TEAM}:{channel}:{at}:stop", "user", (), int(float(at) * 1000), author=Author(USER)
    )
    stop = InboundEvent(spoken, group=group, event="action", action=STOP)
    assert heard == [(conversation, stop)]
    await slow.slack.tasks.join()
    assert fake.sessions == {(channel, TS): "active"}


async def test_who_may_not_speak_may_not_stop(fake: SlackFake) -> None:
    """As with words."""
    async with open_rig(fake, allowed_users=("U0009",)) as slow:
        assert await slow.receive(session_stopped(TS)) == []


@pytest.mark.parametrize("missing", ["channel", "thread_ts", "user"])
async def test_a_press_that_lacks_its_parts_is_acknowledged(slow: Rig, missing: str) -> None:
    """It says not what to stop."""
    stopped = session_stopped(TS)
    del stopped["event"][missing]
    assert await slow.receive(stopped) == []
    assert await slow.receive(envelope({"type": "agent_session_stopped"})) == []


def opened(tab: str = "messages") -> dict[str, Any]:
    return envelope(
        {"type": "app_home_opened", "user": USER, "channel": DIRECT, "tab": tab, "event_ts": TS}
    )


async def receive(rig: Rig, payload: dict[str, Any]) -> None:
    assert await rig.send(payload) == 200
    await rig.slack.tasks.join()


async def test_an_opened_messages_tab_has_prompts_once_a_day(fake: SlackFake, rig: Rig) -> None:
    """In the language of whoever opens it, and without a thread: with one Slack would drop them
    silently."""
    for _ in range(2):
        await receive(rig, opened())
        await receive(rig, opened("home"))
    [prompts] = fake.called(PROMPTS)
    assert (prompts["channel_id"], prompts["title"]) == (DIRECT, "たとえば")
    assert [prompt["title"] for prompt in prompts["prompts"]] == [
        "明日の天気",
        "海外の時刻",
        "計算",
    ]
    assert "thread_ts" not in prompts
    assert rig.inbox.accepted == []


async def test_trouble_with_decoration_is_no_trouble(fake: SlackFake, rig: Rig) -> None:
    """Slack or the store may be away."""
    fake.break_down(PROMPTS)
    await receive(rig, opened())
    rig.kv.away = True
    await receive(rig, opened())
    assert [call["title"] for call in fake.called(PROMPTS)] == ["たとえば"]


async def test_a_thread_of_a_1_to_1_gets_its_first_words_as_title(
    fake: SlackFake, rig: Rig
) -> None:
    """Once, and not the whole essay."""
    long = "What will the\nweather be like in Tokyo tomorrow, and what should I wear to the office?"
    for words in (long, "And in Kyoto?"):
        await rig.slack.enrich(IN_DIRECT, [arrival(words, channel=DIRECT)], is_new=False)
        await rig.slack.tasks.join()
    assert [call["title"] for call in fake.called(TITLE)] == [
        "What will the weather be like in Tokyo tomorrow, and what s…"
    ]


async def test_a_note_that_cannot_be_written_does_not_stop_a_turn(rig: Rig) -> None:
    """That the bot talks here is then not known until its next turn."""
    rig.kv.away = True
    assert (
        len(await rig.slack.enrich(IN_DIRECT, [arrival("Hi", channel=DIRECT)], is_new=False)) == 1
    )
    await rig.slack.tasks.join()
