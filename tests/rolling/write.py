"""Writes what an earlier version leaves in the store: ``python -m tests.rolling.write REVISION``.

The version runs as a process of its own on a Valkey of its own, with stand-ins for LINE, Slack and Gemini; it is killed
when every person of ``tests.rolling.scene`` is where they should be.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from tests.chaos.server import StoreServer, store_server
from tests.fakes.gemini import GeminiFake, gemini_fake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.slack import SlackFake, slack_fake
from tests.process.kaiwa_process import KaiwaProcess
from tests.process.people import People
from tests.process.versions import Versions
from tests.revisions import unpack
from tests.rolling import scene
from tests.rolling.fixture import dump, file_of, people_as_json, platforms_as_json
from tests.rolling.scene import Model, calls_in, settings, task_of
from tests.waiting import until, until_true


@dataclass(slots=True)
class Stage:
    """What a scene is played on."""

    line: LineFake
    slack: SlackFake
    gemini: GeminiFake
    model: Model
    people: People
    server: StoreServer
    folder: Path


async def play(stage: Stage, versions: Versions) -> None:
    """Three processes of the earlier version, each killed in the end."""
    stage.model.gate.set()
    async with versions.old("run") as running:
        await finished(stage, running)
        await running.stop(signal.SIGKILL)
    stage.model.hold()
    async with versions.old("run") as running:
        await under_way(stage, running)
        await between_answer_and_confirmation(stage, running)
        await running.stop(signal.SIGKILL)
    async with versions.old("run", "--no-worker") as running:
        for person in scene.BEGUN:
            await stage.people.write(person, running)
        for person in scene.ACCEPTED:
            await stage.people.write(person, running)
            await stage.people.write(person, running)
        await running.stop(signal.SIGKILL)


async def finished(stage: Stage, running: KaiwaProcess) -> None:
    """Turns that have ended, one way or another, and questions."""
    people = stage.people
    for person in scene.ANSWERED:
        await people.write(person, running)
        await until(partial(people.is_answered, person))
    for _ in range(scene.DAILY_MESSAGES - 1):
        await people.write(scene.SUMMARISED, running, wish=scene.LONG)
        await until(lambda: people.is_answered(scene.SUMMARISED))
    await until_true(lambda: _has_key(stage, "summary"))
    for _ in range(scene.DAILY_MESSAGES):
        await people.write(scene.AT_THE_LIMIT, running)
        await until(lambda: people.is_answered(scene.AT_THE_LIMIT))
    stage.slack.fail("chat.postMessage", "restricted_action")
    await people.write(scene.DEAD_LETTER, running)
    await until_true(lambda: _has_key(stage, "dead"))
    for person in scene.ASKED:
        await people.write(person, running, wish=scene.SHOUT)
        await until(partial(_is_shown_anything, people, person))
    await until_true(lambda: _has_no_key(stage, "outbox"))


async def under_way(stage: Stage, running: KaiwaProcess) -> None:
    """Turns in their middle: in requests to the model and in calls of tools."""
    people = stage.people
    for person in (*scene.BEGUN, scene.UNSENT, scene.EDITED):
        await people.write(person, running)
    for person in scene.WITH_RESULTS:
        await people.write(person, running, wish=scene.LOOK)
        (stage.folder / task_of(person)).touch()
    for person in scene.IN_A_CALL:
        await people.write(person, running, wish=scene.BOTH)
    for person in scene.IN_A_UNIQUE_CALL:
        await people.write(person, running, wish=scene.STAMP)
    for person in scene.JOINED:
        await people.write(person, running, wish=scene.LOOK)
        await until(partial(_has_called, stage, person))
        await people.write(person, running)
        (stage.folder / task_of(person)).touch()
    waiting = (*scene.IN_A_CALL, *scene.IN_A_UNIQUE_CALL)
    await until(lambda: all(_has_called(stage, person) for person in waiting))
    held = (*scene.BEGUN, scene.UNSENT, scene.EDITED, *scene.WITH_RESULTS, *scene.JOINED)
    await until(lambda: stage.gemini.streaming == len(held))
    taken_back = await people.write(scene.UNSENT, running)
    await people.unsend(scene.UNSENT, taken_back, running)
    await people.edit(scene.EDITED, "q17n0", "other words", running)


async def between_answer_and_confirmation(stage: Stage, running: KaiwaProcess) -> None:
    """Answers that a platform has not got, and answers of which it has said nothing."""
    people, line, slack = stage.people, stage.line, stage.slack
    held, stage.model.gate = stage.model.gate, _opened()
    line.trouble("reply", "unheard")
    await _write_and_wait(people, scene.UNDELIVERED[0], running, lambda: len(line.calls("reply")))
    slack.stall("chat.postMessage")
    await _write_and_wait(people, scene.UNDELIVERED[1], running, lambda: len(slack.called("chat.postMessage")))
    line.trouble("reply", "stalled")
    await _write_and_wait(people, scene.UNCONFIRMED[0], running, lambda: len(line.sent))
    slack.stall("chat.postMessage", after=True)
    await _write_and_wait(people, scene.UNCONFIRMED[1], running, lambda: len(slack.posted))
    stage.model.gate = held


async def _write_and_wait(people: People, person: int, running: KaiwaProcess, counted: Callable[[], int]) -> None:
    before = counted()
    await people.write(person, running)
    await until(lambda: counted() > before)


def _opened() -> Event:
    gate = Event()
    gate.set()
    return gate


def _is_shown_anything(people: People, person: int) -> bool:
    return bool(people.shown_to(person))


def _has_called(stage: Stage, person: int) -> bool:
    return any(call.endswith(f" {task_of(person)}") for call in calls_in(stage.folder))


async def _has_key(stage: Stage, kind: str) -> bool:
    return bool([name async for name in stage.server.redis.scan_iter(f"kaiwa:*:{kind}*")])


async def _has_no_key(stage: Stage, kind: str) -> bool:
    return not await _has_key(stage, kind)


async def write(revision: str) -> None:
    """Play the scene with a revision and write what is left."""
    with TemporaryDirectory(prefix="kaiwa-rolling-") as name, line_fake() as line, slack_fake() as slack:
        folder = Path(name)
        async with store_server() as server, gemini_fake() as gemini:
            stage = Stage(line, slack, gemini, Model(gemini), People(line, slack), server, folder)
            variables = settings(line, slack, gemini, server.url, folder)
            await play(stage, Versions(unpack(revision, folder / "earlier"), folder, variables))
            left = {
                "revision": revision,
                "at": time.time_ns() // 1_000_000,
                **platforms_as_json(line, slack),
                **people_as_json(stage.people),
                "calls": calls_in(folder),
                "keys": await dump(server.redis),
            }
    file_of(revision).parent.mkdir(exist_ok=True)
    file_of(revision).write_text(json.dumps(left, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    for revision in sys.argv[1:]:
        asyncio.run(write(revision))
