"""Answers are shown while they are written, where Slack lets it; nobody waits for that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.channels.slack import streaming
from bot.channels.slack.streaming import Stream
from bot.channels.slack.tasks import Timing
from bot.channels.slack.types import Address, write_address
from bot.live_events import (
    AnswerRestarted,
    AnswerText,
    LiveEvent,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Watcher,
)
from bot.transcript import encode
from tests.bot.channels.slack.rig import TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER
from tests.waiting import until

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
LONG = "It is sunny in Tokyo, and it will stay so. " * 3
NOTE = "slack:stream:turn"
BEGUN = TurnStarted("turn", ("m1",))
TOOL = ToolStarted("1", "get_weather", {})
FINISHED = ToolFinished("1", "get_weather", {}, is_error=False, ms=1)


def address(**fields: Any) -> str:
    usual = {
        "channel": CHANNEL,
        "ts": TS,
        "thread": TS,
        "language": "en",
        "user": USER,
        "team": TEAM,
    }
    return write_address(Address(**usual | fields))


async def turn(
    rig: Rig, *events: LiveEvent, seen: Callable[[], bool] | None = None, **where: Any
) -> None:
    """A turn with these events, which ends once something is seen, or could have been."""
    async with rig.slack.live_view("slack:x", address(**where)) as watcher:
        for event in (BEGUN, *events):
            await watcher.show(event)
        await (until(seen) if seen else shown_elsewhere(rig))
    await rig.slack.tasks.join()


@asynccontextmanager
async def begun_turn(rig: Rig, *events: LiveEvent) -> AsyncIterator[Watcher]:
    """A turn that has begun, and shown these events."""
    async with rig.slack.live_view("slack:x", address()) as watcher:
        for event in (BEGUN, *events):
            await watcher.show(event)
        yield watcher


async def shown_elsewhere(rig: Rig) -> None:
    """Wait for the words of a stream in another workspace: whatever was to be begun before has
    been."""
    before = len(rig.fake.shown)
    rig.fake.add_message("C0002", TS, "A question")
    async with rig.slack.live_view("slack:y", address(channel="C0002", team="T2")) as watcher:
        await watcher.show(TurnStarted(f"elsewhere_{before}", ("m1",)))
        await watcher.show(AnswerText(LONG))
        await until(lambda: len(rig.fake.shown) > before and all(rig.fake.shown))


def begun(fake: SlackFake) -> list[str]:
    """The channels in which streams were to be begun, but for that elsewhere."""
    return [call["channel"] for call in fake.called(START) if call["recipient_team_id"] == TEAM]


async def test_a_long_answer_is_shown_while_it_is_written(fake: SlackFake, rig: Rig) -> None:
    """In the thread, for who has asked; its timestamp is noted before the first word goes out."""
    async with begun_turn(rig, AnswerText(LONG)) as watcher:
        await until(lambda: fake.shown == [LONG])
        await watcher.show(AnswerText("And warm."))
        await until(lambda: fake.shown == [f"{LONG}And warm."])
    await rig.slack.tasks.join()
    assert fake.called(START) == [
        {"channel": CHANNEL, "thread_ts": TS, "recipient_user_id": USER, "recipient_team_id": TEAM}
    ]
    ts = fake.messages[CHANNEL][-1]["ts"]
    assert rig.kv.stored[NOTE] == encode(Stream(TS, ts))
    assert rig.kv.lives[NOTE] == 7 * 86_400
    assert fake.called(STOP) == []


async def test_a_stream_whose_note_cannot_be_written_shows_no_word(
    fake: SlackFake, rig: Rig
) -> None:
    """Words nobody can find again would be said twice."""

    def lose_the_store() -> None:
        rig.kv.away = True

    fake.meanwhile[START] = lose_the_store
    await turn(rig, AnswerText(LONG), seen=lambda: rig.kv.away)
    assert (fake.shown, fake.called(APPEND)) == ([""], [])


async def test_a_store_that_is_away_costs_the_show(fake: SlackFake, rig: Rig) -> None:
    """And nothing else."""
    rig.kv.away = True
    fake.no_status.add(CHANNEL)
    async with begun_turn(rig, AnswerText(LONG)):
        await rig.slack.tasks.join()
    assert fake.called(START) == []


@pytest.mark.parametrize(
    "words",
    [["Sunny."], ["It is ", "sunny."], [LONG, AnswerRestarted(), "Sunny."], [LONG, TOOL, FINISHED]],
)
async def test_a_short_answer_is_posted_whole(
    fake: SlackFake, rig: Rig, words: list[str | LiveEvent]
) -> None:
    """A stream would only make it later; what is no answer does not count."""
    await turn(rig, *(AnswerText(piece) if isinstance(piece, str) else piece for piece in words))
    await rig.slack.deliver("slack:x", delivery("It is sunny."), ours)
    assert (begun(fake), len(fake.posted)) == ([], 1)


async def test_an_answer_that_is_written_at_once_is_posted_whole(fake: SlackFake) -> None:
    """It has ended before the moment has passed that is waited for its end."""
    async with open_rig(fake, timing=Timing(settle_s=0.0, status_after_s=0.0, pace_s=60.0)) as rig:
        await turn(
            rig, AnswerText(LONG), seen=lambda: len(fake.called("assistant.threads.setStatus")) == 1
        )
        assert begun(fake) == []


async def test_an_answer_that_shrinks_while_it_is_waited_for_is_posted_whole(
    fake: SlackFake,
) -> None:
    """The words were taken back before the first of them was shown."""
    async with (
        open_rig(fake, timing=Timing(settle_s=0.0, status_after_s=0.0, pace_s=0.2)) as rig,
        rig.slack.live_view("slack:x", address()) as watcher,
    ):
        await watcher.show(BEGUN)
        await watcher.show(AnswerText(LONG))
        await until(lambda: len(fake.called("assistant.threads.setStatus")) == 1)
        await watcher.show(AnswerRestarted())
        await shown_elsewhere(rig)
    assert begun(fake) == []


@pytest.mark.parametrize(
    "where",
    [
        {"thread": "", "channel": DIRECT},
        {"user": ""},
        {"team": ""},
        {"thread": "", "channel": USER, "ts": ""},
        {"response_url": "https://hooks.slack.com/commands/1"},
    ],
)
async def test_what_cannot_be_a_stream_is_none(
    fake: SlackFake, rig: Rig, where: dict[str, Any]
) -> None:
    """It stands in no thread, is for nobody, or is for its reader's eyes only."""
    await turn(rig, AnswerText(LONG), **where)
    assert begun(fake) == []


