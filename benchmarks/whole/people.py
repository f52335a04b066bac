"""Turns of people, by channel, from what they send to the answer they are shown."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import NamedTuple

from benchmarks.whole.bench import Bench
from tests.fakes import line_events, slack_events

TEXT = "How is the weather in Kyoto today?"
TOKEN = {"Authorization": "Bearer token-of-the-benchmark"}  # the console's
numbers = count(1)

Turn = Callable[[Bench], Awaitable[None]]


class Webhook(NamedTuple):
    """A signed request of a platform; ``who`` is what ``Platforms.answered`` knows the person
    by."""

    who: str
    path: str
    body: bytes
    headers: dict[str, str]


def line_user(number: int) -> str:
    """A person's id in LINE."""
    return f"U{number:032x}"


def line_webhook(user: str = "") -> Webhook:
    """A text in LINE; of a new person unless one is named."""
    number = next(numbers)
    token, user = f"{number:032x}", user or line_user(number)
    event = line_events.event(
        place=user, user=user, message=line_events.text_message(TEXT), replyToken=token
    )
    return Webhook(token, "/webhooks/line", *line_events.webhook(event))


def slack_webhook(person: int = 0) -> Webhook:
    """A text in a 1:1 with the app in Slack; of a new person unless one is named by a number."""
    number = next(numbers)
    person = person or number
    channel, ts = f"D{person:08d}", f"{1_795_000_000 + number}.000100"
    body = slack_events.as_json(
        slack_events.message(TEXT, ts, channel=channel, user=f"U{person:08d}")
    )
    return Webhook(channel, "/webhooks/slack", body, slack_events.signed(body))


async def line_turn(bench: Bench) -> None:
    """From the webhook to the reply."""
    await bench.exchange(*line_webhook())


async def slack_turn(bench: Bench) -> None:
    """From the webhook to the posted message."""
    await bench.exchange(*slack_webhook())


async def console_turn(bench: Bench) -> None:
    """What the page does for a first message: live events, history, message; after the answer the
    history again."""
    address = f"{bench.address()}/console/benchmark-{next(numbers)}"
    async with bench.http.get(f"{address}/events", headers=TOKEN) as events:
        assert events.status == 200, await events.text()
        async with bench.http.get(address, headers=TOKEN) as history:
            assert (await history.json())["messages"] == []
        message = {"text": TEXT, "locale": "en-US", "time_zone": "Asia/Tokyo"}
        async with bench.http.post(f"{address}/messages", json=message, headers=TOKEN) as taken:
            assert taken.status == 202, await taken.text()
        async for line in events.content:
            if line.startswith(b"data: ") and json.loads(line[6:])["type"] == "answered":
                break
        async with bench.http.get(address, headers=TOKEN) as history:
            assert len((await history.json())["messages"]) >= 2


async def naive_console_turn(bench: Bench) -> None:
    """What a page of an afternoon does: one request, answered by the stream of its answer."""
    address = f"{bench.address()}/console/benchmark-{next(numbers)}/messages"
    async with bench.http.post(address, json={"text": TEXT}) as answer:
        assert answer.status == 200, await answer.text()
        assert b"data: " in await answer.read()
