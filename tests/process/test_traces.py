"""What was sent to a model is shown byte for byte, also what a killed process had sent; and goes
when people say so."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.features.traces.records import unpack_words
from bot.prompts import read_prompt
from bot.store.embedded import ValkeyServer
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.project import ROOT
from tests.waiting import until, until_true

TALK = "conversation-1"
SECRET = "zebrafinch"
HALF = "It is forty-two, and if nothing unforeseen happens it will stay forty-two"


@pytest.fixture
def settings(gemini: GeminiFake) -> dict[str, str]:
    """A model, and neither LINE nor Slack: words are kept."""
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}


async def command(folder: Path, *arguments: str, **variables: str) -> KaiwaProcess:
    """Run a command to its end."""
    async with kaiwa(folder, *arguments, ready="^never$", **variables) as running:
        assert await running.process.wait() == 0, running.output
    return running


def asked(gemini: GeminiFake) -> list[bytes]:
    """The bodies of the requests for an answer."""
    return [one.raw for one in gemini.requests if one.action == "streamGenerateContent"]


async def requests_kept(folder: Path) -> int:
    """How many requests to a model the facts have."""
    async with Redis.from_url(ValkeyServer((folder / "data").resolve()).url) as redis:
        keys = await redis.keys("kaiwa:*:traces:[0-9]*")
        shares: list[Any] = [await redis.hvals(key) for key in keys]
    return repr(shares).count('"kind":"request"')


async def traced_words(folder: Path) -> str:
    """All words of traces."""
    async with Redis.from_url(ValkeyServer((folder / "data").resolve()).url) as redis:
        keys = await redis.keys("kaiwa:*:words:*")
        found: list[Any] = [await redis.get(key) for key in keys]
    return "\n".join(repr(list(unpack_words(words))) for words in found)


async def held(folder: Path) -> str:
    """All keys and values, words of traces unpacked."""
    async with Redis.from_url(ValkeyServer((folder / "data").resolve()).url) as redis:
        keys = [key async for key in redis.scan_iter(count=1_000)]
        values = [repr((key, await redis.dump(key))) for key in keys]
        prompts = [repr(await redis.get(key)) for key in keys if b":prompts:" in key]
    return "\n".join([*values, *prompts, await traced_words(folder)])


async def is_gone(folder: Path, word: str) -> None:
    """Wait until no key holds a word."""

    async def gone() -> bool:
        return word not in await held(folder)

    await until_true(gone, 30)


def continued(body: dict[str, Any]) -> Answer:
    """What the model says to whoever goes on."""
    return said(f"after {len(body['contents'])} messages")


async def test_requests_are_shown_as_they_went_out(
    tmp_path: Path, settings: dict[str, str], gemini: GeminiFake
) -> None:
    """With a retry, a call, and a kill -9 in the answer, which another process gives."""
    gemini.fail(503)
    gemini.calls(("calculate", {"expression": "6 * 7"}))
    gemini.say(HALF, end="stalled")
    async with kaiwa(tmp_path, "run", **settings) as killed:
        await killed.say(TALK, f"How much is 6 * 7? {SECRET}")
        await until(lambda: len(asked(gemini)) == 3)

        async def is_kept() -> bool:
            return await requests_kept(tmp_path) == 3

        await until_true(is_kept, 10)
        await killed.kill()
    gemini.always = continued
    async with kaiwa(tmp_path, "run", **settings) as running:
        await running.answers(TALK, 1)
        await running.idle(seconds=30)
        sent = asked(gemini)

        async def is_all_kept() -> bool:
            return await requests_kept(tmp_path) == len(sent)

        await until_true(is_all_kept, 10)
        path = tmp_path / "turn.zip"
        await command(tmp_path, "trace", "last", "--raw", str(path), **settings)
        with zipfile.ZipFile(path) as archive:
            written = [archive.read(name) for name in archive.namelist() if "-request-" in name]
        assert written == sent
        assert len(sent) == 4
        shown = (await command(tmp_path, "trace", "last", **settings)).output
        assert shown.count("sent; not recorded: the process ended here") == 1
        assert "-- another process, " in shown
        assert f"> How much is 6 * 7? {SECRET}" in shown


async def test_a_process_that_is_killed_right_after_its_answer_has_recorded_that(
    tmp_path: Path, settings: dict[str, str], gemini: GeminiFake
) -> None:
    """Of the delivery it may have sent nothing yet."""
    gemini.always = continued
    async with kaiwa(tmp_path, "run", **settings) as killed:
        await killed.say(TALK, "How are you?")
        await killed.answers(TALK, 1)
        await killed.kill()
    async with kaiwa(tmp_path, "run", **settings) as running:
        await running.idle(seconds=30)
        shown = (await command(tmp_path, "trace", "last", **settings)).output
        assert await requests_kept(tmp_path) == len(asked(gemini)) == 1
    assert re.match(r"turn_\w+  .*  answered, ", shown)


async def test_no_word_is_left(
    tmp_path: Path, settings: dict[str, str], gemini: GeminiFake
) -> None:
    """In any key: after /private on in those of traces, after /forget me in all others too."""
    gemini.always = continued
    async with kaiwa(tmp_path, "run", **settings) as running:
        await running.say(TALK, f"Remember {SECRET}")
        await running.answers(TALK, 1)

        async def is_traced() -> bool:
            return SECRET in await traced_words(tmp_path)

        await until_true(is_traced, 10)
        await running.say(TALK, "/private on")
        await running.say(TALK, f"Again {SECRET}")
        await running.answers(TALK, 2)
        await running.idle(seconds=30)
        assert await traced_words(tmp_path) == ""
        await running.say(TALK, "/private off")
        await running.say(TALK, f"Once more {SECRET}")
        await until_true(is_traced, 10)
        await running.say(TALK, "/forget me")
        await running.idle(seconds=30)
        assert await traced_words(tmp_path) == ""
        await is_gone(tmp_path, SECRET)


async def test_the_persona_is_seen_in_a_request(tmp_path: Path) -> None:
    """As docs/persona.md says: by its example and its commands, of the demo model too."""
    page = (ROOT / "docs" / "persona.md").read_text("utf-8")
    example = page.split("```markdown\n")[1].split("```")[0].strip()
    (tmp_path / "persona.md").write_text(example, "utf-8")
    shown = page.split("## See it in a request")[1].split("```sh\n")[1].split("```")[0]
    run, trace, unpack = (shlex.split(line) for line in shown.splitlines())
    variables = dict(one.split("=") for one in run[:2])
    assert run[2:] == [".venv/bin/kaiwa", "run"]
    async with kaiwa(tmp_path, *run[3:], **variables) as running:
        await running.say(TALK, "What is 12*7?")
        await running.answers(TALK, 1)

        async def is_kept() -> bool:
            return await requests_kept(tmp_path) == 2

        await until_true(is_kept, 10)
        await command(tmp_path, *trace[1:], **variables)
    assert unpack[1:4] == ["-m", "zipfile", "-e"]
    with zipfile.ZipFile(tmp_path / unpack[4]) as archive:
        (first,) = (name for name in archive.namelist() if name.startswith("001-request-"))
        system, _ = json.loads(archive.read(first))
    assert system.startswith(example.replace("{bot_name}", "Umi") + "\n\n" + read_prompt("data"))