async def test_words_before_a_tool_are_shown_only_where_they_are_many(
    fake: SlackFake, rig: Rig
) -> None:
    """They are no answer yet; what is written after the tool begins a paragraph."""
    done = ToolFinished("1", "get_weather", {}, is_error=False, ms=1)
    async with begun_turn(rig, AnswerText("Let me see."), TOOL, done, AnswerText(LONG)) as watcher:
        await until(lambda: fake.shown == [LONG])
        for event in (AnswerText("One more look."), TOOL, TOOL, AnswerText("Warm.")):
            await watcher.show(event)
        await until(lambda: fake.shown == [f"{LONG}One more look.\n\nWarm."])
    await rig.slack.tasks.join()


async def test_a_voided_answer_begins_anew(fake: SlackFake, rig: Rig) -> None:
    """What has not been shown yet is left out, what has is a paragraph of its own until the end."""
    async with begun_turn(
        rig, AnswerText("Rain and "), AnswerRestarted(), AnswerText(LONG)
    ) as watcher:
        await until(lambda: fake.shown == [LONG])
        await watcher.show(AnswerRestarted())
        await watcher.show(AnswerText("Snow."))
        await until(lambda: fake.shown == [f"{LONG}\n\nSnow."])
    await rig.slack.tasks.join()


async def test_no_more_is_shown_than_a_message_holds(fake: SlackFake, rig: Rig) -> None:
    """The rest comes with the delivery."""
    async with begun_turn(rig, AnswerText("x" * 11_000)) as watcher:
        await until(lambda: fake.shown == ["x" * 11_000])
        await watcher.show(AnswerText("😀" * 1_000))
        await until(lambda: fake.shown == ["x" * 11_000 + "😀" * 500])
        await watcher.show(AnswerText("more"))
    await rig.slack.tasks.join()
    assert len(fake.shown[0]) == 11_500


