"""A conversation with Gemini from a cassette, answered without any server.

The cassette was recorded against tests/fakes/gemini.py, not against Google, and says so in its first line.
``python -m tests.bot.providers.test_gemini_cassette`` records it again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import vcr

from bot.providers.gemini.client import Gemini
from tests.bot.providers.asking import Reply, ask, results, user
from tests.fakes.gemini import KEY, gemini_fake
from toolset.tool import ToolDefinition

CASSETTE = Path(__file__).parents[2] / "cassettes" / "gemini" / "conversation.yaml"
LABEL = "# recorded against tests/fakes/gemini.py, not against Google\n"
HOST = "http://gemini.invalid"
MODEL = "gemini-3.5-flash"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)


def player(mode: str) -> vcr.VCR:
    """Requests must be the recorded ones to the byte; the port of the day and the key are left out."""

    def anonymous(request: Any) -> Any:
        request.uri = HOST + request.uri.partition(urlsplit(request.uri).netloc)[2]
        return request

    return vcr.VCR(
        record_mode=mode,
        match_on=["method", "uri", "raw_body"],
        filter_headers=["x-goog-api-key", "host"],
        before_record_request=anonymous,
    )


async def converse(provider: Gemini) -> tuple[str, Reply, Reply]:
    """Look the model up, ask, answer its call."""
    question = user("東京の天気は?")
    found = await provider.check()
    called = await ask(provider, [question], TOOLS)
    told = [question, called.response.message, results(called.response.message, {"temp_c": 21})]
    return found, called, await ask(provider, told, TOOLS)


async def test_a_recorded_conversation_is_replayed() -> None:
    """aiohttp's traffic is what vcrpy plays, and what we send has not changed by a byte since it was recorded."""
    provider = Gemini("any-key", MODEL, HOST)
    with player("none").use_cassette(str(CASSETTE)) as cassette:
        found, called, answered = await converse(provider)
    await provider.aclose()
    assert found == "Gemini 3.5 Flash answers"
    assert (called.text, called.calls) == ("お調べします。", [("get_weather", {"location": "東京"})])
    assert (answered.text, answered.response.stop_reason) == ("東京は晴れ、21度です。", "end_turn")
    assert cassette.play_count == 3


def test_the_cassette_says_what_it_is_and_holds_no_key() -> None:
    """Nobody should take it for Google's word, or find a secret in it."""
    text = CASSETTE.read_text("utf-8")
    assert text.startswith(LABEL)
    assert "x-goog-api-key" not in text
    assert KEY not in text


async def record() -> None:
    """Write the cassette."""
    CASSETTE.unlink(missing_ok=True)
    async with gemini_fake() as fake:
        fake.calls(("get_weather", {"location": "東京"}), text="お調べします。")
        fake.say("東京は晴れ、", "21度です。")
        provider = Gemini(KEY, MODEL, fake.base_url)
        with player("once").use_cassette(str(CASSETTE)):
            await converse(provider)
        await provider.aclose()
    CASSETTE.write_text(LABEL + CASSETTE.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    asyncio.run(record())
