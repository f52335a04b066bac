"""A process may die at any request of a late turn, or of the press that fetches its answer: the
answer comes once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest

from bot.providers.scripted import Step
from bot.transcript import Message
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.slow_turns import ignore
from tests.bot.features.late_answers.late_turns import (
    BUTTON,
    LATE_S,
    WAITING,
)
from tests.bot.store.turns import key
from tests.crash.rig import CrashRig
from tests.crash.simulation import _until_death
from tests.fakes.cut_wire import Cut, CutWire
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import BOT, JSON, event, text_message
from tests.waiting import until_true

MOST = 60  # requests of a process, far more than it makes


@pytest.fixture
def fake() -> Iterator[LineFake]:
    """LINE itself."""
    with line_fake() as fake:
        yield fake


class Late:
    """A person whose answer is late, with conversations of their own for each crash."""

    def __init__(self, rig: CrashRig, fake: LineFake, number: int) -> None:
        self.user = f"U{number:032}"
        self.here, self.beside = f"line:{BOT}:user:{self.user}", f"line:late:user:{self.user}"
        self._rig, self._fake = rig, fake

    @property
    def seen(self) -> list[str]:
        """What the person sees: the first line of each message."""
        return [sent.texts[0].split("\n")[0] for sent in self._fake.sent if sent.to == self.user]

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[LinePipeline]:
        """A process that does not die."""
        async with open_pipeline(
            self._rig.store, self._fake, [answer] * 9, line_push="never"
        ) as here:
            here.ahead_ms = round(self._fake._ahead * 1000)
            yield here

    async def die_at(self, cut: Cut) -> bool:
        """Let a process do what there is to do until it dies; whether it did."""
        wire = CutWire(self._rig.server, cut, ignore)
        async with (
            wire.open() as store,
            open_pipeline(store, self._fake, [answer] * 9, line_push="never") as here,
        ):
            here.ahead_ms = round(self._fake._ahead * 1000)
            await _until_death(wire, self._work(here))
        await self._rig.redis.pexpire(key("lease", self.here), 0)
        await self._rig.redis.pexpire(key("lease", self.beside), 0)
        return wire.is_cut.is_set()

    async def finish(self) -> None:
        """Let another process finish what is left."""
        async with self.alive() as here:
            await self._work(here)

    async def _work(self, here: LinePipeline) -> None:
        for _ in range(2):
            await here.runner.process(self.here)
            await here.runner.process(self.beside)

    async def ask(self) -> JSON:
        """A question that is 46 seconds old when it is dealt with."""
        asked = self._fake.event(place=self.user, user=self.user, message=text_message("Hello"))
        async with self.alive() as here:
            await here.receive(asked)
            here.wait(LATE_S)
        return asked

    async def converse(self, event: JSON) -> None:
        async with self.alive() as here:
            await here.receive(event)

    async def press(self) -> None:
        async with self.alive() as here:
            await here.receive(self._fake.press(BUTTON, self.user))


def answer(messages: Sequence[Message]) -> Step:
    return Step("Hi!" if messages[-1].text == "Hello" else f"{messages[-1].text}!")


@pytest.mark.parametrize(
    "carried_out", [False, True], ids=["before the request", "after the request"]
)
@pytest.mark.parametrize("dies_in", ["turn", "fetching"])
async def test_a_late_answer_comes_once_wherever_its_process_dies(
    dies_in: str, carried_out: bool, rig: CrashRig, fake: LineFake
) -> None:
    """One button, and with its press one answer."""
    deaths = 0
    for point in range(1, MOST):
        late = Late(rig, fake, point)
        await late.ask()
        died = dies_in == "turn" and await late.die_at(Cut(point, carried_out))
        await late.finish()
        await late.press()
        died = died or (dies_in == "fetching" and await late.die_at(Cut(point, carried_out)))
        await until_settled(late)
        assert late.seen == [WAITING, "Hi!"], (point, late.seen)
        assert await rig.store.outbox.kept(late.here) == []
        deaths += died
        if not died:
            break
    assert deaths >= 2


@pytest.mark.parametrize(
    "carried_out", [False, True], ids=["before the request", "after the request"]
)
async def test_an_edited_question_is_answered_anew_wherever_its_process_dies(
    carried_out: bool, rig: CrashRig, fake: LineFake
) -> None:
    """Its late answer had waited, and another turn had ended since."""
    deaths = 0
    for point in range(1, MOST):
        late = Late(rig, fake, point)
        asked = await late.ask()
        await late.finish()
        await late.converse(
            fake.event(place=late.user, user=late.user, message=text_message("More"))
        )
        await late.finish()
        edited = asked["message"] | {"text": "Goodbye"}
        await late.converse(event("messageEdited", late.user, late.user, message=edited))
        died = await late.die_at(Cut(point, carried_out))
        await late.finish()
        await late.press()
        await until_settled(late)
        assert late.seen == [WAITING, "More!", "Goodbye!"], (point, late.seen)
        assert await rig.store.outbox.kept(late.here) == []
        deaths += died
        if not died:
            break
    assert deaths >= 2


async def until_settled(late: Late) -> None:
    """A press that LINE did not answer is settled after a second."""

    async def is_settled() -> bool:
        await late.finish()
        return await late._rig.store.outbox.head(late.beside) is None

    await until_true(is_settled)
