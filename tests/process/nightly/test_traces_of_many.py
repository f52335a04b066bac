"""Two hundred turns of every kind on two processes, one of which is killed again and again: what is
kept of each are the bytes that the models were sent."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.features.traces.reading import TracedTurn, find_turns, read_words
from bot.features.traces.store import Traces
from bot.store import Store, open_store
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of, called, failure, said, signed
from tests.fakes.openai import KEY as OPENAI_KEY
from tests.fakes.openai import OpenAIFake, openai_fake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.waiting import until, until_true

TURNS, PEOPLE, KILLS = 200, 50, 4
ASKED = re.compile(rb"question-(\d{3})")
OTHER = "the other model"


class Model:
    """Answers each question in a way of its own."""

    def __init__(self) -> None:
        self._asked = Counter[int]()

    def __call__(self, body: dict[str, Any]) -> Answer:
        number = int(ASKED.findall(repr(body["contents"]).encode())[-1])
        self._asked[number] += 1
        is_first = self._asked[number] == 1
        has_results = any("functionResponse" in part for part in body["contents"][-1]["parts"])
        kind = number % 8
        if kind == 1 and not has_results:
            return called("calculate", expression=f"{number} * 7")
        if kind == 2 and is_first:
            return failure(503, "busy")
        if kind == 3:
            return failure(400, "of no use")
        if kind == 4 and not has_results:
            return both(number)
        if kind == 5 and is_first:
            return answer_of([{"text": "half an"}], end="cut")
        if kind == 6:
            pieces = [[{"text": f"piece {piece}. "}] for piece in range(10)]
            return replace(answer_of(*pieces), pace_s=0.05)
        if kind == 7:
            return answer_of([{"text": "a long answer"}], finish="MAX_TOKENS")
        return said("an answer")


def both(number: int) -> Answer:
    """Two calls at once."""
    parts: list[dict[str, Any]] = []
    for factor in (6, 7):
        arguments = {"expression": f"{number} * {factor}"}
        parts.append({"functionCall": {"name": "calculate", "args": arguments}})
    parts[0] |= signed()
    return answer_of(parts)


@pytest.fixture
def openai() -> Iterator[OpenAIFake]:
    with openai_fake() as fake:
        for _ in range(2 * TURNS):
            fake.say(f"This is {OTHER}.")
        yield fake


@pytest.fixture
def here(tmp_path: Path, gemini: GeminiFake, openai: OpenAIFake, redis_url: str) -> Installation:
    """Two models, one Redis, and neither LINE nor Slack: words are kept."""
    variables = {
        "REDIS_URL": redis_url,
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": f"{openai.base_url}/v1",
        "MODEL": "gemini:gemini-3.5-flash",
        "FALLBACK_MODELS": "openai:gpt-5-mini",
    }
    return Installation(tmp_path, variables)


async def ask(door: KaiwaProcess, number: int) -> None:
    """One question of somebody."""
    await door.say(f"conversation-{number % PEOPLE:02}", f"Tell me, question-{number:03}")


def received(gemini: GeminiFake, openai: OpenAIFake) -> dict[int, Counter[bytes]]:
    """The bodies of requests for answers, by question."""
    found: dict[int, Counter[bytes]] = defaultdict(Counter)
    bodies = [one.raw for one in gemini.requests if one.action == "streamGenerateContent"]
    bodies += [one.raw for one in openai.requests if one.method == "POST"]
    for body in bodies:
        found[int(ASKED.findall(body)[-1])][body] += 1
    return found


async def kept(traces: Traces, turn: TracedTurn) -> list[bytes]:
    """The bodies of the requests of a turn."""
    words = await read_words(traces, turn)
    assert not words.damaged
    bodies = []
    for share, number, fact in turn.facts:
        if fact.kind == "request":
            body = words.body(words.by_fact[share.share, number].pieces)
            assert body is not None
            bodies.append(body)
    return bodies


async def all_ended(store: Store) -> None:
    """Wait until each turn has its end, and what is kept of it is in the store."""
    traces = Traces(store, 7)

    async def have() -> bool:
        turns = await find_turns(traces)
        return sum(turn.outcome == "answered" for turn in turns) == TURNS

    await until_true(have, 60)


async def test_each_answered_turn_has_the_requests_that_were_sent(
    here: Installation, gemini: GeminiFake, openai: OpenAIFake, redis_url: str
) -> None:
    """Of a turn that a killed process had begun, those that it recorded; streams, calls, retries
    and another vendor's model are among them."""
    gemini.always = Model()
    async with (
        open_store(redis_url, history_days=1) as store,
        here.run(PORT="0") as door,
        AsyncExitStack() as stack,
    ):
        for start in range(0, TURNS, PEOPLE):
            killed = await stack.enter_async_context(here.run(PORT="0"))
            sent = len(gemini.requests)
            doors = (door, killed)
            numbers = range(start, start + PEOPLE)
            await asyncio.gather(*(ask(doors[number % 2], number) for number in numbers))
            await until(lambda at=sent: len(gemini.requests) > at + PEOPLE // 2)  # type: ignore[misc]
            await killed.kill()
            await door.idle(seconds=60)
        await all_ended(store)
        traces, sent_to = Traces(store, 7), received(gemini, openai)
        turns = await find_turns(traces)
        assert len(turns) == TURNS
        taken_over, models = 0, set[str]()
        for turn in turns:
            bodies = Counter(await kept(traces, turn))
            (number,) = {int(ASKED.findall(body)[-1]) for body in bodies}
            assert bodies <= sent_to[number]
            models.update(fact.name for _, _, fact in turn.facts if fact.kind == "request")
            if any(share.resumed for share in turn.shares):
                taken_over += 1
            else:
                assert bodies == sent_to[number]
        assert taken_over
        assert models == {"gemini-3.5-flash", "gpt-5-mini"}
