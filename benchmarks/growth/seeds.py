"""What is there before the turns that are measured: histories as Kaiwa stores them, and tools as
files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from bot.clock import DAY_S, now_ms
from bot.features.summaries.feature import KEEP
from bot.pipeline.history import FULL, KEEP_TURNS, READ_TURNS
from bot.store.keys import SEEN_S, Keys, digest_of, index_key, kv_key
from bot.transcript import Message, Summary, Text, TurnRecord, encode, new_id
from tests.fakes.line_events import BOT

SAID = "What should I wear for a walk along the Kamo river tomorrow morning, if it is still windy?"
ANSWER = (
    "A light jacket will do: it is 14 degrees at nine o'clock, with a fresh wind from the north. "
    "By noon it is warmer."
)
NOTES = "The user plans walks in Kyoto and asks about clothes and wind. " * 12
HISTORY_S = 30 * DAY_S
PIPELINE = 1_000  # commands at once
TOOL = '''
class {kind}:
    """Made up for a benchmark."""

    name = "{name}"
    description = (
        "The stock of article {number} in a warehouse. "
        "Use it when somebody asks about article {number}."
    )
    risk = "low"

    class Config(BaseModel):
        """No variables."""

    @classmethod
    def create(cls, http, config):
        return cls()

    async def call(self, arguments, context):
        return {{"stock": arguments["number"]}}
'''
SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "description": "How many pieces are wanted.", "minimum": 1},
        "warehouse": {
            "type": "string",
            "description": "The city of the warehouse.",
            "maxLength": 80,
        },
    },
    "required": ["number"],
    "additionalProperties": False,
}


Command = tuple[Any, ...]


def conversation_of(user: str) -> str:
    """The id of a 1:1 in LINE."""
    return f"line:{BOT}:user:{user}"


def turn_record(messages: int) -> TurnRecord:
    """A turn of one or two messages."""
    at = now_ms()
    asked = Message(
        new_id("msg"),
        "user",
        (Text(SAID),),
        at,
        context="[Sunday, 22 November 2026, 10:00 UTC; LINE, 1:1]",
    )
    answer = Message(new_id("msg"), "model", (Text(ANSWER),), at)
    return TurnRecord(new_id("turn"), at, "gemini:gemini-3.5-flash", (asked, answer)[:messages])


def history_of(messages: int, place: int) -> tuple[list[TurnRecord], Summary | None]:
    """What is left in the store of so many messages.

    Args:
        place: spreads conversations over the time between two summaries.
    """
    turns = min(KEEP_TURNS, (messages + 1) // 2)
    records = [turn_record(min(2, messages)) for _ in range(turns)]
    least, most = int(READ_TURNS * KEEP), int(READ_TURNS * FULL)
    since = least + place % (most - least + 1)
    if turns <= most:
        return records, None
    return records, Summary(records[-since - 1].turn_id, now_ms(), "gemini:gemini-3.5-flash", NOTES)


async def write_histories(redis: Redis, users: Iterable[str], messages: int) -> None:
    """Give each user a history."""

    def commands() -> Iterator[Command]:
        for place, user in enumerate(users):
            history = Keys(conversation_of(user)).history
            records, summary = history_of(messages, place)
            yield "RPUSH", history, *map(encode, records)
            yield "EXPIRE", history, HISTORY_S
            if summary:
                yield (
                    "SET",
                    history.replace("}:history:", "}:summary:"),
                    encode(summary),
                    "EX",
                    HISTORY_S,
                )

    await write(redis, commands())


async def write_conversations(redis: Redis, users: Iterable[str]) -> None:
    """Leave what a first turn of each user leaves: its history, what was seen, what is known of the
    person."""
    person = json.dumps({"name": "Aki", "locale": "en"})

    def commands() -> Iterator[Command]:
        for user in users:
            keys = Keys(conversation_of(user))
            yield "RPUSH", keys.history, encode(turn_record(2))
            yield "EXPIRE", keys.history, HISTORY_S
            yield "SET", keys.seen(user), 1, "EX", SEEN_S
            yield "SET", kv_key(f"profile:line:{user}"), person, "EX", DAY_S
            index = index_key(digest_of(f"line:{user}"))
            yield "ZADD", index, now_ms() // 1000 // DAY_S + 31, f"own {conversation_of(user)}"
            yield "EXPIRE", index, HISTORY_S

    await write(redis, commands())


async def write(redis: Redis, commands: Iterator[Command]) -> None:
    """Send the commands, some at once."""
    while batch := list(islice(commands, PIPELINE)):
        async with redis.pipeline(transaction=False) as pipeline:
            for command in batch:
                pipeline.execute_command(*command)
            await pipeline.execute()


def write_tools(folder: Path, count: int) -> None:
    """So many tools, in one file, each with its schemas."""
    classes = [TOOL.format(kind=f"Stock{n}", name=f"stock_{n}", number=n) for n in range(count)]
    (folder / "stock.py").write_text(
        '"""Tools."""\n\nfrom pydantic import BaseModel\n' + "\n".join(classes)
    )
    response = {
        "type": "object",
        "properties": {"stock": {"type": "integer"}},
        "required": ["stock"],
    }
    for name, kind, schema in schemas(count, response):
        path = folder / "schemas" / name
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{kind}.json").write_text(json.dumps(schema))


def schemas(count: int, response: object) -> Iterator[tuple[str, str, object]]:
    """Name, kind and content of each."""
    for n in range(count):
        yield f"stock_{n}", "parameters", SCHEMA
        yield f"stock_{n}", "response", response
