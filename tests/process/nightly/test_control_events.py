"""Two events that steer a turn, around an open question and around the commit, while the process
that takes the turn is killed: what comes next is answered, and nothing comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import pytest

from tests.fakes import line_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, called, said
from tests.fakes.line import LineFake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.test_restarts import write_acting_tool
from tests.process.webhooks import post_line_event
from tests.waiting import until, until_true

EVENTS = ("stop", "edit", "deletion", "press", "yes", "reset", "forget", "leave", "message")
ERASING = {"deletion", "reset", "forget", "leave"}
WORDS = {
    "stop": "/stop",
    "yes": "yes",
    "reset": "/reset",
    "forget": "/forget me",
    "message": "and another",
}
# A yes that is written sooner than this after the question was shown answers something else.
READING_MS = 2_000
PATIENCE_S = 2
ANSWERED_S = 10


class Person:
    """Somebody in a 1:1 in LINE.

    Attributes:
        old: the words of the request.
        new: what an edit makes of them.
        pair: what comes in.
    """

    def __init__(self, number: int, pair: tuple[str, str], line: LineFake) -> None:
        self.user = f"U{number:032x}"
        self.old, self.new, self.hello = f"old{number:02}", f"new{number:02}", f"hello{number:02}"
        self.pair = pair
        self._line = line
        self._greeted = 0.0
        self._request = line_events.text_message(f"shout {self.old}")

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """The button with which each question so far is approved."""
        return [
            sent.buttons["Yes"]
            for sent in self._line.sent
            if sent.to == self.user and "Yes" in sent.buttons
        ]

    @property
    def is_answered(self) -> bool:
        """Whether the last message is."""
        shown = [text for sent in self._line.sent if sent.to == self.user for text in sent.texts]
        return any("Heard" in text and self.hello in text for text in shown)

    async def ask(self, door: KaiwaProcess) -> None:
        await self._post(door, message=self._request)

    async def greet(self, door: KaiwaProcess) -> bool:
        """Say hello, and again every two seconds, as a question may have come before it; whether
        that is answered."""
        if not self.is_answered and time.monotonic() - self._greeted > PATIENCE_S:
            self._greeted = time.monotonic()
            await self._post(door, message=line_events.text_message(self.hello))
        return self.is_answered

    async def send(self, name: str, door: KaiwaProcess) -> None:
        """One of the events."""
        target = self._request["id"]
        if name == "edit":
            words = {**self._request, "text": f"shout {self.new}"}
            await self._post(door, "messageEdited", message=words)
        elif name == "deletion":
            await self._post(door, "unsend", unsend={"messageId": target})
        elif name == "press":
            await self._post(door, "postback", postback={"data": self.buttons[-1]["data"]})
        elif name == "leave":
            await self._post(door, "unfollow")
        else:
            await self._post(door, message=line_events.text_message(WORDS[name]))

    async def _post(self, door: KaiwaProcess, kind: str = "message", **fields: Any) -> None:
        at = time.time_ns() // 1_000_000 + READING_MS
        event = self._line.event(kind, self.user, self.user, timestamp=at, **fields)
        assert await post_line_event(door, event) == 200


class Model:
    """Calls ``shout`` once for each wording of a request, then repeats what it has heard.

    Attributes:
        gate: what it says in the end waits for this.
        held: answers that have waited for it.
    """

    def __init__(self) -> None:
        self.gate = Event()
        self.held = 0

    def answer(self, body: dict[str, Any]) -> Answer:
        heard, asked = _since_last_answer(body["contents"])
        wished = [word for word in heard.split() if word[:3] in ("old", "new")]
        for word in wished:
            if word not in asked:
                return called("shout", text=word)
        self.held += 1
        return replace(said(f"Heard: {heard}"), gate=self.gate)


def _since_last_answer(contents: list[dict[str, Any]]) -> tuple[str, str]:
    """What was said since the model's last answer, and what was called."""
    heard, called = list[str](), list[str]()
    for content in contents:
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if content["role"] == "model" and not calls:
            heard, called = [], []
        called += [str(call) for call in calls]
        if content["role"] == "user":
            heard += [part["text"] for part in content["parts"] if "text" in part]
    return "\n".join(heard), "\n".join(called)


@pytest.fixture
def model(gemini: GeminiFake) -> Iterator[Model]:
    model = Model()
    gemini.always = model.answer
    yield model
    model.gate.set()


@pytest.mark.parametrize("place", ["question", "commit"])
@pytest.mark.parametrize("first", EVENTS)
async def test_two_events_and_a_kill_leave_nobody_without_an_answer(
    first: str,
    place: str,
    here: Installation,
    gemini: GeminiFake,
    line: LineFake,
    model: Model,
) -> None:
    """The first comes before the process is killed, the second right after; another process takes
    over, answers what is new within ten seconds, and sends nothing to the model that was taken
    back."""
    write_acting_tool(here.folder / "tools", here.folder / "done")
    here.variables |= {"TOOLS_DIR": str(here.folder / "tools")}
    people = [Person(number, (first, second), line) for number, second in enumerate(EVENTS)]
    newcomer = Person(len(EVENTS), ("", ""), line)
    async with here.web() as door:
        async with here.worker() as killed:
            for person in people:
                await person.ask(door)
            await until(lambda: all(person.buttons for person in people))
            if place == "commit":
                for person in people:
                    await person.send("press", door)
                await until(lambda: model.held == len(people))
                model.gate.set()
            for person in people:
                await person.send(first, door)
            await killed.kill()
        model.gate.set()
        for person in people:
            await person.send(person.pair[1], door)
        before = len(gemini.requests)
        async with here.worker() as successor:
            # Somebody new shows how fast this machine is now.
            await until_true(partial(newcomer.greet, door))

            async def is_everybody_answered() -> bool:
                return all([await person.greet(door) for person in people])

            await until_true(is_everybody_answered, ANSWERED_S)
            await door.idle(ANSWERED_S)
            assert successor.log("turn.given_up") == []
    asked = [_words_of_people(request.body) for request in gemini.requests[before:]]
    for person in people:
        assert_gone(person, asked)


def assert_gone(person: Person, asked: list[str]) -> None:
    """What was changed or taken back is in no request after that; what is deleted at the end of a
    turn, in none that answers what came later."""
    kinds = {*person.pair}
    last = [words for words in asked if person.hello in words]
    assert last
    if kinds & {"edit", "deletion"}:
        assert [words for words in asked if person.old in words] == [], person.pair
    if kinds & ERASING:
        assert [words for words in last if person.old in words] == [], person.pair
        assert [words for words in last if person.new in words] == [], person.pair


def _words_of_people(body: dict[str, Any]) -> str:
    """What people have said, without what the model has made of it."""
    parts = [part for one in body["contents"] if one["role"] == "user" for part in one["parts"]]
    return "\n".join(part["text"] for part in parts if "text" in part)
