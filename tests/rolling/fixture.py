"""What an earlier version has left in the store, and what the platforms know of it, as a file."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.chaos.talk import Asked, Talk
from tests.fakes.line import LineFake
from tests.fakes.line_traffic import Sent, Token
from tests.fakes.slack import SlackFake
from tests.process.people import People

JSON = dict[str, Any]
Client = Any  # redis-py; its types also allow texts in answers, which are bytes here
Stored = dict[str, Any]  # a key: its name, type, value, and milliseconds to live

FOLDER = Path(__file__).with_name("stored")
KEYS = "kaiwa:{*"  # Docket's are hints and need not be kept
DAY_MS = 86_400_000
MOMENT = re.compile(r"(?<!\d)\d{13}(?!\d)")


def file_of(revision: str) -> Path:
    return FOLDER / f"{revision[:7]}.json"


async def dump(redis: Client) -> list[Stored]:
    """All keys with their bytes and times to live."""
    names = sorted([name async for name in redis.scan_iter(KEYS, count=1000)])
    return [await _dump_key(redis, name) for name in names]


async def restore(redis: Client, keys: list[Stored], at: int) -> None:
    """Write keys that were dumped at a time, as if that were now: moments, days and times to live are moved along."""
    now = time.time_ns() // 1_000_000
    moved = _moved(json.dumps(keys), at, now - at)
    for key in json.loads(moved):
        name = _bytes(key["key"])
        await WRITERS[key["type"]](redis, name, key["value"])
        if key["ttl_ms"] > 0:
            await redis.pexpire(name, key["ttl_ms"])


def platforms_as_json(line: LineFake, slack: SlackFake) -> JSON:
    """What LINE and Slack remember."""
    return {
        "line": {
            "tokens": {token: [known.place, known.used] for token, known in line._tokens.items()},
            "retry_keys": line._retry_keys,
            "sent": [[sent.call, sent.to, sent.messages] for sent in line.sent],
        },
        "slack": {"messages": slack.messages, "written_at": slack.written_at, "clock": slack._clock},
    }


def remind_platforms(known: JSON, line: LineFake, slack: SlackFake) -> None:
    """Give LINE and Slack what they remember."""
    tokens = known["line"]["tokens"].items()
    line._tokens |= {token: Token(place, time.monotonic(), used) for token, (place, used) in tokens}
    line._retry_keys |= known["line"]["retry_keys"]
    line.sent += [Sent(*sent) for sent in known["line"]["sent"]]
    slack.messages |= known["slack"]["messages"]
    slack.written_at |= known["slack"]["written_at"]
    slack._clock = known["slack"]["clock"]


def people_as_json(people: People) -> JSON:
    """What people have written, and where."""
    talks = {
        str(person): [talk.conversation, [[asked.marker, asked.acknowledged, asked.wish] for asked in talk.asked]]
        for person, talk in people.talks.items()
    }
    return {"talks": talks, "ids": people.ids}


def remind_people(known: JSON, people: People) -> None:
    """Give people what they remember."""
    people.ids |= known["ids"]
    for person, (conversation, asked) in known["talks"].items():
        written = [Asked(marker, acknowledged=acknowledged, wish=wish) for marker, acknowledged, wish in asked]
        people.talks[int(person)] = Talk(conversation, written)


def _moved(text: str, at: int, by: int) -> str:
    """Moments of that day, and its name. Slack's own times are older, and stay."""

    def later(found: re.Match[str]) -> str:
        moment = int(found[0])
        return str(moment + by) if abs(moment - at) < DAY_MS else found[0]

    before, after = (time.strftime("%Y-%m-%d", time.gmtime(ms / 1000)) for ms in (at, at + by))
    return MOMENT.sub(later, text).replace(before, after)


async def _dump_key(redis: Client, name: bytes) -> Stored:
    kind = (await redis.type(name)).decode()
    return {
        "key": _text(name),
        "type": kind,
        "ttl_ms": await redis.pttl(name),
        "value": await READERS[kind](redis, name),
    }


async def _read_string(redis: Client, name: bytes) -> str:
    return _text(await redis.get(name))


async def _read_list(redis: Client, name: bytes) -> list[str]:
    return [_text(value) for value in await redis.lrange(name, 0, -1)]


async def _read_set(redis: Client, name: bytes) -> list[str]:
    return sorted(_text(value) for value in await redis.smembers(name))


async def _read_hash(redis: Client, name: bytes) -> dict[str, str]:
    return {_text(field): _text(value) for field, value in (await redis.hgetall(name)).items()}


async def _read_sorted_set(redis: Client, name: bytes) -> dict[str, str]:
    return {_text(member): f"{score:.0f}" for member, score in await redis.zrange(name, 0, -1, withscores=True)}


async def _read_stream(redis: Client, name: bytes) -> list[list[Any]]:
    return [
        [_text(entry), {_text(field): _text(value) for field, value in fields.items()}]
        for entry, fields in await redis.xrange(name)
    ]


async def _write_string(redis: Client, name: bytes, value: str) -> None:
    await redis.set(name, _bytes(value))


async def _write_list(redis: Client, name: bytes, values: list[str]) -> None:
    await redis.rpush(name, *map(_bytes, values))


async def _write_set(redis: Client, name: bytes, values: list[str]) -> None:
    await redis.sadd(name, *map(_bytes, values))


async def _write_hash(redis: Client, name: bytes, values: Mapping[str, str]) -> None:
    await redis.hset(name, mapping={_bytes(field): _bytes(value) for field, value in values.items()})


async def _write_sorted_set(redis: Client, name: bytes, values: Mapping[str, str]) -> None:
    await redis.zadd(name, {_bytes(member): float(score) for member, score in values.items()})


async def _write_stream(redis: Client, name: bytes, entries: list[list[Any]]) -> None:
    for entry, fields in entries:
        await redis.xadd(name, {_bytes(field): _bytes(value) for field, value in fields.items()}, id=_bytes(entry))


def _text(raw: bytes) -> str:
    """Bytes in JSON: what is no text stands as single surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


READERS: dict[str, Callable[[Client, bytes], Awaitable[Any]]] = {
    "string": _read_string,
    "list": _read_list,
    "set": _read_set,
    "hash": _read_hash,
    "zset": _read_sorted_set,
    "stream": _read_stream,
}
WRITERS: dict[str, Callable[[Client, bytes, Any], Awaitable[None]]] = {
    "string": _write_string,
    "list": _write_list,
    "set": _write_set,
    "hash": _write_hash,
    "zset": _write_sorted_set,
    "stream": _write_stream,
}
