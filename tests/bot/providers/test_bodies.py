"""A server that does not stop talking when it refuses fills no memory, whoever the vendor is."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.errors import ModelError
from bot.providers import Provider, Request, StreamEvent
from bot.providers.anthropic.client import Anthropic
from bot.providers.gemini.client import Gemini
from bot.providers.ollama.client import Ollama
from bot.providers.openai.client import OpenAI
from bot.telemetry.observed import OBSERVER, ObservedStep, RequestSent
from bot.transcript import Media, Message, Text

MIB = 1024 * 1024
ENDLESS = 256 * MIB
MOST = 32 * MIB  # what the sockets of both sides may hold, and some more
BOMB = gzip.compress(bytes(64 * MIB))
QUESTION = [Message("m1", "user", (Text("hi"),), 1)]
PROVIDERS: dict[str, Callable[[str], Provider]] = {
    "gemini": lambda url: Gemini("key", "gemini-3.5-flash", url),
    "openai": lambda url: OpenAI("key", "gpt-5-mini", url),
    "anthropic": lambda url: Anthropic("key", "claude-sonnet-4-5", url),
    "ollama": lambda url: Ollama("qwen3:4b", url),
}


class Talker:
    """Answers every request with an error that does not end."""

    def __init__(self) -> None:
        self.sent = 0
        self.headers: dict[str, str] = {}
        self.body = b" " * MIB

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            status=400, headers={"Content-Type": "application/json", **self.headers}
        )
        await response.prepare(request)
        try:
            while self.sent < ENDLESS:
                await response.write(self.body)
                self.sent += len(self.body)
        except ConnectionError:
            pass
        return response


@pytest.fixture
async def talker() -> AsyncIterator[tuple[Talker, str]]:
    """The server and its address."""
    talker, app = Talker(), web.Application()
    app.router.add_route("*", "/{path:.*}", talker.answer)
    async with TestServer(app) as server:
        yield talker, str(server.make_url("")).rstrip("/")


async def answer_of(provider: Provider) -> list[StreamEvent]:
    """What comes of one question."""
    async with aclosing(provider.stream(Request("", QUESTION))) as events:
        return [event async for event in events]


async def ask(provider: Provider) -> None:
    """One question, which is refused."""
    try:
        with pytest.raises(ModelError):
            await answer_of(provider)
    finally:
        await provider.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_error_without_end_is_read_as_far_as_anybody_needs_it(
    name: str, talker: tuple[Talker, str]
) -> None:
    """Then its connection is closed."""
    server, url = talker
    await ask(PROVIDERS[name](url))
    assert server.sent < MOST


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_error_that_was_compressed_unasked_is_not_expanded(
    name: str, talker: tuple[Talker, str]
) -> None:
    """Of 64 MiB in 64 KiB no more than these are held."""
    server, url = talker
    server.headers, server.body = {"Content-Encoding": "gzip"}, BOMB
    await ask(PROVIDERS[name](url))
    assert server.sent < MOST


@pytest.mark.parametrize("picture", [b"", b"\x89PNG" * 40_000])
@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_observer_sees_each_request_as_it_goes_out(name: str, picture: bytes) -> None:
    """Byte for byte, with a file in the middle too."""
    came: list[bytes] = []

    async def refuse(request: web.Request) -> web.Response:
        came.append(await request.read())
        return web.json_response({"error": {"message": "no"}}, status=400)

    app = web.Application(client_max_size=MIB)
    app.router.add_post("/{path:.*}", refuse)
    parts = Text("What is it? 何?"), Media("f1", "image/png", data=picture)
    asked, seen = [Message("m1", "user", parts, 1)], list[ObservedStep]()
    token = OBSERVER.set(seen.append)
    async with TestServer(app) as server:
        provider = PROVIDERS[name](str(server.make_url("")).rstrip("/"))
        async with (
            aclosing(provider),
            aclosing(provider.stream(Request("Be kind.", asked))) as events,
        ):
            with pytest.raises(ModelError):
                await anext(events)
    OBSERVER.reset(token)
    assert came
    assert [(step.model, step.body) for step in seen if isinstance(step, RequestSent)] == [
        (provider.model, body) for body in came
    ]
