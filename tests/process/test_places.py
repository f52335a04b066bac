"""Three places with personas, models and tools of their own, while their file is edited and broken
and the process killed: no request to a model holds anything of another place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import slack_events
from tests.fakes.gemini import GeminiFake, gemini_fake
from tests.fakes.gemini_answers import Answer, answer_of, said
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import GROUP, USER, addressed_message, text_message
from tests.fakes.openai import KEY, OpenAIFake, openai_fake
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL, DIRECT
from tests.fixtures_fakes import everything_on
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa
from tests.process.webhooks import post_line, post_line_event, post_slack, post_to_slack
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
AT = 1_795_298_000_000  # when people write in LINE
ROUNDS = 2  # of a message in each place, for each state of the file


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


async def test_each_request_holds_only_what_its_place_has(
    here: Installation,
    gemini: GeminiFake,
    openai: OpenAIFake,
    line: LineFake,
    slack: SlackFake,
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
    async with here.run(**variables) as killed:
        await until(lambda: len(killed.log("places.read")) == 1)
        await talk.everywhere(killed)
        write(here.folder, "v2")
        await until(lambda: len(killed.log("places.read")) == 2)
        await talk.everywhere(killed)
        write(here.folder, "")
        await until(lambda: bool(killed.log("alert.raised")))
        await talk.everywhere(killed)
        broken = killed.log("places.broken")[0]
        assert broken["cause"].startswith("places.toml, line 2, place 1, speak: write 'mention'")
        await killed.kill()
    async with here.run(**variables) as running:
        await until(lambda: len(running.log("places.read")) == 1)
        await talk.everywhere(running)
        write(here.folder, "v3")
        await until(lambda: len(running.log("places.read")) == 2)
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


LINE_ACCOUNT = """
[[account]]
platform = "line"
name = "shop"
line_channel_secret = "SHOP_SECRET"
line_channel_access_token = "SHOP_TOKEN"
"""
WRONG = {
    "broken": ("[[place]]\nspeak = \n", "line 2: Invalid value; write TOML"),
    "field": (
        '[[place]]\nspeak = "loud"\n',
        "line 2, place 1, speak: write 'mention', 'thread', 'all' or 'never'",
    ),
    "persona": (
        '[[place]]\n\npersona_file = "shop.md"\n',
        "line 3, place 1, persona_file: there is no such file, or it cannot be read; write its path"
        " from this file's folder",
    ),
    "provider": (
        '[[place]]\nmodel = "nobody:small"\n',
        "line 2, place 1, model: write demo or PROVIDER:MODEL, where PROVIDER is one of gemini, ",
    ),
    "key": (
        '[[place]]\nmodel = "openai:gpt-5-mini"\n',
        "line 2, place 1, model: OPENAI_API_KEY: PLACES asks for openai:gpt-5-mini; set this, or ",
    ),
    "path": (
        LINE_ACCOUNT + LINE_ACCOUNT,
        "line 10, account 2, name: another table has this name and its path /webhooks/line/shop; "
        "change it",
    ),
    "variable": (
        LINE_ACCOUNT.replace("SHOP_TOKEN", "SHOP_TOKENS"),
        "line 6, account 1, line_channel_access_token: the variable that it names is not set, in "
        "the environment or in .env",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_file_ends_the_first_start(here: Installation, wrong: str) -> None:
    """With one line that names the place and the mend."""
    text, mend = WRONG[wrong]
    (here.folder / "places.toml").write_text(text, "utf-8")
    secrets = {"SHOP_SECRET": "0" * 32, "SHOP_TOKEN": "token-of-shop"}
    variables = here.variables | secrets | {"PLACES": "places.toml"}
    async with kaiwa(here.folder, "run", ready="^kaiwa: ", **variables) as ended:
        assert await ended.process.wait() == 2
    [line] = [line for line in ended.lines if line.startswith("kaiwa: ")]
    assert line.startswith(f"kaiwa: PLACES: places.toml, {mend}")
    assert "Traceback" not in ended.output


async def test_a_model_that_its_vendor_does_not_know_is_named(
    here: Installation, openai: OpenAIFake, slack: SlackFake
) -> None:
    """With what names it: by the alert of a turn, and by the doctor, with the line."""
    text = FILE.format(version="v1").replace("gpt-5-mini", "gpt-6-mini")
    (here.folder / "places.toml").write_text(text, "utf-8")
    here.variables |= {
        "PLACES": "places.toml",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": openai.base_url,
    }
    async with here.run() as running:
        assert await post_slack(running, slack, "<@U0BOT> hello", "1795298001.000100") == 200
        await until(lambda: bool(running.log("alert.raised")))
        notice = running.log("alert.raised")[0]["notice"]
        assert "PLACES: gpt-6-mini is not known there (404); name another" in notice
        async with kaiwa(here.folder, "doctor", ready="^never$", **here.variables) as doctor:
            await doctor.process.wait()
    [line] = [line for line in doctor.lines if "gpt-6-mini" in line]
    assert line.startswith("✗ places: places.toml:5: openai:gpt-6-mini: cannot be used")
    assert "PLACES: gpt-6-mini is not known there; there is gpt-4o-mini, gpt-5-mini" in line


NOBODYS = """
[[place]]
conversation = ["slack:T9:C9", "line:*:group:nobody"]
persona = "PERSONA-of-nobody"
persona_mode = "replace"
model = "demo"
tools = ["calculate"]
risk = { calculate = "high" }
speak = "all"
bots = ["B7"]
language = "ja"
time_zone = "Asia/Tokyo"
tokens = 1
dollars = 0.01

