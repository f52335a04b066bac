"""A turn that takes long gets Slack's own stop button, and gives it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.channels import STOP, Delivery, InboundEvent, Reply
from bot.channels.slack import presence
from bot.channels.slack.types import Address, write_address
from bot.live_events import ToolStarted
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import QUICK, THREAD, TS, Rig, open_rig
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

SET, WORDS = "agents.sessions.setStatus", "assistant.threads.setStatus"
HERE = write_address(Address(CHANNEL, TS, TS, language="en"))
LATER = "1700000090.000100"
NOTE = f"slack:at_work:{THREAD}"


@pytest.fixture
async def rig(fake: SlackFake) -> AsyncIterator[Rig]:
    """Every turn takes long."""
    async with open_rig(fake, timing=replace(QUICK, stop_after_s=0.0)) as rig:
        yield rig


def statuses(fake: SlackFake) -> list[str]:
    return [call["status"] for call in fake.called(SET)]


async def test_a_long_turn_can_be_stopped(fake: SlackFake, rig: Rig) -> None:
    """The button takes the place of the words, and goes with the turn."""
    async with rig.slack.live_view(THREAD, HERE) as watcher:
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        assert rig.kv.lives[NOTE] == 3_600
        await watcher.show(ToolStarted("1", "get_weather", {}))
    await rig.slack.tasks.join()
    assert fake.sessions == {(CHANNEL, TS): "active"}
    assert {call["status"] for call in fake.called(WORDS)} <= {"is thinking…"}
    assert rig.kv.stored[NOTE] == b""


async def test_the_next_turn_of_a_thread_gets_a_button_of_its_own(
    fake: SlackFake, rig: Rig
) -> None:
    """Also if it begins before the button of the turn before is gone."""
    async with rig.slack.live_view(THREAD, HERE):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
    async with rig.slack.live_view(THREAD, HERE):
        await until(lambda: statuses(fake) == ["processing", "active", "processing"])
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        assert rig.kv.stored[NOTE] == TS.encode()
    await rig.slack.tasks.join()
    assert (fake.sessions, rig.kv.stored[NOTE]) == ({(CHANNEL, TS): "active"}, b"")


async def test_the_button_of_a_process_that_died_is_taken_away(fake: SlackFake) -> None:
    """By whoever goes on with its turn, however short that is."""
    async with open_rig(fake) as rig:
        rig.kv.stored[NOTE] = TS.encode()
        async with rig.slack.live_view(THREAD, HERE):
            pass
        await rig.slack.tasks.join()
        assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_the_button_of_a_dead_process_goes_with_the_message_that_is_taken_back(
    fake: SlackFake,
) -> None:
    """Nobody goes on with that turn, and Slack would show the button for an hour."""
    async with open_rig(fake) as rig:
        rig.kv.stored[NOTE], fake.sessions[CHANNEL, TS] = TS.encode(), "processing"
        back = Reply("", replaces="turn", keep="until_refused")
        deletion = Delivery("turn_back", "turn", back, HERE, attempts=1, deletes=())
        await rig.slack.deliver(THREAD, deletion, ours)
        await rig.slack.tasks.join()
        assert fake.sessions == {(CHANNEL, TS): "active"}
        assert rig.kv.stored[NOTE] == b""


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
        fake.stall(SET)
        assert step.gate
        step.gate.set()
        await processing
        await until(lambda: statuses(fake) == ["processing", "active"])
    assert fake.sessions == {(channel, TS): "processing"}
    fake.add_message(channel, LATER, text, thread_ts=place.get("thread_ts"))
    async with SlackPipeline(store, fake, [Step("Rain.")]) as here:
        await here.send(ask(text, LATER, **place))
    assert fake.sessions == {(channel, TS): "active"}


async def test_an_app_that_is_no_agent_has_words_instead(fake: SlackFake, rig: Rig) -> None:
    """Asked once in a channel, not for each turn."""
    fake.is_agent = False
    for _ in range(3):
        async with rig.slack.live_view(THREAD, HERE) as watcher:
            await until(lambda: "processing" in statuses(fake))
            await watcher.show(ToolStarted("1", "get_weather", {}))
            await until(lambda: fake.called(WORDS)[-1]["status"] == "is using “get_weather”…")
        await rig.slack.tasks.join()
    assert statuses(fake) == ["processing", "active"]


@pytest.mark.parametrize("error", ["internal_error", "thread_not_found"])
async def test_a_passing_refusal_leaves_later_turns_their_button(
    fake: SlackFake, rig: Rig, error: str
) -> None:
    """It says nothing about the channel; nor does a thread whose first message has been deleted."""
    fake.fail(SET, error)
    for before in ([], ["processing", "active"]):
        async with rig.slack.live_view(THREAD, HERE):
            # awaited in this round
            await until(lambda: statuses(fake) == [*before, "processing"])  # noqa: B023
        await rig.slack.tasks.join()


async def test_a_button_that_is_not_taken_away_at_first_is_later(
    fake: SlackFake, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack would show it for an hour."""
    monkeypatch.setattr(presence, "AWAY_S", 0.01)
    async with rig.slack.live_view(THREAD, HERE):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        fake.fail(SET, "internal_error")
    await rig.slack.tasks.join()
    assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_an_app_that_would_not_hear_the_press_shows_no_button(
    fake: SlackFake, rig: Rig
) -> None:
    """Slack warns, and the log says how to mend it."""
    fake.is_subscribed = False
    with capture_logs() as logged:
        for _ in range(2):
            async with rig.slack.live_view(THREAD, HERE):
                await until(lambda: "processing" in statuses(fake))
            await rig.slack.tasks.join()
    assert [line["event"] for line in logged] == ["slack.stop_button_missing"]
    assert (statuses(fake), fake.sessions) == (["processing", "active"], {(CHANNEL, TS): "active"})


