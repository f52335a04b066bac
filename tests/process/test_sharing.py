"""Several processes on one store, also while it is away."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.store import ANSWER_S
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.line import LineFake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.redis_server import RedisServer, redis_server
from tests.process.webhooks import post_line_event
from tests.waiting import until, until_true


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path / "redis") as server:
        yield server


def number_in(asked: dict[str, Any]) -> Answer:
    """A model that takes its time and repeats the number it was told."""
    (number,) = re.findall(r"number (\d+)", str(asked["contents"][-1]))
    answer = said(f"It was {number}.")
    return replace(answer, after_s=0.3)


class Senders:
    """LINE, which sends every event again until it is taken in.

    Attributes:
        refused_s: how long it waited for each refusal.
    """

    def __init__(self, running: KaiwaProcess, line: LineFake) -> None:
        self._house = running
        self._line = line
        self.refused_s: list[float] = []

    async def send(self, number: int) -> None:
        """Deliver one message of one user."""
        user = f"U{number:032x}"
        event = self._line.text(f"number {number}", user, user)

        async def taken() -> bool:
            started = time.monotonic()
            status = await post_line_event(self._house, event)
            if status != 200:
                assert status == 503
                self.refused_s.append(time.monotonic() - started)
            return status == 200

        await until_true(taken)


async def test_a_store_that_is_killed_under_load_loses_nothing(
    here: Installation,
    gemini: GeminiFake,
    line: LineFake,
    server: RedisServer,
) -> None:
    """503 soon while it is away, ready within ten seconds after it is back, and every message
    answered once, those that were in the middle of their turn included."""
    gemini.always = number_in
    here.variables |= {"REDIS_URL": server.url}
    async with (
        here.run() as running,
        here.run() as other,
    ):
        senders = Senders(running, line)
        await asyncio.gather(*map(senders.send, range(20)))
        await until(lambda: gemini.streaming > 5)
        server.kill()
        async with asyncio.TaskGroup() as group:
            for number in range(20, 40):
                group.create_task(senders.send(number))
            await until(lambda: len(senders.refused_s) >= 20)
            assert [await one.get("/readyz") for one in (running, other)] == [503, 503]
            server.start()
            await running.ready(10)
            await other.ready(10)
        assert max(senders.refused_s) < 2 * ANSWER_S
        await until(lambda: len(line.texts) == 40)
        await running.idle(5)
    assert sorted(line.texts) == sorted([f"It was {number}."] for number in range(40))
