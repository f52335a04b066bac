"""A LINE turn that takes longer than its reply token gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.channels.line.types import chat_of
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_PRIVATE
from tests.bot.channels.line.slow_turns import held_step, question, running
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, USER
from tests.waiting import until_true

LATE_HERE = f"line:late:user:{USER}"
LATE_IN_GROUP = f"line:late:group:{GROUP}"
BUTTON, EARLIER = "Show the answer", "Earlier answer"
WAITING, SENT = "I am still working on your question.", "There is no answer waiting"
LATE_S = 46.0  # more than the answer's part of a reply token's minute


@asynccontextmanager
async def late_turn(
    here: LinePipeline, step: Step, event: JSON, conversation: str = IN_PRIVATE
) -> AsyncIterator[None]:
    """A turn that is 46 seconds late and has told so; it ends with the context."""
    await here.receive(event)
    here.wait(LATE_S)
    async with running(here, step, conversation):
        await shown(here, chat_of(conversation)._replace(bot="late").conversation)
        yield


async def answer_late(
    here: LinePipeline, step: Step, event: JSON, conversation: str = IN_PRIVATE
) -> None:
    """A turn whose answer comes too late for its token."""
    async with late_turn(here, step, event, conversation):
        pass


@asynccontextmanager
async def stored_answer(
    store: Store, fake: LineFake, text: str = "Hi!"
) -> AsyncIterator[LinePipeline]:
    """The answer to a question is late, and kept: it is never pushed."""
    step = held_step(text)
    async with open_pipeline(store, fake, [step], line_push="never") as here:
        await answer_late(here, step, question(fake))
        yield here


async def shown(here: LinePipeline, beside: str = LATE_HERE, cards: int = 1) -> None:
    """Wait until so many more cards are shown."""
    before = len(here.fake.sent)

    async def is_shown() -> bool:
        await here.runner.process(beside)
        return len(here.fake.sent) >= before + cards

    await until_true(is_shown)
