"""A storm over whole processes: people write, processes die, the store restarts, platforms fail;
then the evidence."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx

from tests.chaos.evidence import Evidence
from tests.chaos.fleet import Fleet
from tests.chaos.model import parrot
from tests.chaos.plan import Plan
from tests.chaos.platforms import LinePerson, Router, SlackPerson
from tests.chaos.server import StoreServer, store_server
from tests.chaos.takeover import TakeOvers
from tests.chaos.talk import Asked, Chronicle
from tests.chaos.troubles import CALLS, line_troubles, slack_troubles
from tests.fakes.gemini import GeminiFake, gemini_fake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_streams import OPEN
from tests.fixtures_fakes import everything_on
from tests.fixtures_store import endless_keys
from tests.waiting import until, until_true

Person = LinePerson | SlackPerson

NEEDS_TOOL = 0.3  # share of messages
AT_ONCE = 0.3  # share of messages that follow the one before without a pause
RESTART_AT = 0.6  # of the storm's time


async def storm(plan: Plan, folder: Path) -> Evidence:
    """Let one pass.

    Args:
        folder: for the processes; nothing worth keeping.
    """
    async with AsyncExitStack() as stack:
        line = stack.enter_context(line_fake())
        slack = stack.enter_context(slack_fake())
        line.slow_s = slack.slow_s = plan.slow_s
        gemini = stack.enter_context(gemini_fake())
        gemini.always = parrot(plan.dice("model"))
        server = await stack.enter_async_context(store_server())
        http = await stack.enter_async_context(
            httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0))
        )
        evidence = Evidence(plan, Chronicle(), line, slack)
        fleet = Fleet(
            folder, plan.processes, settings(line, slack, gemini, server), evidence.chronicle
        )
        async with fleet.sailing():
            await Weather(evidence, fleet, server, http).pass_over()
        evidence.processes = fleet.all
        evidence.left |= {
            "streams still open": [
                one["ts"] for one in slack.own if one.get("streaming_state") == OPEN
            ],
            "keys without TTL": await endless_keys(server.redis),
            "processes that ended by themselves": fleet.fallen,
            "exit codes other than 0": [str(code) for code in fleet.exits if code],
        }
    return evidence


def settings(
    line: LineFake, slack: SlackFake, gemini: GeminiFake, server: StoreServer
) -> Mapping[str, str]:
    """Everything on, everything on this machine; late answers are pushed, however many one person
    gets."""
    return {
        "REDIS_URL": server.url,
        "LINE_DAILY_USER_PUSHES": "0",
        **everything_on(line, slack, gemini),
    }


class Weather:
    """All that happens while a storm lasts."""

    def __init__(
        self, evidence: Evidence, fleet: Fleet, server: StoreServer, http: httpx.AsyncClient
    ) -> None:
        self._plan = evidence.plan
        self._evidence = evidence
        self._chronicle = evidence.chronicle
        self._fleet = fleet
        self._server = server
        self._take_overs = TakeOvers(server.redis, evidence.waits)
        self._router = Router(http, self._doors, self._plan.dice("router"))
        self._line = line_troubles(evidence.line)
        self._slack = slack_troubles(evidence.slack)
        self._counts = evidence.counts
        self._counts |= {"kills": 0, "troubles": 0}

    async def pass_over(self) -> None:
        """From the first message until nothing is left to be done, or patience is over."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._plan.conversations):
                group.create_task(self._write(self._person(number)))
            group.create_task(self._kill())
            group.create_task(self._at(RESTART_AT, self._restart_store))
        self._chronicle.note("storm", "is over")
        with suppress(TimeoutError):
            await until_true(self._is_quiet, self._plan.patience_s)
        self._evidence.left["unfinished keys"] = await self._server.unfinished()

    def _doors(self) -> list[str]:
        return [running.base_url for running in self._fleet.serving.values()]

    def _person(self, number: int) -> Person:
        dice = self._plan.dice(f"person {number}")
        evidence = self._evidence
        if number % 2:
            return SlackPerson(self._router, evidence.slack, self._chronicle, dice, number)
        return LinePerson(self._router, evidence.line, self._chronicle, dice, number)

    async def _write(self, person: Person) -> None:
        """One person's messages, each when the one before has arrived."""
        dice, plan = person.dice, self._plan
        talk = person.talk()
        self._evidence.talks.append(talk)
        clock = asyncio.get_running_loop().time
        begun = clock()
        for number, at in enumerate(
            sorted(dice.uniform(0, plan.seconds) for _ in range(plan.messages))
        ):
            if dice.random() >= AT_ONCE:
                await asyncio.sleep(begun + at - clock())
            asked = Asked(f"q{person.number}n{number}", needs_tool=dice.random() < NEEDS_TOOL)
            talk.asked.append(asked)
            if dice.random() < plan.trouble:
                self._make_trouble(person, dice)
            await person.say(asked, talk.conversation)

    def _make_trouble(self, person: Person, dice: random.Random) -> None:
        kind = dice.choice(self._plan.kinds)
        if isinstance(person, LinePerson):
            call = dice.choice(("reply", "reply", "reply", "push", "loading"))
            self._line[kind](call)
        else:
            call = dice.choice(CALLS)
            self._slack[kind](call)
        self._counts["troubles"] += 1
        self._chronicle.note("trouble", f"the next {call} meets {kind}")

    async def _kill(self) -> None:
        """Kill one after another; what follows a kill is watched beside."""
        dice, plan = self._plan.dice("kill"), self._plan
        async with asyncio.TaskGroup() as watchers:
            for _ in range(int(plan.seconds / plan.kill_every_s)):
                await asyncio.sleep(plan.kill_every_s)
                await until(
                    lambda: len(self._fleet.serving) > 1, seconds=60
                )  # somebody is always left
                await self._fleet.kill(dice.choice(sorted(self._fleet.serving)))
                self._counts["kills"] += 1
                watchers.create_task(self._take_overs.watch())

    async def _at(self, share: float, happens: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(self._plan.seconds * share)
        await happens()

    async def _restart_store(self) -> None:
        self._chronicle.note("storm", "the store is killed")
        await self._server.stop()
        await self._server.start()
        self._chronicle.note("storm", "the store is back")

    async def _is_quiet(self) -> bool:
        """Whether every acknowledged message is answered and the store has nothing more to do."""
        wanted = {
            asked.marker
            for talk in self._evidence.talks
            for asked in talk.asked
            if asked.acknowledged
        }
        return wanted <= self._evidence.answered() and not await self._server.unfinished()
