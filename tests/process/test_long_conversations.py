"""Long conversations through whole processes: notes are written beside them, and survive what
processes do not."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event
from typing import Any

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.waiting import until

TALK = "conversation-1"
NOTES = "Hanako has told a long story."
LONG = "長い話です。" * 50
LEAVING_S = 15.0  # far less than a model may take for notes


class NoteTaker:
    """Answers every turn at once, and every request for notes when its gate is open."""

    def __init__(self) -> None:
        self.gate = Event()
        self.asked = 0
        self.known: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        """The answer to a request."""
        first = body["contents"][0]["parts"][0]["text"]
        if first.startswith("<notes>"):
            self.asked += 1
            return replace(said(NOTES), gate=self.gate)
        self.known.append(first)
        return said("I see.")


async def talk(running: KaiwaProcess, answers: int) -> None:
    """Say something long and hear the answer."""
    await running.say(TALK, LONG)
    await running.answers(TALK, answers)


async def until_asked(running: KaiwaProcess, taker: NoteTaker) -> int:
    """Talk until notes are being written; how many answers that took."""
    answers = 0
    while not taker.asked:
        answers += 1
        await talk(running, answers)
        await running.idle(5)
    return answers


async def test_notes_keep_nobody_waiting_and_outlive_their_process(
    here: Installation, gemini: GeminiFake
) -> None:
    """People are answered while notes are written, and the process ends without them; the next one
    writes them, and begins its requests with them."""
    gemini.always = taker = NoteTaker()
    here.variables |= {"HISTORY_TOKENS": "1000"}
    async with here.run() as running:
        answers = await until_asked(running, taker) + 1
        await talk(running, answers)
        started = time.monotonic()
        assert await running.stop() == 0
        assert time.monotonic() - started < LEAVING_S
    taker.gate.set()
    async with here.run() as running:
        await talk(running, answers + 1)
        await until(lambda: bool(running.log("summary.written")))
        assert not taker.known[-1].endswith(NOTES)
        await talk(running, answers + 2)
    assert taker.known[-1].endswith(NOTES)