async def test_a_model_cannot_call_everybody_piece_by_piece(fake: SlackFake, rig: Rig) -> None:
    """What may become a call is held back until it is clear what it is."""
    async with begun_turn(rig, AnswerText(f"{LONG}<!chan")) as watcher:
        await until(lambda: fake.shown == [LONG])
        await watcher.show(AnswerText("nel> look"))
        await until(lambda: fake.shown == [f"{LONG}@channel look"])
    await rig.slack.tasks.join()


async def test_a_stream_that_another_process_began_is_left_to_the_delivery(
    fake: SlackFake, rig: Rig
) -> None:
    """The same turn, taken again after a crash, begins no second message."""
    await turn(rig, AnswerText(LONG), seen=lambda: fake.shown == [LONG])
    async with open_rig(fake) as other:
        other.kv.stored = rig.kv.stored
        await turn(other, AnswerText(LONG), AnswerText("More."))
    assert (begun(fake), fake.shown) == ([CHANNEL], [LONG, LONG])


@pytest.mark.parametrize("error", ["outage", "ratelimited", "unknown_method", "missing_scope"])
async def test_where_the_workspace_has_no_streams_it_is_asked_once(
    fake: SlackFake, rig: Rig, error: str
) -> None:
    """Answers are posted whole, and nobody notices."""
    if error == "outage":
        fake.break_down(START)
    else:
        fake.fail(START, error)
    await turn(rig, AnswerText(LONG), seen=lambda: len(begun(fake)) == 1)
    rig.kv.stored.clear()
    await turn(rig, AnswerText(LONG), channel=DIRECT)
    await rig.slack.deliver("slack:x", delivery(LONG), ours)
    assert (begun(fake), len(fake.posted)) == ([CHANNEL], 1)


async def test_where_one_channel_has_no_streams_others_do(fake: SlackFake, rig: Rig) -> None:
    """That channel is asked once."""
    fake.no_streams.add(CHANNEL)
    fake.add_message(DIRECT, TS, "A question")
    for _ in range(2):
        await turn(rig, AnswerText(LONG))
    await turn(rig, AnswerText(LONG), seen=lambda: len(begun(fake)) == 2, channel=DIRECT)
    assert begun(fake) == [CHANNEL, DIRECT]


@pytest.mark.parametrize("error", ["internal_error", "thread_not_found"])
async def test_a_passing_refusal_is_soon_over(
    fake: SlackFake, rig: Rig, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    """It says nothing about the channel; nor does a thread whose first message has been deleted."""
    monkeypatch.setattr(streaming, "AWAY_S", 0.0)
    fake.fail(START, error)
    await turn(rig, AnswerText(LONG), seen=lambda: len(begun(fake)) == 1)
    await turn(rig, AnswerText(LONG), seen=lambda: fake.shown == [LONG])


async def test_too_many_streams_at_once_are_not_begun(fake: SlackFake) -> None:
    """Each needs an end as well, and Slack takes few of both in a minute."""
    fake.add_message(DIRECT, TS, "A question")
    async with open_rig(
        fake, timing=Timing(settle_s=0.0, status_after_s=0.0, pace_s=0.01, start_s=60.0)
    ) as rig:
        await turn(rig, AnswerText(LONG), seen=lambda: fake.shown == [LONG])
        rig.kv.stored.clear()
        await turn(rig, AnswerText(LONG), channel=DIRECT)
    assert begun(fake) == [CHANNEL]


@pytest.mark.parametrize(
    "trouble", [SlackFake.break_down, SlackFake.hang_up, lambda fake, _: fake.expire()]
)
async def test_a_stream_that_takes_no_more_is_left_alone(
    fake: SlackFake, rig: Rig, trouble: Callable[[SlackFake, str], None]
) -> None:
    """What it lacks comes with the delivery."""
    async with begun_turn(rig, AnswerText(LONG)) as watcher:
        await until(lambda: fake.shown == [LONG])
        trouble(fake, APPEND)
        await watcher.show(AnswerText("More."))
        await until(lambda: len(fake.called(APPEND)) == 2)
        await watcher.show(AnswerText("And more."))
    await rig.slack.tasks.join()
    assert (fake.shown, len(fake.called(APPEND))) == ([LONG], 2)