[[place]]
person = "U9"
persona = "PERSONA-of-nobody"
tools = []

[[place]]
account = "shop"
persona = "PERSONA-of-nobody"
speak = "never"
"""


def calculates(body: dict[str, Any]) -> Answer:
    """A model that calls a tool first, each time with the same bytes."""
    if "functionResponse" in body["contents"][-1]["parts"][0]:
        return said("It is 42.")
    call = {"name": "calculate", "args": {"expression": "6 * 7"}, "id": "c1"}
    return answer_of([{"functionCall": call, "thoughtSignature": "c2lnbmVk"}])


async def sent_to_the_model(folder: Path, data: str, **more: str) -> list[tuple[str, str, bytes]]:
    """All requests of some turns, which are always the same: in LINE a person and a group, in Slack
    a thread that goes on and a 1:1."""
    with gemini_fake() as gemini, line_fake() as line, slack_fake() as slack:
        gemini.always = calculates
        slack.add_user()
        more["KAIWA_DATA_DIR"] = str(folder / data)
        here = Installation(folder, everything_on(line, slack, gemini) | more)
        async with here.run() as running:
            for number, words in enumerate(("How much is it?", "And now?")):
                thread = {"thread_ts": "1795298001.000100"} if number else {}
                ts = f"1795298001.{number + 1}00100" if number else "1795298001.000100"
                slack.add_message(CHANNEL, ts, words, **thread)
                if number:
                    written = slack_events.message(words, ts, **thread)
                else:
                    written = slack_events.mention(words, ts)
                direct = slack_events.message(words, f"179529900{number}.000100", channel=DIRECT)
                for event in (written, direct):
                    assert await post_to_slack(running, slack_events.as_json(event)) == 200
                    await running.idle(seconds=30)
                said_to_line = (
                    line.event(place=USER, message=text_message(words), timestamp=AT),
                    line.event(place=GROUP, message=addressed_message(words), timestamp=AT),
                )
                for event in said_to_line:
                    assert await post_line_event(running, event) == 200
                    await running.idle(seconds=30)
        return [(one.model, one.action, one.raw) for one in gemini.requests if one.raw]


async def test_a_place_without_a_match_sends_the_bytes_of_a_kaiwa_without_places(
    tmp_path: Path,
) -> None:
    """To the same model; the file sets each field, elsewhere."""
    (tmp_path / "places.toml").write_text(NOBODYS, "utf-8")
    without = await sent_to_the_model(tmp_path, "without")
    with_file = await sent_to_the_model(tmp_path, "with", PLACES="places.toml")
    assert len(without) == 2 * 2 * 4
    assert with_file == without
