"""Conversations that grow until they are summarised."""

from __future__ import annotations

import asyncio

from bot.providers.scripted import Request, Step
from bot.transcript import Usage, decode_summary
from tests.bot.harness import HERE, Harness
from tests.waiting import until

LONG = "long " * 200  # with what stands around it, three of these turns fill a thousand tokens
NOTES = "Hanako likes rain."
SPENT = Usage(input=100, output=10)
NOTED = Step(NOTES, usage=SPENT)


async def talk(harness: Harness, *texts: str) -> None:
    """Say one thing after the other, each in a turn of its own, and wait for the summary after
    each."""
    for text in texts:
        number = len(harness.box.delivered)
        await harness.receive(text, f"m{number}")
        await harness.runner.process(HERE)
        await asyncio.gather(*harness.notes.writing.values())


async def noting(harness: Harness, gate: asyncio.Event) -> None:
    """Talk until a summary is under way, which waits for the gate."""
    await talk(harness, f"one {LONG}", f"two {LONG}")
    await harness.receive(f"three {LONG}", "m2")
    await harness.runner.process(HERE)
    await until(lambda: len(summaries(harness)) == 1)
    assert not gate.is_set()


async def noted(harness: Harness, gate: asyncio.Event) -> str:
    """Let the summary come to its end; what is known then, if anything."""
    gate.set()
    await asyncio.gather(*harness.notes.writing.values())
    known = (await harness.store.history.recall(HERE, 1)).summary
    return decode_summary(known).text if known else ""


def summaries(harness: Harness) -> list[Request]:
    """The requests that asked for a summary."""
    return [request for request in harness.model.requests if request.system == "NOTES"]


def sent(harness: Harness) -> list[str]:
    """The words of the newest request of a turn."""
    turns = [request for request in harness.model.requests if request.system != "NOTES"]
    return [message.text for message in turns[-1].messages]
