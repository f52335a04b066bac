"""``/forget me`` while Slack shows half of an answer: the half goes, and with it what was stored to
find it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.questions import ASKED, Question, in_channel, in_old_thread
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER, message
from tests.waiting import until

WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
FORGOTTEN = "あなたについて保存していたものを、"
WISHED = "1700000060.000100"
WHERE: dict[Callable[[SlackFake], Question], str] = {
    in_channel: f"slack:{TEAM}:{CHANNEL}:{ASKED}",
    in_old_thread: f"slack:{TEAM}:{CHANNEL}:{TS}",
}


def wish(fake: SlackFake) -> dict[str, Any]:
    """Somebody writes it in their 1:1."""
    fake.add_message(DIRECT, WISHED, "/forget me")
    return message("/forget me", WISHED, channel=DIRECT)


async def traces(redis: Redis) -> list[bytes]:
    """Notes about messages in Slack that name the person or their 1:1."""
    notes = [key async for key in redis.scan_iter("kaiwa:*:note:*", _type="string")]
    held = {key: value for key in notes if (value := await redis.get(key))}
    return [
        key
        for key, value in held.items()
        if USER.encode() in key + value or DIRECT.encode() in key + value
    ]


def half() -> Step:
    """An answer that does not end by itself."""
    return Step(
        f"{WORDS} Never.", before=(TextDelta(f"{WORDS} "),), gate=asyncio.Event(), gate_after=1
    )


@pytest.mark.parametrize("ask", WHERE)
async def test_the_half_that_a_dead_process_has_shown_elsewhere_is_deleted(
    store: Store, redis: Redis, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """Nobody goes on with its turn."""
    question, _, _ = ask(fake)
    async with SlackPipeline(store, fake, [half()]) as dead:
        await dead.post(question)
        processing = asyncio.create_task(dead.process())
        await until(lambda: [text.strip() for text in fake.shown] == [WORDS])
        processing.cancel()
        await asyncio.wait([processing])
    async with SlackPipeline(store, fake) as here:
        await here.send(wish(fake))
        here.due.append(WHERE[ask])
        await here.process()
    [left] = fake.shown
    assert left.startswith(FORGOTTEN)
    assert (await traces(redis), await store.leases.due(10)) == ([], [])
