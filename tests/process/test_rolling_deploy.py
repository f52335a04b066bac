"""The previous version and this one on one store, as in a rolling deploy: each finishes what the other began."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.chaos.judge import Verdict
from tests.chaos.model import answer_to
from tests.chaos.server import StoreServer, store_server
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fixtures_store import endless_keys
from tests.process.kaiwa_process import WORKING, KaiwaProcess
from tests.process.people import People
from tests.process.versions import Versions
from tests.revisions import PREVIOUS, is_known, unpack
from tests.waiting import until, until_true

CROWD = 8  # every other one writes in LINE, the others mention the bot in Slack
LINE_ALONE, SLACK_ALONE = 100, 101  # people whose answers the platforms take without a word


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


@pytest.fixture
def versions(previous: Path, tmp_path: Path, variables: dict[str, str], server: StoreServer) -> Versions:
    return Versions(previous, tmp_path, variables | {"REDIS_URL": server.url})


@pytest.fixture
def people(line: LineFake, slack: SlackFake) -> People:
    return People(line, slack)


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
    # Those of Docket, which the old version uses, are deleted when no worker of it has lived for a minute.
    assert [key for key in await endless_keys(server.redis) if key.startswith("kaiwa:{")] == []


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
