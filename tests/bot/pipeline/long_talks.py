"""Conversations that grow beyond what a request may hold."""

from __future__ import annotations

from tests.bot.harness import Harness

LONG = "long " * 200  # with what stands around it, three of these turns fill a thousand tokens


async def talk(harness: Harness, *texts: str) -> None:
    """Say one thing after the other, each in a turn of its own."""
    for text in texts:
        await harness.say(text, f"m{len(harness.box.delivered)}")


def sent(harness: Harness) -> list[str]:
    """The words of the newest request of a turn."""
    turns = [one for one in harness.model.requests if one.system.startswith("SYSTEM")]
    return [message.text for message in turns[-1].messages]
