"""The previous version and this one on one store, as in a rolling deploy: each finishes what the other began."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.chaos.evidence import Evidence
from tests.chaos.judge import Verdict
from tests.chaos.model import answer_to
from tests.chaos.plan import Plan
from tests.chaos.server import StoreServer, store_server
from tests.chaos.talk import ApprovalRequest, Chronicle, Talk
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fixtures_store import endless_keys
from tests.process.kaiwa_process import ENTRY, WORKING, KaiwaProcess, kaiwa
from tests.revisions import PREVIOUS, is_known, unpack
from tests.waiting import until, until_true

CROWD = 8  # every other one writes in LINE, the others mention the bot in Slack
LINE_ALONE, SLACK_ALONE = 100, 101  # people whose answers the platforms take without a word
CHECKED = f"import bot, os; assert bot.__file__.startswith(os.environ['PYTHONPATH']); {ENTRY}"


@pytest.fixture(scope="session")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The previous version's packages."""
    if not is_known(PREVIOUS):
        pytest.skip("the previous version is not in this clone's history")
    return unpack(PREVIOUS, tmp_path_factory.mktemp("previous"))


@pytest.fixture
async def server() -> AsyncIterator[StoreServer]:
    async with store_server() as server:
        yield server


@dataclass(frozen=True, slots=True)
class Versions:
    """Starts processes of either version in one folder, on one store."""

    previous: Path
    folder: Path
    variables: dict[str, str]

    def old(self, *arguments: str, **options: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """The previous version."""
        packages = {"PYTHONPATH": str(self.previous)}
        return kaiwa(self.folder, *arguments, entry=CHECKED, **self.variables, **packages, **options)

    def new(self, *arguments: str, **options: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """This version."""
        return kaiwa(self.folder, *arguments, entry=CHECKED, **self.variables, **options)


@pytest.fixture
def versions(previous: Path, tmp_path: Path, variables: dict[str, str], server: StoreServer) -> Versions:
    return Versions(previous, tmp_path, variables | {"REDIS_URL": server.url})


class People:
    """What people write, and what they are shown.

    Attributes:
        talks: conversations by the number of their person.
    """

    def __init__(self, line: LineFake, slack: SlackFake) -> None:
        self._line = line
        self._slack = slack
        self._times: Iterator[int] = count(1_795_000_000)
        self._roots: dict[int, str] = {}
        self.talks: dict[int, Talk] = {}

    async def write(self, person: int, *processes: KaiwaProcess, needs_tool: bool = False) -> None:
        """One message, posted to each of the processes in turn, as a platform does that repeats itself."""
        if person not in self.talks:
            self.talks[person] = Talk(self._conversation(person))
        talk = self.talks[person]
        asked = ApprovalRequest(f"q{person}n{len(talk.asked)}", needs_tool)
        talk.asked.append(asked)
        path, body, headers = self._in_slack(person, asked) if person % 2 else self._in_line(person, asked)
        for process in processes:
            assert await process.post(path, body, headers) == 200
        asked.acknowledged = True

    def evidence(self) -> Evidence:
        """What is there to be judged."""
        return Evidence(Plan(seed=0), Chronicle(), self._line, self._slack, list(self.talks.values()))

    def is_answered(self) -> bool:
        """Whether each message has been answered."""
        wanted = {asked.marker for talk in self.talks.values() for asked in talk.asked}
        return wanted <= self.evidence().answered()

    def _conversation(self, person: int) -> str:
        if person % 2:
            self._roots[person] = f"{next(self._times)}.000100"
            return f"slack:{slack_events.TEAM}:{slack_events.CHANNEL}:{self._roots[person]}"
        return f"line:{line_events.BOT}:user:{_user(person)}"

    def _in_line(self, person: int, asked: ApprovalRequest) -> tuple[str, bytes, dict[str, str]]:
        user = _user(person)
        event = self._line.event(place=user, user=user, message=line_events.text_message(asked.words))
        return "/webhooks/line", *line_events.webhook(event)

    def _in_slack(self, person: int, asked: ApprovalRequest) -> tuple[str, bytes, dict[str, str]]:
        root = self._roots[person]
        is_root = asked.marker.endswith("n0")
        ts = root if is_root else f"{next(self._times)}.000100"
        thread = {} if is_root else {"thread_ts": root}
        self._slack.add_message(slack_events.CHANNEL, ts, asked.words, **thread)
        mention = slack_events.mention(asked.words, ts, user=f"U{person:08d}", **thread)
        body = slack_events.as_json(mention)
        return "/webhooks/slack", body, slack_events.signed(body)


@pytest.fixture
def people(line: LineFake, slack: SlackFake) -> People:
    return People(line, slack)


def _user(person: int) -> str:
    return f"U{person:032x}"


def hold_answers(gemini: GeminiFake) -> Event:
    """The model calls tools at once, and answers when this is set."""
    gate = Event()

    def answer(body: dict[str, Any]) -> Answer:
        said = answer_to(body)
        calls = "functionCall" in str(said.events)
        return said if calls else replace(said, gate=gate)

    gemini.always = answer
    return gate


async def everybody_writes(people: People, first: KaiwaProcess, second: KaiwaProcess) -> None:
    """A message each, to one version and again to the other, every other person the other way round."""
    async with asyncio.TaskGroup() as group:
        for person in range(CROWD):
            order = (first, second) if person // 2 % 2 else (second, first)
            group.create_task(people.write(person, *order, needs_tool=person < CROWD // 2))


async def kill_in_the_middle(
    people: People,
    line: LineFake,
    slack: SlackFake,
    gemini: GeminiFake,
    victim: KaiwaProcess,
    survivor: KaiwaProcess,
) -> None:
    """Kill -9 one version with turns in model calls behind tool calls, sent answers nobody has confirmed, and messages
    that wait behind those; the other version ends all of it."""
    called = len(victim.log("tool.called"))
    hold_answers(gemini).set()
    line.trouble("reply", "stalled")
    slack.stall("chat.postMessage", after=True)
    await people.write(LINE_ALONE, victim)
    await people.write(SLACK_ALONE, victim)
    await until(people.is_answered)
    gate = hold_answers(gemini)
    await everybody_writes(people, victim, survivor)
    await until(lambda: gemini.streaming == CROWD)
    await everybody_writes(people, survivor, victim)
    assert len(victim.log("tool.called")) > called
    assert await victim.stop(signal.SIGKILL) == -signal.SIGKILL
    gate.set()
    await until(people.is_answered, 60)
    await survivor.idle(60)


async def test_each_version_finishes_what_the_other_began(
    versions: Versions,
    people: People,
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    server: StoreServer,
) -> None:
    """Every webhook comes to both versions; one is killed, then the other; each message is answered once, in order."""
    async with AsyncExitStack() as stack:
        new = await stack.enter_async_context(versions.new("run"))
        async with versions.old("run") as old:
            await kill_in_the_middle(people, line, slack, gemini, victim=old, survivor=new)
        async with versions.old("run") as old:
            await kill_in_the_middle(people, line, slack, gemini, victim=new, survivor=old)
            new = await stack.enter_async_context(versions.new("run"))
            await everybody_writes(people, old, new)
            assert await old.stop() == 0
        await until(people.is_answered, 60)
        await until_true(lambda: _is_done(server), 20)
        assert await new.stop() == 0
    verdicts = people.evidence().verdicts()
    assert verdicts == {talk.conversation: Verdict() for talk in people.talks.values()}
    assert await endless_keys(server.redis) == []


@pytest.mark.parametrize("old_is_web", [True, False], ids=["old web, new worker", "new web, old worker"])
async def test_web_and_worker_may_be_of_different_versions(
    versions: Versions, people: People, gemini: GeminiFake, server: StoreServer, *, old_is_web: bool
) -> None:
    """What one version accepts, the other answers."""
    hold_answers(gemini).set()
    web, worker = (versions.old, versions.new) if old_is_web else (versions.new, versions.old)
    async with web("run", "--no-worker") as web_process, worker("worker", ready=WORKING):
        for _ in range(2):
            await everybody_writes(people, web_process, web_process)
            await until(people.is_answered)
        await until_true(lambda: _is_done(server), 20)
    assert list(people.evidence().verdicts().values()) == [Verdict()] * CROWD


async def _is_done(server: StoreServer) -> bool:
    return await server.unfinished() == []
