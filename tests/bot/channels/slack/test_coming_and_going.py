"""Invited to a channel, the bot says once how to talk to it; whoever asks to be forgotten leaves
nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.errors import ModelUnusable
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.texts import load
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.questions import ASKED, Question, in_channel, in_old_thread
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    command,
    joined,
    mention,
    message,
)
from tests.fakes.tools import Echo, tool_map
from tests.waiting import until

ANN = "U00000002"
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


@pytest.mark.parametrize(
    ("inviter", "begins"),
    [(USER, "Kaiwaです。"), (ANN, "Hello, I’m Kaiwa."), ("", "Hello, I’m Kaiwa.")],
)
async def test_the_greeting(fake: SlackFake, store: Store, inviter: str, begins: str) -> None:
    """Below no message, and without the model; without an inviter in LANGUAGE. A repeated delivery
    greets nobody again, a new invitation does."""
    fake.add_user(ANN, "Ann", locale="en-GB")
    async with SlackPipeline(store, fake) as here:
        event = joined(**({"inviter": inviter} if inviter else {}))
        await here.send(event)
        await here.send(event)
        await here.send(joined(inviter=inviter))
    posted, again = fake.posted
    assert again["markdown_text"] == posted["markdown_text"]
    assert posted["channel"] == CHANNEL
    assert "thread_ts" not in posted
    assert posted["markdown_text"].startswith(begins)


class Clock(Echo):
    """A tool with a command."""

    name = "get_time"
    commands = ("time",)


@pytest.mark.parametrize(
    ("inviter", "words", "help_line", "done"),
    [
        (USER, "忘れて", "/kaiwa かメンションのあとに /time", "あなたについて保存していたもの"),
        (ANN, "forget me", "Write /time after /kaiwa or a mention", "Done: I have deleted"),
    ],
)
async def test_what_the_greeting_invites_to_write_is_heard(
    fake: SlackFake, store: Store, inviter: str, words: str, help_line: str, done: str
) -> None:
    """Slack keeps messages that begin with a slash to itself, but for /kaiwa; the help that it
    names says so too."""
    fake.add_user(ANN, "Ann", locale="en-GB")
    async with SlackPipeline(store, fake, tools=tool_map(Clock())) as here:
        await here.send(joined(inviter=inviter))
        assert f"/kaiwa {words}" in fake.posted[-1]["markdown_text"]
        assert "/kaiwa help" in fake.posted[-1]["markdown_text"]
        for number, text in enumerate(("help", words)):
            await here.send(
                command(text, user=inviter, response_url=f"{fake.origin}/commands/{number}")
            )
    [[help_], [forgotten]] = fake.responses.values()
    assert help_["blocks"][0]["text"].splitlines()[-1].startswith(help_line)
    assert forgotten["blocks"][0]["text"].startswith(done)


@pytest.mark.parametrize(
    ("user", "question"),
    [(USER, "これについてどう思いますか？"), (ANN, "What do you say to this?")],
)
async def test_a_bare_mention_in_a_thread_asks_in_the_language_of_the_profile(
    fake: SlackFake, store: Store, user: str, question: str
) -> None:
    """Its words are ours; so is an apology in the answer's place."""
    fake.add_user(ANN, "Ann", locale="en-GB")
    failed = Step(error=ModelUnusable("key_refused", "the key was refused"))
    async with SlackPipeline(store, fake, [failed]) as here:
        await here.send(mention("", "1700000001.000100", user=user, thread_ts=TS))
        assert here.model.requests[0].messages[-1].text == question
    assert fake.posted[-1]["markdown_text"] == load().get(
        "apology.key_refused", "ja" if user == USER else "en"
    )


@pytest.mark.parametrize(
    ("fields", "settings"),
    [
        ({"user": USER}, {}),
        ({"inviter": USER}, {"allowed_users": (ANN,)}),
        ({}, {"allowed_users": (ANN,)}),
        ({"inviter": USER}, {"allowed_channels": ("C9",)}),
    ],
)
async def test_others_joining_and_people_not_allowed(
    fake: SlackFake, store: Store, fields: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Bring no greeting."""
    async with SlackPipeline(store, fake, **settings) as here:
        await here.send(joined(**{"user": BOT, **fields}))
    assert fake.posted == []


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
