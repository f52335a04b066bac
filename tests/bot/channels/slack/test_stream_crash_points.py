"""A process stops at any request of a streamed answer to the store, for ever or until another one
has delivered."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from bot.channels import Delivery, Reply
from bot.channels.slack.types import Address, write_address
from bot.errors import LeaseLost
from bot.live_events import AnswerText, ToolFinished, ToolStarted, TurnStarted
from tests.bot.channels.slack.rig import QUICK, TS, Rig, open_rig
from tests.bot.harness import ours
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER
from tests.waiting import until

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
