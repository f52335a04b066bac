"""Answers are shown while they are written, where Slack lets it; nobody waits for that. A process
may die at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace as changed
from redis.asyncio import Redis

from bot.channels import Delivery, Reply
from bot.channels.slack import streaming
from bot.channels.slack.config import Timing
from bot.channels.slack.streaming import Stream
from bot.channels.slack.types import Address, write_address
from bot.errors import LeaseLost
from bot.live_events import (
    AnswerRestarted,
    AnswerText,
    LiveEvent,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from bot.store import Store
from bot.transcript import encode
from tests.bot.channels.slack.rig import QUICK, THREAD, TS, Rig, begun_turn, delivery, open_rig
from tests.bot.harness import ours
from tests.bot.store.turns import key, leased
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER
from tests.waiting import until

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
LONG = "It is sunny in Tokyo, and it will stay so. " * 3
NOTE = "slack:stream:turn"
TOOL = ToolStarted("1", "get_weather", {})
FINISHED = ToolFinished("1", "get_weather", {}, is_error=False, ms=1)
WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
ANSWER = "**21 °C** and sunny."
PLACES = {
    CHANNEL: Address(CHANNEL, TS, TS, user=USER, team=TEAM),
    DIRECT: Address(DIRECT, TS, TS, user=USER, team=TEAM),
}
# of a process to the store about one stream: two before it, two after it, two of its delivery
REQUESTS = 6


async def turn(
    rig: Rig, *events: LiveEvent, seen: Callable[[], bool] | None = None, **where: Any
) -> None:
    """A turn with these events, which ends once something is seen, or could have been."""
    async with begun_turn(rig, *events, **where):
        await (until(seen) if seen else shown_elsewhere(rig))
    await rig.slack.tasks.join()


async def shown_elsewhere(rig: Rig) -> None:
    """Wait for the words of a stream in another workspace: whatever was to be begun before has
    been."""
    before = len(rig.fake.shown)
    rig.fake.add_message("C0002", TS, "A question")
    elsewhere = {"turn": f"elsewhere_{before}", "channel": "C0002", "team": "T2"}
    async with begun_turn(rig, AnswerText(LONG), **elsewhere):
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


async def test_an_answer_that_bots_read_is_no_stream(fake: SlackFake, rig: Rig) -> None:
    """They would take what it begins with for all of it."""
    await turn(rig, AnswerText(LONG), whole=True)
    assert begun(fake) == []


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
        begun_turn(rig, AnswerText(LONG)) as watcher,
    ):
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
    fake: SlackFake, rig: Rig, other: Rig
) -> None:
    """The same turn, taken again after a crash, begins no second message."""
    await turn(rig, AnswerText(LONG), seen=lambda: fake.shown == [LONG])
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


class Stopping(LocalKeyValue):
    """The store of a process that stops at one of its requests about streams, and may go on later.

    Attributes:
        is_stopped: at that request.
        goes_on: afterwards.
        requests: about streams so far.
    """

    def __init__(self, at: int, *, obeyed: bool) -> None:
        super().__init__()
        self.is_stopped = False
        self.goes_on = asyncio.Event()
        self.requests = 0
        self._at = at
        self._obeyed = obeyed

    async def get(self, name: str) -> bytes | None:
        value = await super().get(name)
        await self._pass(name)
        return value if self._obeyed else await super().get(name)

    async def set(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        if self._obeyed:
            await super().set(name, value, ttl_s)
        await self._pass(name)
        if not self._obeyed:
            await super().set(name, value, ttl_s)

    async def _pass(self, name: str) -> None:
        if not name.startswith("slack:stream:"):
            return
        self.requests += 1
        if self.requests == self._at:
            self.is_stopped = True
            await self.goes_on.wait()


class Turn:
    """A turn with a slow call and a long answer, and its delivery."""

    def __init__(self, rig: Rig, where: Address) -> None:
        self.rig = rig
        self.where = write_address(where)
        self.is_lost = False

    @property
    def delivery(self) -> Delivery:
        return Delivery("turn_1", "turn", Reply(ANSWER), self.where, attempts=1)

    async def run(self, fake: SlackFake) -> None:
        """From its first event to its delivery."""
        async with self.rig.slack.live_view("slack:x", self.where) as watcher:
            await watcher.show(TurnStarted("turn", ("m1",)))
            await watcher.show(ToolStarted("c1", "get_weather", {}))
            await watcher.show(ToolFinished("c1", "get_weather", {}, is_error=False, ms=1))
            await watcher.show(AnswerText(WORDS))
            await until(lambda: any(WORDS in shown for shown in fake.shown))
            await watcher.show(AnswerText(" More."))
            await until(lambda: any("More." in shown for shown in fake.shown))
        await self.rig.slack.deliver("slack:x", self.delivery, self.assert_lease)

    async def assert_lease(self) -> None:
        """Raise once another process has the conversation."""
        if self.is_lost:
            raise LeaseLost("x")


@pytest.mark.parametrize("channel", PLACES)
async def test_a_stream_makes_so_many_requests(fake: SlackFake, channel: str) -> None:
    """The other test goes through all of them."""
    fake.add_message(DIRECT, TS, "A question")
    kv = Stopping(0, obeyed=True)
    async with open_rig(fake, kv=kv) as rig:
        await Turn(rig, PLACES[channel]).run(fake)
    assert (kv.requests, [shown.rpartition("]\n")[2] for shown in fake.shown]) == (
        REQUESTS,
        [ANSWER],
    )


@pytest.mark.parametrize("channel", PLACES)
@pytest.mark.parametrize("obeyed", [False, True])
@pytest.mark.parametrize("at", range(1, REQUESTS + 1))
async def test_wherever_a_process_stops_one_whole_answer_is_left(
    fake: SlackFake, channel: str, obeyed: bool, at: int
) -> None:
    """Also after it goes on, without the lease: it changes nothing.

    A stream that it begins too late stays without a word.
    """
    fake.add_message(DIRECT, TS, "A question")
    kv = Stopping(at, obeyed=obeyed)
    async with open_rig(fake, kv=kv) as rig, open_rig(fake, timing=replace(QUICK)) as other:
        other.kv.stored = kv.stored
        turn = Turn(rig, PLACES[channel])
        running = asyncio.create_task(turn.run(fake))
        await until(lambda: kv.is_stopped)
        for attempts in (1, 2):
            await other.slack.deliver("slack:x", changed(turn.delivery, attempts=attempts), ours)
        turn.is_lost = True
        kv.goes_on.set()
        running.cancel()
        await asyncio.wait([running])
        await rig.slack.tasks.join()
    answers = [shown.rpartition("]\n")[2] for shown in fake.shown]
    assert answers == [ANSWER] or (at <= 2 and answers == [ANSWER, ""])


async def test_whoever_slept_after_looking_in_vain_posts_nothing(
    store: Store, redis: Redis, fake: SlackFake, rig: Rig
) -> None:
    """The other process posts between the look and the second post."""
    lost = await leased(store, THREAD)

    async def slept() -> None:
        if await redis.delete(key("lease", THREAD)):
            held = await leased(store, THREAD)
            await rig.slack.deliver(THREAD, delivery(attempts=3), partial(store.leases.renew, held))
        await store.leases.renew(lost)

    with pytest.raises(LeaseLost):
        await rig.slack.deliver(THREAD, delivery(attempts=2), slept)
    assert [posted["markdown_text"] for posted in fake.posted] == ["Hello"]
