"""Many new people write at once: the door takes all of them in, and each is answered once."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from threading import Event

import httpx

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.waiting import until

PEOPLE = 100
WAVE = 50
CONNECTIONS = 32


class Crowd:
    """So many people; every other one writes in LINE, the others mention the bot in Slack."""

    def __init__(self, line: LineFake, slack: SlackFake) -> None:
        self._line = line
        self._slack = slack
        self.size = 0

    async def write(self, running: KaiwaProcess, people: int) -> Counter[int]:
        """Each of so many new people writes one message; the statuses of the answers."""
        numbers = range(self.size, self.size + people)
        self.size += people
        limits = httpx.Limits(max_connections=CONNECTIONS)
        async with httpx.AsyncClient(base_url=running.base_url, limits=limits, timeout=30) as http:
            writing = (
                self._line_writes(http, n) if n % 2 else self._slack_writes(http, n)
                for n in numbers
            )
            return Counter(await asyncio.gather(*writing))

    @property
    def answered(self) -> Counter[str]:
        """How often each has been answered: LINE's by their ids, Slack's by their threads."""
        threads = (str(message["thread_ts"]) for message in self._slack.posted)
        return Counter([*(sent.to for sent in self._line.sent), *threads])

    async def _line_writes(self, http: httpx.AsyncClient, number: int) -> int:
        user = f"U{number:032x}"
        event = self._line.text("hello", user, user)
        body, headers = line_events.webhook(event)
        return (await http.post("/webhooks/line", content=body, headers=headers)).status_code

    async def _slack_writes(self, http: httpx.AsyncClient, number: int) -> int:
        ts = f"{1_795_000_000 + number}.000100"
        self._slack.add_message(slack_events.CHANNEL, ts, "hello")
        body = slack_events.as_json(slack_events.mention("hello", ts, user=f"U{number:08d}"))
        return (
            await http.post("/webhooks/slack", content=body, headers=slack_events.signed(body))
        ).status_code


def slow(gemini: GeminiFake) -> Event:
    """The model answers nobody before this is set."""
    gate = Event()
    gemini.always = lambda _: replace(said("Hello!"), gate=gate)
    return gate


async def test_a_flood_is_taken_in_and_answered(
    here: Installation, gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """Every webhook gets its 200 while no turn can end; all turns are under way at once, and each
    is answered once."""
    gate, crowd = slow(gemini), Crowd(line, slack)
    async with here.run() as running:
        assert await crowd.write(running, PEOPLE) == Counter({200: PEOPLE})
        await until(lambda: gemini.streaming == PEOPLE, 60)
        gate.set()
        await until(lambda: len(crowd.answered) == PEOPLE, 60)
        await running.idle(seconds=30)
    assert set(crowd.answered.values()) == {1}
    assert len(gemini.requests) == PEOPLE


async def test_two_processes_share_a_flood(
    here: Installation, gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """All webhooks come to one process, wave after wave, until the other one has found some. Each
    is answered once."""
    gemini.always = lambda _: said("Hello!")
    crowd = Crowd(line, slack)
    async with here.run() as door, here.worker() as other:
        async with asyncio.timeout(60):
            while not other.log("turn.answered"):
                assert await crowd.write(door, WAVE) == Counter({200: WAVE})
        await until(lambda: len(crowd.answered) == crowd.size, 60)
        await door.idle(seconds=30)
        shares = [len(running.log("turn.answered")) for running in (door, other)]
    assert set(crowd.answered.values()) == {1}
    assert sum(shares) == crowd.size
    assert min(shares) > 0
