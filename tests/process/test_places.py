"""Three places with personas, models and tools of their own, while their file is edited and broken
and the process killed: no request to a model holds anything of another place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import said
from tests.fakes.line import LineFake
from tests.fakes.openai import KEY, OpenAIFake, openai_fake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until

FILE = """
[[place]]
platform = "slack"
persona = "PERSONA-slack-{version}"
model = "openai:gpt-5-mini"
tools = ["calculate"]

[[place]]
platform = "line"
persona = "PERSONA-line-{version}"
persona_mode = "replace"
tools = ["get_weather"]

[[place]]
conversation = "console:*"
persona = "PERSONA-page-{version}"
model = "openai:gpt-4o-mini"
tools = []
"""
TOOLS = {"slack": ["calculate"], "line": ["get_weather"], "page": []}
MODELS = {"slack": "gpt-5-mini", "line": "gemini", "page": "gpt-4o-mini"}
ROUNDS = 4  # of a message in each place, for each state of the file


@pytest.fixture
def openai() -> Iterator[OpenAIFake]:
    """The second server of models."""
    with openai_fake() as fake:
        yield fake


def write(folder: Path, version: str) -> None:
    """Write the file, or something that is none."""
    text = FILE.format(version=version) if version else '[[place]]\nspeak = "loud"\n'
    (folder / "places.toml").write_text(text, "utf-8")


class Talk:
    """Somebody who writes in each place, one message after the other."""

    def __init__(self, line: LineFake, slack: SlackFake) -> None:
        self._line, self._slack, self.said = line, slack, 0

    async def everywhere(self, running: KaiwaProcess) -> None:
        """Write in all three places, and wait for the answers, again and again."""
        for _ in range(ROUNDS):
            self.said += 1
            number = self.said
            words = [f"hello from {place} {number}" for place in TOOLS]
            ts = f"1795298{number:03}.000100"
            assert await post_slack(running, self._slack, f"<@U0BOT> {words[0]}", ts) == 200
            assert await post_line(running, self._line, words[1]) == 200
            await running.say("conversation-1", words[2])
            await running.idle(seconds=30)  # what comes later would join the same turn


@pytest.mark.parametrize("processes", [1, 2])
async def test_each_request_holds_only_what_its_place_has(
    here: Installation,
    gemini: GeminiFake,
    openai: OpenAIFake,
    line: LineFake,
    slack: SlackFake,
    processes: int,
) -> None:
    """Also after an edit, with a broken file, after kill -9 with that, and once it is mended."""
    gemini.always = lambda _asked: said("Good day")
    for _ in range(2 * 5 * ROUNDS):
        openai.say("Good day")
    slack.add_user()
    write(here.folder, "v1")
    variables = {
        "PLACES": "places.toml",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": openai.base_url,
        "HISTORY_TOKENS": "16000",
    }
    talk, versions = Talk(line, slack), ["v1", "v2", "v2", "v2", "v3"]
    async with here.run(f"--processes={processes}", **variables) as killed:
        await until(lambda: len(killed.log("places.read")) == processes)
        await talk.everywhere(killed)
        write(here.folder, "v2")
        await until(lambda: len(killed.log("places.read")) == 2 * processes)
        await talk.everywhere(killed)
        write(here.folder, "")
        await until(lambda: bool(killed.log("alert.raised")))
        await talk.everywhere(killed)
        broken = killed.log("places.broken")[0]
        assert broken["cause"].startswith("places.toml, line 2, place 1, speak: write 'mention'")
        await killed.kill()
    async with here.run(f"--processes={processes}", **variables) as running:
        await until(lambda: len(running.log("places.read")) == processes)
        await talk.everywhere(running)
        write(here.folder, "v3")
        await until(lambda: len(running.log("places.read")) == 2 * processes)
        await talk.everywhere(running)
    asked = [
        *map(of_openai, openai.chats),
        *(of_gemini(one.body) for one in gemini.requests if one.raw),
    ]
    assert len(asked) == 3 * 5 * ROUNDS
    for place, number, model, system, tools in asked:
        version = versions[(number - 1) // ROUNDS]
        assert re.findall(r"PERSONA-\w+-\w+", system) == [f"PERSONA-{place}-{version}"]
        assert (model, tools) == (MODELS[place], TOOLS[place])


Asked = tuple[str, int, str, str, list[str]]


def of_openai(body: dict[str, Any]) -> Asked:
    """Where somebody asked and what, the model, its system prompt and tools."""
    words = re.findall(r"hello from (\w+) (\d+)", json.dumps(body["messages"]))
    tools = [one["function"]["name"] for one in body.get("tools", ())]
    place, number = words[-1]
    return place, int(number), body["model"], json.dumps(body["messages"][0]), tools


def of_gemini(body: dict[str, Any]) -> Asked:
    """The same."""
    words = re.findall(r"hello from (\w+) (\d+)", json.dumps(body["contents"]))
    tools = [
        one["name"]
        for declared in body.get("tools", ())
        for one in declared.get("functionDeclarations", ())
    ]
    place, number = words[-1]
    return place, int(number), "gemini", json.dumps(body["systemInstruction"]), tools


async def test_a_broken_file_ends_the_first_start(here: Installation) -> None:
    """With one line that names line, field and fix."""
    write(here.folder, "")
    variables = here.variables | {"PLACES": "places.toml"}
    async with kaiwa(here.folder, "run", ready="^kaiwa: ", **variables) as ended:
        assert await ended.process.wait() == 2
    [line] = [line for line in ended.lines if line.startswith("kaiwa: ")]
    assert line.startswith("kaiwa: PLACES: places.toml, line 2, place 1, speak: write 'mention'")
    assert "Traceback" not in ended.output