@pytest.mark.long
async def test_a_button_is_taken_away_also_where_slack_is_busy(fake: SlackFake, rig: Rig) -> None:
    """It is asked again after the wait it wants; a beginning that got no answer may have shown the
    button."""
    fake.break_down(SET, after=True)
    async with rig.slack.live_view(THREAD, HERE):
        await until(lambda: fake.sessions == {(CHANNEL, TS): "processing"})
        fake.limit(SET, 1)
    await rig.slack.tasks.join()
    assert statuses(fake) == ["processing", "active", "active"]
    assert fake.sessions == {(CHANNEL, TS): "active"}


async def test_without_the_store_there_is_no_button(fake: SlackFake, rig: Rig) -> None:
    """One that nobody would take away again."""
    rig.kv.away = True
    async with rig.slack.live_view(THREAD, HERE):
        await until(lambda: bool(fake.called(WORDS)))
    await rig.slack.tasks.join()
    assert fake.called(SET) == []


@pytest.mark.parametrize(
    ("channel", "conversation", "group"),
    [(CHANNEL, THREAD, True), (DIRECT, f"slack:{TEAM}:{DIRECT}", False)],
)
async def test_a_press_of_the_button_stops_the_turn(
    fake: SlackFake, rig: Rig, channel: str, conversation: str, *, group: bool
) -> None:
    """In its conversation, each press once; the button goes at once, whichever process has the
    turn."""
    fake.add_message(DIRECT, TS, "A question")
    stopped = session_stopped(TS, channel=channel)
    heard = await rig.receive(stopped)
    assert await rig.receive(stopped) is None
    at = stopped["event"]["event_ts"]
    spoken = Message(
        f"{TEAM}:{channel}:{at}:stop", "user", (), int(float(at) * 1000), author=Author(USER)
    )
    assert heard == (conversation, InboundEvent(spoken, group=group, event="action", action=STOP))
    await rig.slack.tasks.join()
    assert fake.sessions == {(channel, TS): "active"}


async def test_who_may_not_speak_may_not_stop(fake: SlackFake) -> None:
    """As with words."""
    async with open_rig(fake, allowed_users=("U0009",)) as rig:
        assert await rig.receive(session_stopped(TS)) is None


@pytest.mark.parametrize("missing", ["channel", "thread_ts", "user"])
async def test_a_press_that_lacks_its_parts_is_acknowledged(rig: Rig, missing: str) -> None:
    """It says not what to stop."""
    stopped = session_stopped(TS)
    del stopped["event"][missing]
    assert await rig.receive(stopped) is None
    assert await rig.receive(envelope({"type": "agent_session_stopped"})) is None
