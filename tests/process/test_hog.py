"""One person who has the model read without end: nobody else's webhook is refused, nobody else's
history goes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.cli.new_tool import write_tool
from bot.store.embedded import ValkeyServer
from tests.bot.pipeline.full_store import fill, lengths
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of, failure, said, signed
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until

TURNS, PEOPLE, MENTIONS = 6, 12, 9
ROUNDS, TOGETHER = 10, 130
PART = "長" * 15_000
READ = "Read all of it"
TOO_LONG = "The input token count (1600000) exceeds the maximum number of tokens allowed (1048576)."
MIB = 1 << 20


class Reader:
    """A model that does what a text says: it reads on and on, and says hello to everybody else.

    Args:
        together: of one response; there is one only, and the request with its results is too long.
    """

    def __init__(self, *, together: bool) -> None:
        self._together = together
        self.most = 0  # bytes of results in one request

    def __call__(self, body: dict[str, Any]) -> Answer:
        contents = body["contents"]
        if (
            READ not in str(contents[-1]["parts"])[-500:]
            and "functionResponse" not in contents[-1]["parts"][0]
        ):
            return said("Hello")
        asked = max(index for index, one in enumerate(contents) if READ in str(one["parts"])[-500:])
        results = [
            part for one in contents[asked:] for part in one["parts"] if "functionResponse" in part
        ]
        self.most = max(self.most, len(str(results).encode()))
        rounds = sum("functionResponse" in one["parts"][0] for one in contents[asked:])
        if self._together and rounds:
            return failure(400, TOO_LONG)
        number = TOGETHER if self._together else TOGETHER // ROUNDS
        if rounds == ROUNDS or body["toolConfig"]["functionCallingConfig"]["mode"] == "NONE":
            return said("That was all of it.")
        calls: list[Any] = [
            {"functionCall": {"name": "read_part", "args": {"text": f"{rounds}-{index}"}}}
            for index in range(number)
        ]
        calls[0] |= signed()
        return answer_of(calls)


@asynccontextmanager
async def reading(
    folder: Path, variables: dict[str, str]
) -> AsyncIterator[tuple[KaiwaProcess, Redis]]:
    """A process with a tool that reads a long Japanese text in parts, and its bundled store of 64
    MB."""
    file = write_tool("read_part", folder / "tools").tool
    file.write_text(
        file.read_text("utf-8").replace("text.upper()", f"text + '長' * {len(PART)}"), "utf-8"
    )
    store_url = ValkeyServer((folder / "data").resolve()).url
    async with (
        kaiwa(folder, "run", **variables, TOOLS_DIR=str(folder / "tools")) as running,
        Redis.from_url(store_url) as redis,
    ):
        yield running, redis


def turns_of(running: KaiwaProcess, channel: str) -> int:
    """How many turns of a channel have ended."""
    ended = running.log("turn.answered") + running.log("turn.failed")
    return sum(entry["conversation"].startswith(f"{channel}:") for entry in ended)


def is_answered(running: KaiwaProcess, number: int) -> bool:
    """Whether so many people in LINE have been answered."""
    return turns_of(running, "line") == number


@pytest.mark.parametrize("together", [False, True], ids=["ten rounds", "one response"])
async def test_one_person_reads_without_end_and_nobody_else_pays(
    tmp_path: Path,
    variables: dict[str, str],
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    *,
    together: bool,
) -> None:
    """Nine mentions at once: the store keeps room, all other messages are taken and answered, all
    histories stay."""
    reader = Reader(together=together)
    gemini.always = reader
    async with reading(tmp_path, variables) as (running, redis):
        uninvolved = await fill(redis, PEOPLE, TURNS)
        for number in range(MENTIONS):
            assert await post_slack(running, slack, READ, f"1795298220.00010{number}") == 200
        statuses = []
        for number in range(16):
            statuses.append(await post_line(running, line, "hello", f"U{number:032x}"))
            await until(partial(is_answered, running, number + 1), 60)
        assert statuses == [200] * 16
        await until(lambda: turns_of(running, "slack") == MENTIONS, 90)
        await running.idle(30)
        assert set(await lengths(redis, uninvolved)) == {TURNS}
        assert (await redis.info("memory"))["used_memory_peak"] < 40 * MIB
        assert running.log("store.memory_tight") == []
        assert await running.stop() == 0
    assert len(line.texts) == 16
    assert MIB // 4 < reader.most < MIB
