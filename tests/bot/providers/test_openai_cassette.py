"""Conversations with an OpenAI-compatible server from cassettes, answered without any server.

The cassettes were recorded against tests/fakes/openai.py, not against OpenAI, and say so in their first line.
``python -m tests.bot.providers.test_openai_cassette`` records them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import vcr

from bot.providers import Provider
from bot.providers.json_mode.client import JsonMode
from bot.providers.openai.client import OpenAI
from tests.bot.providers.asking import Reply, ask, results, user
from tests.fakes.openai import KEY, openai_fake
from toolset.tool import ToolDefinition

FOLDER = Path(__file__).parents[2] / "cassettes" / "openai"
LABEL = "# recorded against tests/fakes/openai.py, not against OpenAI\n"
HOST = "http://openai.invalid"
MODEL = "gpt-4o-mini"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
ARGUMENTS = {"location": "東京"}


def _json_mode(key: str, model: str, base_url: str) -> Provider:
    return JsonMode(OpenAI(key, model, base_url))


KINDS: dict[str, Callable[[str, str, str], Provider]] = {"openai": OpenAI, "json_mode": _json_mode}


def player(mode: str) -> vcr.VCR:
    """Requests must be the recorded ones to the byte; the port of the day and all headers are left out."""

    def anonymous(request: Any) -> Any:
        request.uri = HOST + request.uri.partition(urlsplit(request.uri).netloc)[2]
        request.headers = {}
        return request

    return vcr.VCR(record_mode=mode, match_on=["method", "uri", "raw_body"], before_record_request=anonymous)


async def converse(provider: Provider) -> tuple[str, Reply, Reply]:
    """Look the model up, ask, answer its call."""
    question = user("東京の天気は?")
    found = await provider.check()
    called = await ask(provider, [question], TOOLS)
    told = [question, called.response.message, results(called.response.message, {"temp_c": 21})]
    return found, called, await ask(provider, told, TOOLS)


@pytest.mark.parametrize("kind", list(KINDS))
async def test_a_recorded_conversation_is_replayed(kind: str) -> None:
    """What we send has not changed by a byte since it was recorded."""
    provider = KINDS[kind]("any-key", MODEL, HOST)
    with player("none").use_cassette(str(FOLDER / f"{kind}.yaml")) as cassette:
        found, called, answered = await converse(provider)
    await provider.aclose()
    assert found == f"{MODEL} answers"
    assert called.calls == [("get_weather", ARGUMENTS)]
    assert (answered.text, answered.response.stop_reason) == ("東京は晴れ、21度です。", "end_turn")
    assert cassette.play_count == 3


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_cassette_says_what_it_is_and_holds_no_key(kind: str) -> None:
    """Nobody should take it for OpenAI's word, or find a secret in it."""
    text = (FOLDER / f"{kind}.yaml").read_text("utf-8")
    assert text.startswith(LABEL)
    assert "authorization" not in text.lower()
    assert KEY not in text


async def record(kind: str) -> None:
    """Write a cassette."""
    cassette = FOLDER / f"{kind}.yaml"
    cassette.unlink(missing_ok=True)
    with openai_fake() as fake:
        if kind == "openai":
            call = {
                "index": 0,
                "id": "call_1",
                "function": {"name": "get_weather", "arguments": '{"location": "東京"}'},
            }
            fake.deltas({"content": None, "tool_calls": [call]}, finish="tool_calls")
            fake.say("東京は晴れ、", "21度です。")
        else:
            fake.say(
                '{"thought": "", "tool_call": {"name": "get_weather", "arguments": {"location": "東京"}}, "reply": ""}'
            )
            fake.say('{"thought": "", "tool_call": null, "reply": "東京は晴れ、', '21度です。"}')
        provider = KINDS[kind](KEY, MODEL, fake.base_url)
        with player("once").use_cassette(str(cassette)):
            await converse(provider)
        await provider.aclose()
    cassette.write_text(LABEL + cassette.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in KINDS:
        asyncio.run(record(name))
