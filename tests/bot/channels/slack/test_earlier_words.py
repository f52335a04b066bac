"""The words of a thread that were there before the bot was called go as any others, when their
author wishes so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, JSON, bare, deleted, edited, mention, message

OTHER = "U00000002"
SECRET, PLAIN = "the code is 4711", "Lunch at noon?"
SAID, LATER, AGAIN = "1700000010.000100", "1700000100.000100", "1700000200.000100"
WISHES: dict[str, Callable[[], JSON]] = {
    "deletion": lambda: deleted(SECRET, SAID, thread_ts=TS),
    "deletion without its thread": lambda: bare(deleted(SECRET, SAID)),
    "edit": lambda: edited("never mind", SECRET, SAID, thread_ts=TS),
    "forget me": lambda: message("forget me", "1700000150.000100", channel=DIRECT),
}


async def stored(redis: Redis) -> bytes:
    """All that the lists and values of the store hold."""
    held: list[Any] = []
    async for key in redis.scan_iter("kaiwa:*"):
        kind = await redis.type(key)
        if kind == b"list":
            held += await redis.lrange(key, 0, -1)
        elif kind == b"string":
            held.append(await redis.get(key))
    return b"\n".join(held)


@pytest.mark.parametrize("wish", WISHES)
async def test_the_words_leave_the_store_and_the_requests(
    store: Store, redis: Redis, fake: SlackFake, wish: str
) -> None:
    """Somebody else has called the bot; what others have said before stays, but for all words of
    who is forgotten."""
    fake.add_user(OTHER, "Taro")
    fake.add_user("U00000003", "Jiro")
    fake.add_message(CHANNEL, SAID, SECRET, thread_ts=TS)
    fake.add_message(CHANNEL, "1700000020.000100", PLAIN, user="U00000003", thread_ts=TS)
    fake.add_message(CHANNEL, LATER, "Sum up", user=OTHER, thread_ts=TS)
    fake.add_message(CHANNEL, AGAIN, "Again", user=OTHER, thread_ts=TS)
    async with SlackPipeline(store, fake, [Step("Noon."), Step("Noon again.")]) as here:
        await here.send(mention("Sum up", LATER, user=OTHER, thread_ts=TS))
        assert SECRET in str(here.model.requests[-1].messages)
        assert SECRET.encode() in await stored(redis)
        await here.send(WISHES[wish]())
        assert SECRET.encode() not in await stored(redis)
        await here.send(mention("Again", AGAIN, user=OTHER, thread_ts=TS))
        request = str(here.model.requests[-1].messages)
    assert (SECRET in request, PLAIN in request, "Sum up" in request) == (False, True, True)


async def test_words_that_are_deleted_during_the_turn_do_not_stay(
    store: Store, redis: Redis, fake: SlackFake
) -> None:
    """The model has read them by then; the turn that is stored has not."""
    fake.add_message(CHANNEL, SAID, SECRET, thread_ts=TS)
    fake.add_message(CHANNEL, LATER, "Sum up", thread_ts=TS)
    writing = Step("Noon.", gate=asyncio.Event())
    async with SlackPipeline(store, fake, [writing]) as here:
        await here.post(mention("Sum up", LATER, thread_ts=TS))
        processing = asyncio.create_task(here.process())
        await writing.at_gate.wait()
        assert SECRET in str(here.model.requests[-1].messages)
        await here.post(WISHES["deletion"]())
        assert writing.gate
        writing.gate.set()
        await processing
        await here.process()
    held = await stored(redis)
    assert (SECRET.encode() in held, b"Sum up" in held) == (False, True)
