"""Whoever wants to be forgotten is: no key, no value and no byte of the data folder holds their id
or their words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.features.traces.records import unpack_words
from bot.store.embedded import ValkeyServer
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import called, said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.process.webhooks import post_line_event, press_feedback
from tests.waiting import until, until_true

WORDS = "zebrafinch-confession"
OTHERS = "marmalade-recipe"
NAME = "Persephone"
OTHER = "U" + "2" * 32
LEAVER = "U" + "3" * 32
SLACK_OTHER = "U00000002"
MINUTE_S = 60
FILES = {"APPROVAL_MODE": "auto_approve", "AUTO_APPROVE_ANYWAY": "1", "TRACE_WORDS_HOURS": "24"}


class Talk:
    """People in LINE and Slack, one message after the other; each is answered before the next."""

    def __init__(self, running: KaiwaProcess, line: LineFake, slack: SlackFake) -> None:
        self._house = running
        self._line = line
        self._slack = slack
        self._second = 1_795_298_220

    async def line(self, text: str, user: str = line_events.USER, group: str = "") -> None:
        reported = len(self._line.sent)
        message = line_events.addressed_message(text) if group else line_events.text_message(text)
        event = self._line.event(place=group or user, user=user, message=message)
        assert await post_line_event(self._house, event) == 200
        await until(lambda: len(self._line.sent) > reported)

    async def overhear(self, text: str, user: str = line_events.USER) -> None:
        """People of the group talk to each other, which nobody answers."""
        event = self._line.event(
            place=line_events.GROUP, user=user, message=line_events.text_message(text)
        )
        assert await post_line_event(self._house, event) == 200

    async def slack(self, text: str, channel: str, user: str = slack_events.USER) -> None:
        reported = len(self._slack.shown)
        self._second += 1
        ts = f"{self._second}.000100"
        self._slack.add_message(channel, ts, text, user=user)
        say = slack_events.message if channel.startswith("D") else slack_events.mention
        body = slack_events.as_json(say(text, ts, channel=channel, user=user))
        assert await self._house.post("/webhooks/slack", body, slack_events.signed(body)) == 200
        await until(lambda: len(self._slack.shown) > reported)

    async def ask_about(self, text: str) -> None:
        """Choose a message by the shortcut, ask about it, and choose another, about which nothing
        is asked."""
        reported = len(self._slack.shown)
        for second in (1, 2):
            await self._choose(
                {"type": "message", "ts": f"{second}.1", "user": slack_events.USER, "text": text}
            )
        *_, view, _ = self._slack.modals.values()
        await self._interact(slack_events.submission(view, {"question": f"what is {text}?"}))
        await until(lambda: len(self._slack.shown) > reported + 1)

    async def _choose(self, chosen: dict[str, Any]) -> None:
        known = len(self._slack.modals)
        await self._interact(
            slack_events.shortcut(chosen, "kaiwa_ask", trigger=self._slack.trigger())
        )
        await until(lambda: len(self._slack.modals) > known)

    async def _interact(self, payload: dict[str, Any]) -> None:
        body = slack_events.as_interaction(payload)
        assert await self._house.post("/webhooks/slack", body, slack_events.signed(body)) == 200

    async def unfollow(self, user: str) -> None:
        event = line_events.event("unfollow", place=user, user=user)
        assert await post_line_event(self._house, event) == 200


async def traces(folder: Path, *needles: str) -> list[str]:
    """Where a needle stands: in keys, in values of whatever type, in names and bytes of files."""
    found = []
    async with Redis.from_url(ValkeyServer((folder / "data").resolve()).url) as redis:
        for key in [key async for key in redis.scan_iter(count=1_000)]:
            held = repr((key, await redis.dump(key), await value_of(redis, key)))
            found += [f"{needle} in {key.decode()}" for needle in needles if needle in held]
    for path in files_below(folder):
        found += [
            f"{needle} in {path}"
            for needle in needles
            if needle in str(path) or needle.encode() in bytes_of(path)
        ]
    return found


async def until_forgotten(folder: Path, needles: Sequence[str]) -> None:
    """Wait until no needle is in the store, then rewrite the server's file, as Kaiwa does once a
    day: no needle is anywhere."""

    async def is_gone_from_store() -> bool:
        return not any(" in kaiwa:" in trace for trace in await traces(folder, *needles))

    async def is_gone() -> bool:
        return not await traces(folder, *needles)

    try:
        await until_true(is_gone_from_store, MINUTE_S)
        async with Redis.from_url(ValkeyServer((folder / "data").resolve()).url) as redis:
            await redis.bgrewriteaof()
        await until_true(is_gone, MINUTE_S)
    except TimeoutError:
        assert await traces(folder, *needles) == []


async def value_of(redis: Redis, key: bytes) -> Any:
    """A key's value, whatever its type; Redis may compress what it dumps, and words of traces
    are."""
    if b":words:" in key:
        words: Any = await redis.get(key)
        return list(unpack_words(words or b""))
    match await redis.type(key):
        case b"string":
            return await redis.get(key)
        case b"list":
            return await redis.lrange(key, 0, -1)
        case b"set":
            return await redis.smembers(key)
        case b"zset":
            return await redis.zrange(key, 0, -1)
        case b"hash":
            return await redis.hgetall(key)
        case b"stream":
            return await redis.xrange(key)
        case _:
            return None


def files_below(folder: Path) -> Iterator[Path]:
    """Everything in the data folder and the workspace, the server's own log included."""
    for top in ("data", "files"):
        for path, folders, files in os.walk(folder / top):
            yield from (Path(path) / name for name in (*folders, *files))


