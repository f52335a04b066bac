"""Three hundred turns of three places on two processes, while their file is edited, broken and
mended, and one process is killed: no request holds anything of another place."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from bot.place_file import read_sources
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, called, said
from tests.fakes.line import LineFake
from tests.fakes.openai import KEY, OpenAIFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER
from tests.fakes.streams import Arrived, Outgoing
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.waiting import until, until_true

COFFEE = "C00000002"
FILE = f"""
[[place]]
conversation = "slack:{TEAM}:{CHANNEL}"
persona = "PERSONA-tea-VERSION"
model = "openai:gpt-5-mini"
tools = ["calculate"]

[[place]]
conversation = "slack:{TEAM}:{COFFEE}"
persona_file = "coffee.md"
persona_mode = "replace"
model = "openai:gpt-4o-mini"
tools = ["get_current_time"]

[[place]]
platform = "line"
persona = "PERSONA-line-VERSION"
tools = ["calculate", "get_current_time"]
"""
BROKEN = '[[place]]\nspeak = "loud"\n'
# A person's own 1:1 in Slack is no place of the file.
MODELS = {"tea": "gpt-5-mini", "coffee": "gpt-4o-mini", "line": "gemini", "elsewhere": "gemini"}
TOOLS = {
    "tea": ["calculate"],
    "coffee": ["get_current_time"],
    "line": ["calculate", "get_current_time"],
}
VERSIONS = ("v1", "v2", "v2", "v2", "v3")  # that count when a stage begins
STAGE = 60  # messages
ARGUMENTS = {"calculate": {"expression": "6 * 7"}, "get_current_time": {}}
THINKS_S = 0.4
PEOPLE = [f"U{number:032x}" for number in range(1, 4)]
TARO = "U00000002"
Change = Callable[[], Awaitable[None]]


class Asked(NamedTuple):
    """A request to a model.

    Attributes:
        numbers: of the messages that it has not answered yet.
        has_results: it brings the results of calls.
    """

    place: str
    numbers: list[int]
    model: str
    system: str
    tools: list[str]
    has_results: bool
    body: str

    @property
    def calls(self) -> str:
        """The tool that is called first; empty for words."""
        first = self.tools[0] if self.tools else ""
        return "" if self.has_results or self.numbers[-1] % 3 or first not in ARGUMENTS else first

    @property
    def words(self) -> str:
        return f"An answer to {' '.join(map(str, self.numbers))}."


def read_openai(body: Any) -> Asked:
    """A request for a chat completion."""
    system, *messages = body["messages"]
    tools = [one["function"]["name"] for one in body.get("tools", ())]
    spoken = [(one["role"] == "assistant", json.dumps(one)) for one in messages]
    has_results = messages[-1]["role"] == "tool"
    return _asked(body, spoken, body["model"], json.dumps(system), tools, has_results)


def read_gemini(body: Any) -> Asked:
    """A request of ``generateContent``."""
    declared = [one for tool in body.get("tools", ()) for one in tool["functionDeclarations"]]
    spoken = [(one["role"] == "model", json.dumps(one)) for one in body["contents"]]
    system = json.dumps(body["systemInstruction"])
    tools = [one["name"] for one in declared]
    return _asked(body, spoken, "gemini", system, tools, "functionResponse" in spoken[-1][1])


def _asked(
    body: Any,
    spoken: list[tuple[bool, str]],
    model: str,
    system: str,
    tools: list[str],
    has_results: bool,
) -> Asked:
    whole, numbers = json.dumps(body), list[int]()
    for is_model, words in spoken:
        if is_model and "An answer to" in words:
            numbers = []
        elif not is_model:
            numbers += map(int, re.findall(r"hello from \w+ (\d+)", words))
    (place,) = set(re.findall(r"hello from (\w+)", whole))
    return Asked(place, numbers, model, system, tools, has_results, whole)


class Answering(OpenAIFake):
    """The second server of models."""

    def next(self, request: Arrived) -> Outgoing:
        asked = read_openai(request.body)
        if asked.calls:
            self.calls((asked.calls, ARGUMENTS[asked.calls]))
        else:
            self.say(asked.words)
        return replace(super().next(request), after_s=THINKS_S)


def answer_of_gemini(body: Any) -> Answer:
    """The same of the first."""
    asked = read_gemini(body)
    if asked.calls:
        return replace(called(asked.calls, **ARGUMENTS[asked.calls]), after_s=THINKS_S)
    return replace(said(asked.words), after_s=THINKS_S)


class Event(NamedTuple):
    """What a platform posts to a webhook."""

    path: str
    body: bytes
    headers: dict[str, str]


Say = Callable[[int, str], Event]  # makes the event of the nth message of a conversation


@dataclass
class World:
    """Two processes on one store, and the platforms, which post again what is not taken in.

    Attributes:
        doors: the processes.
    """

    here: Installation
    line: LineFake
    slack: SlackFake
    gemini: GeminiFake
    openai: OpenAIFake
    stack: AsyncExitStack
    doors: list[KaiwaProcess] = field(default_factory=list)
    _answered: Counter[int] = field(default_factory=Counter)
    _read: list[int] = field(default_factory=lambda: [0, 0])

    async def start(self) -> None:
        """Start a process, which takes the file, or the last good one."""
        door = await self.stack.enter_async_context(self.here.run())
        self.doors.append(door)
        await until(lambda: bool(door.log("places.read")))

    async def edit(self, version: str) -> None:
        """Write the file, and wait until both have taken it."""
        self.write(version)
        digest = read_sources(self.here.folder / "places.toml").digest
        await until(
            lambda: {one.log("places.read")[-1]["digest"] for one in self.doors} == {digest}
        )

    async def break_file(self) -> None:
        """Write something that is none, and wait until both have met it."""
        (self.here.folder / "places.toml").write_text(BROKEN)
        await until(lambda: all(one.log("places.broken") for one in self.doors))

    async def kill(self) -> None:
        """kill -9 of one in the middle of its turns, and start it again."""
        await until(lambda: self.gemini.streaming + self.openai.streaming > 4)
        await self.doors.pop().kill()
        await self.start()
        assert self.doors[-1].log("places.broken")

    def write(self, version: str) -> None:
        """Write the file with its persona."""
        (self.here.folder / "coffee.md").write_text(f"PERSONA-coffee-{version}")
        (self.here.folder / "places.toml").write_text(FILE.replace("VERSION", version))

    async def post(self, event: Event, number: int) -> None:
        """Post an event to one of the processes, until one has taken it in."""
        turns = cycle((number, number + 1))

        async def is_taken() -> bool:
            door = self.doors[next(turns) % len(self.doors)]
            try:
                return await door.post(*event) == 200
            except httpx.TransportError:  # it was killed
                return False

        await until_true(is_taken)

    def answered(self) -> Counter[int]:
        """How often each message has been answered so far."""
        sent, posted = self.line.sent, self.slack.posted
        new = [text for one in sent[self._read[0] :] for text in one.texts]
        new += [str(one) for one in posted[self._read[1] :]]
        self._read = [len(sent), len(posted)]
        self._answered += numbers_in(new)
        return self._answered


def numbers_in(answers: list[str]) -> Counter[int]:
    """The numbers of the messages that are answered."""
    found = re.findall(r"An answer to ([\d ]+)", "\n".join(answers))
    return Counter(int(number) for numbers in found for number in numbers.split())


@pytest.fixture
def openai() -> Iterator[OpenAIFake]:
    with Answering().served() as fake:
        yield fake


@pytest.fixture
def here(
    tmp_path: Path, variables: dict[str, str], openai: Answering, redis_url: str
) -> Installation:
    """Two servers of models, one Redis."""
    more = {
        "REDIS_URL": redis_url,
        "PLACES": "places.toml",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": openai.base_url,
    }
    return Installation(tmp_path, variables | more)


def talks(line: LineFake, slack: SlackFake) -> list[tuple[str, Say]]:
    """Eleven conversations, each with its place: threads of two channels that several people share,
    people and a group in LINE, and a 1:1 in Slack."""

    def thread(channel: str, start: int) -> Say:
        def say(count: int, words: str) -> Event:
            root, ts = f"{start}.000001", f"{start}.{count + 1:06}"
            user = (USER, TARO)[count % 2]
            event = slack_events.mention(words, ts, channel=channel, user=user)
            if count:  # a thread that the bot has joined goes on without mentions
                event = slack_events.message(words, ts, channel=channel, user=user, thread_ts=root)
            slack.messages.setdefault(channel, []).append(event["event"])
            return from_slack(event)

        return say

    def direct(count: int, words: str) -> Event:
        return from_slack(slack_events.message(words, f"1795299000.{count:06}", channel=DIRECT))

    def person(user: str) -> Say:
        return lambda _count, words: from_line(line.text(words, user, user))

    def group(count: int, words: str) -> Event:
        return from_line(line.mention(words, line_events.GROUP, PEOPLE[count % 3]))

    starts = range(1_795_298_000, 1_795_298_006)
    threads = [("tea", thread(CHANNEL, start)) for start in starts[:3]]
    threads += [("coffee", thread(COFFEE, start)) for start in starts[3:]]
    people = [("line", person(user)) for user in PEOPLE]
    return [*threads, *people, ("line", group), ("elsewhere", direct)]


def from_slack(event: dict[str, Any]) -> Event:
    """The event as Slack posts it."""
    body = slack_events.as_json(event)
    return Event("/webhooks/slack", body, slack_events.signed(body))


def from_line(event: dict[str, Any]) -> Event:
    """The event as LINE posts it."""
    return Event("/webhooks/line", *line_events.webhook(event))


async def play(world: World, stage: int, change: Change | None) -> None:
    """A stage: each conversation's people write and wait for the answer; in the middle something
    changes."""
    numbers = range(stage * STAGE, (stage + 1) * STAGE)
    open_talks = talks(world.line, world.slack)

    async def talk(index: int) -> None:
        place, say = open_talks[index]
        for number in numbers:
            if number % len(open_talks) == index:
                event = say(number // len(open_talks), f"hello from {place} {number}")
                await world.post(event, number)
                await until(lambda at=number: bool(world.answered()[at]), 60)  # type: ignore[misc]

    async def change_meanwhile() -> None:
        if change:
            half = numbers[STAGE // 2]
            await until(lambda: sum(world.answered().values()) >= half, 60)
            await change()

    await asyncio.gather(change_meanwhile(), *map(talk, range(len(open_talks))))


async def test_each_request_holds_what_its_own_place_has(
    here: Installation,
    gemini: GeminiFake,
    openai: Answering,
    line: LineFake,
    slack: SlackFake,
) -> None:
    """Persona, model and tools; that of a turn begun before an edit may have the persona of before.
    Each message is answered once."""
    gemini.always = answer_of_gemini
    slack.add_user()
    slack.add_user(TARO, "Taro")
    async with AsyncExitStack() as stack:
        world = World(here, line, slack, gemini, openai, stack)
        world.write("v1")
        await world.start()
        await world.start()
        changes = (
            lambda: world.edit("v2"),
            world.break_file,
            world.kill,
            lambda: world.edit("v3"),
            None,
        )
        for stage, change in enumerate(changes):
            await play(world, stage, change)
        for door in world.doors:
            await door.idle(seconds=30)
    shown = [text for texts in line.texts for text in texts] + slack.shown
    assert numbers_in(shown) == dict.fromkeys(range(len(VERSIONS) * STAGE), 1)
    seen = set[tuple[str, str]]()
    asked = [*map(read_openai, openai.chats)]
    asked += [read_gemini(one.body) for one in gemini.requests if one.raw]
    for one in asked:
        assert one.model == MODELS[one.place]
        assert one.place == "elsewhere" or one.tools == TOOLS[one.place]
        personas = re.findall(r"PERSONA-(\w+)-(v\d)", one.body)
        assert len(personas) == (one.place != "elsewhere")
        for place, version in personas:
            stages = [number // STAGE for number in one.numbers]
            # the newest messages of a stage may meet the next one's file
            assert version in VERSIONS[min(stages) : max(stages) + 2]
            assert (place, one.system.count("PERSONA")) == (one.place, 1)
            seen.add((place, version))
    assert len(seen) == 3 * 3
    assert any(one.has_results for one in asked)
