"""What earlier versions have left in the store is finished by this one, as after a deploy: once, in order, whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.store.keys import dead_letter_streams
from tests.chaos.judge import Verdict
from tests.chaos.server import StoreServer, store_server
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fixtures_store import endless_keys
from tests.process.kaiwa_process import kaiwa, left_behind
from tests.process.people import People
from tests.rolling import scene
from tests.rolling.fixture import FOLDER, remind_people, remind_platforms, restore
from tests.rolling.scene import Model, calls_in, settings, task_of
from tests.waiting import until, until_true

REVISIONS = sorted(path.stem for path in FOLDER.glob("*.json"))
BESIDES = (scene.AT_THE_LIMIT, *scene.ASKED)  # people who are shown a sentence or a question beside answers
CALLS = [*(("look", person) for person in scene.IN_A_CALL), *(("shout", person) for person in scene.ASKED)]


@dataclass(slots=True)
class Stage:
    """What is played on: everything as the earlier version left it."""

    line: LineFake
    slack: SlackFake
    gemini: GeminiFake
    people: People
    server: StoreServer
    folder: Path

    def asked_for(self, person: int) -> list[str]:
        """The requests to the model in which a person's messages stand, as text."""
        bodies = (json.dumps(request.body["contents"]) for request in self.gemini.requests)
        return [body for body in bodies if f"q{person}n" in body]

    def wrong(self, person: int) -> Verdict | None:
        """What is wrong with a person's conversation; a message beyond the limit gets no answer but a sentence."""
        talk = self.people.talks[person]
        verdict = self.people.evidence().verdicts()[talk.conversation]
        expected = Verdict(unmarked=verdict.unmarked[:1] if person in BESIDES else [])
        if person == scene.AT_THE_LIMIT:
            expected.lost = [talk.asked[-1].marker]
        return None if verdict == expected else verdict

    async def is_done(self) -> bool:
        """Whether nothing is left to be done; a lease goes by itself, a summary stays."""
        left = [key for key in await self.server.unfinished() if key.split(":")[2] not in ("lease", "summary", "dead")]
        dead = [await self.server.redis.xlen(key) for key in dead_letter_streams()]
        return not left and not any(dead)


@pytest.fixture
async def server() -> AsyncIterator[StoreServer]:
    async with store_server() as server:
        yield server


@pytest.fixture(params=REVISIONS)
async def stage(
    request: pytest.FixtureRequest,
    line: LineFake,
    slack: SlackFake,
    gemini: GeminiFake,
    server: StoreServer,
    tmp_path: Path,
) -> Stage:
    """The world of one of the fixtures."""
    left: dict[str, Any] = json.loads((FOLDER / f"{request.param}.json").read_text("utf-8"))
    people = People(line, slack)
    remind_platforms(left, line, slack)
    remind_people(left, people)
    await restore(server.redis, left["keys"], left["at"])
    Model(gemini).gate.set()
    return Stage(line, slack, gemini, people, server, tmp_path)


async def test_this_version_finishes_what_an_earlier_one_began(stage: Stage) -> None:
    """Turns in every state, questions, a dead letter, histories and counters go on as if nothing had changed."""
    people, folder = stage.people, stage.folder
    variables = settings(stage.line, stage.slack, stage.gemini, stage.server.url, folder)
    for person in scene.IN_A_CALL:
        (folder / task_of(person)).touch()
    async with kaiwa(folder, "outbox", "retry", "--all", **variables) as command:
        assert await command.process.wait() == 0, command.output
    async with kaiwa(folder, "run", **variables) as running:
        for person in scene.ASKED:
            await people.approve(person, running)
        await until(people.is_answered, 60)
        for person in (*scene.ANSWERED, scene.SUMMARISED, scene.AT_THE_LIMIT):
            await people.write(person, running)
        await until(lambda: people.is_answered(*scene.ANSWERED, scene.SUMMARISED))
        await until_true(stage.is_done, 30)
        assert await running.stop() == 0
    assert {person: wrong for person in people.talks if (wrong := stage.wrong(person))} == {}
    assert sorted(calls_in(folder)) == sorted(f"{tool} {task_of(person)}" for tool, person in CALLS)
    assert stage.asked_for(scene.UNDELIVERED[0]) == stage.asked_for(scene.UNCONFIRMED[1]) == []
    assert "other words" in stage.asked_for(scene.EDITED)[-1]
    assert all("q0n0: answered." in body for body in stage.asked_for(scene.ANSWERED[0]))
    assert scene.NOTES in stage.asked_for(scene.SUMMARISED)[-1]
    assert await endless_keys(stage.server.redis) == []
    assert left_behind(folder) == []