def bytes_of(path: Path) -> bytes:
    """What a file holds; the server deletes its own meanwhile."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""


def obedient(request: dict[str, Any]) -> Any:
    """A model that repeats what it is told, and keeps it in a file where there are tools to do
    so."""
    *_, last = request["contents"]
    parts = last["parts"]
    if any("functionResponse" in part for part in parts):
        return said("Kept.")
    words = " ".join(part.get("text", "") for part in parts)
    if "keep" in words:
        return called("write_file", path="kept.txt", content=words)
    return said(f"You said: {words}")


@pytest.fixture
def settings(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> dict[str, str]:
    """Everything on, files included, and two people whom both platforms know."""
    gemini.always = obedient
    line.people = {
        line_events.USER: {"displayName": NAME},
        OTHER: {"displayName": "Taro"},
        LEAVER: {"displayName": "Jiro"},
    }
    slack.add_user(name=NAME)
    slack.add_user(SLACK_OTHER, "Taro")
    return {**variables, **FILES, "WORKSPACE_DIR": str(tmp_path / "files"), "GROUP_MEMORY": "on"}


async def test_forget_me_leaves_no_trace_of_a_person(
    tmp_path: Path, settings: dict[str, str], line: LineFake, slack: SlackFake
) -> None:
    """In 1:1, group and channel, in store and files, if they say so or unfollow the bot; the other
    person's words stay."""
    mine = (WORDS, NAME, line_events.USER, slack_events.USER, slack_events.DIRECT, LEAVER)
    async with kaiwa(tmp_path, "run", **settings) as running:
        talk = Talk(running, line, slack)
        await talk.line(f"keep {WORDS}")
        await talk.line(f"hello {WORDS}", group=line_events.GROUP)
        await talk.line(f"hello {OTHERS}", OTHER, line_events.GROUP)
        await talk.line(f"keep {OTHERS}", OTHER)
        await talk.slack(f"keep {WORDS}", slack_events.DIRECT)
        await talk.slack(f"hello {WORDS}", slack_events.CHANNEL)
        await talk.slack(f"hello {OTHERS}", slack_events.CHANNEL, SLACK_OTHER)
        await talk.slack(f"hello {WORDS}", slack_events.DIRECT)
        for channel in (slack_events.DIRECT, slack_events.CHANNEL):
            assert await press_feedback(running, slack, channel, "negative") == 200
        await talk.ask_about(WORDS)
        await talk.overhear(f"well {WORDS}")
        await talk.overhear(f"well {OTHERS}", OTHER)
        await talk.line(f"keep {WORDS}", LEAVER)
        await talk.line(f"hello {WORDS}", LEAVER, line_events.GROUP)
        found = await traces(tmp_path, *mine)
        assert {trace.partition(" ")[0] for trace in found} == set(mine)
        assert any(":background:" in trace for trace in found)
        answers = len(line.sent)
        await talk.unfollow(LEAVER)
        await talk.line("/forget me")
        await talk.slack("/forget me", slack_events.DIRECT)

        await until_forgotten(tmp_path, mine)
        # Who leaves is not answered.
        assert len(line.sent) == answers + 1
        theirs = await traces(tmp_path, OTHERS)
        assert any(":history:line:" in trace for trace in theirs)
        assert any(":history:slack:" in trace for trace in theirs)
        assert any("kept.txt" in trace for trace in theirs)
        assert any(".aof" in trace for trace in theirs)
