"""Conversations with Anthropic, Ollama and Vertex AI from cassettes, answered without any server.

The cassettes were recorded against the stand-ins in tests/fakes, not against the vendors, and say so in their first
line. ``python -m tests.bot.providers.test_cassettes`` records them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import vcr
from google.oauth2.credentials import Credentials

from bot.providers import Provider
from bot.providers.anthropic.client import Anthropic
from bot.providers.gemini.vertex import Vertex
from bot.providers.ollama.client import Ollama
from tests.bot.providers.asking import Reply, ask, results, user
from tests.fakes.anthropic import anthropic_fake, thought
from tests.fakes.ollama import ollama_fake
from tests.fakes.vertex import LOCATION, PROJECT, TOKEN, vertex_fake
from toolset.tool import ToolDefinition

FOLDER = Path(__file__).parents[2] / "cassettes"
LABEL = "# recorded against tests/fakes/{0}.py, not against the vendor\n"
HOST = "http://vendor.invalid"
KEY = "test-key"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
WEATHER = ("get_weather", {"location": "東京"})
WORDS = ("東京は晴れ、", "21度です。")


def _vertex(url: str) -> Vertex:
    signed_in = Credentials(token=TOKEN)  # type: ignore[no-untyped-call]
    return Vertex(PROJECT, "gemini-3.5-flash", LOCATION, url, credentials=signed_in)


def _script_anthropic(fake: Any) -> None:
    fake.calls(WEATHER, words="お調べします。", thought=thought("天気を調べる。"))
    fake.say(*WORDS)


def _script_ollama(fake: Any) -> None:
    fake.calls(WEATHER, text="お調べします。", thinking="天気を調べる。")
    fake.say(*WORDS)


def _script_vertex(fake: Any) -> None:
    fake.calls(WEATHER, text="お調べします。")
    fake.say(*WORDS)


@dataclass(frozen=True)
class Kind:
    """One vendor: how it is reached, stood in for, and what it says."""

    provider: Callable[[str], Provider]
    fake: Callable[[], AbstractContextManager[Any]]
    script: Callable[[Any], None]
    found: str


KINDS = {
    "anthropic": Kind(
        lambda url: Anthropic(KEY, "claude-sonnet-5", url),
        anthropic_fake,
        _script_anthropic,
        "Claude Sonnet 5 answers",
    ),
    "ollama": Kind(lambda url: Ollama("qwen3", url), ollama_fake, _script_ollama, "qwen3 answers"),
    "vertex": Kind(_vertex, vertex_fake, _script_vertex, "Gemini 3.5 Flash answers"),
}


def path_of(name: str) -> Path:
    """A vendor's cassette."""
    return FOLDER / name / "conversation.yaml"


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


@pytest.mark.parametrize("name", list(KINDS))
async def test_a_recorded_conversation_is_replayed(name: str) -> None:
    """What we send has not changed by a byte since it was recorded."""
    provider = KINDS[name].provider(HOST)
    with player("none").use_cassette(str(path_of(name))) as cassette:
        found, called, answered = await converse(provider)
    await provider.aclose()
    assert found == KINDS[name].found
    assert (called.text, called.calls) == ("お調べします。", [WEATHER])
    assert (answered.text, answered.response.stop_reason) == ("".join(WORDS), "end_turn")
    assert cassette.play_count == 3


@pytest.mark.parametrize("name", list(KINDS))
def test_the_cassette_says_what_it_is_and_holds_no_key(name: str) -> None:
    """Nobody should take it for the vendor's word, or find a secret in it."""
    text = path_of(name).read_text("utf-8")
    assert text.startswith(LABEL.format(name))
    assert "authorization" not in text.lower()
    assert KEY not in text
    assert TOKEN not in text


async def record(name: str) -> None:
    """Write a cassette."""
    cassette = path_of(name)
    cassette.unlink(missing_ok=True)
    with KINDS[name].fake() as fake:
        KINDS[name].script(fake)
        provider = KINDS[name].provider(fake.base_url)
        with player("once").use_cassette(str(cassette)):
            await converse(provider)
        await provider.aclose()
    cassette.write_text(LABEL.format(name) + cassette.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    for kind in KINDS:
        asyncio.run(record(kind))
