"""System prompt and tools that come back are cached at Gemini, behind the back of whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from google.oauth2.credentials import Credentials
from msgspec import json
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.testing import capture_logs

from bot.errors import RequestRefused, TryAgain
from bot.providers import AUTO, NONE, Request, ToolChoice
from bot.providers.gemini.client import MOST_PREFIXES, Gemini
from bot.providers.gemini.vertex import Vertex
from bot.telemetry.observed import OBSERVER, ObservedStep, RequestSent
from bot.transcript import Message, Usage
from tests.bot.providers.asking import Reply, user
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import answer_of
from tests.fakes.vertex import LOCATION, PROJECT, TOKEN, vertex_fake
from tests.waiting import until, until_true
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

SCHEMA = {
    "type": "object",
    "properties": {"snake_case": {"$ref": "#/$defs/Name"}},
    "$defs": {"Name": {"type": "string"}},
    "additionalProperties": False,
}
LARGE = (ToolDefinition("look_up", "Looks something up. " * 1000, SCHEMA, {}),)
SMALL = (ToolDefinition("look_up", "Looks something up.", SCHEMA, {}),)
PREFIX = {"systemInstruction", "tools", "toolConfig"}
MODEL = "gemini-3.5-flash"
FREE_TIER = (
    "TotalCachedContentStorageTokensPerModelFreeTier limit exceeded for model gemini-3.5-flash: "
    "limit=0"
)


async def ask(
    fake: GeminiFake,
    provider: Gemini | Vertex,
    *messages: Message,
    style: str = "Be kind.",
    tools: tuple[ToolDefinition, ...] = LARGE,
    choice: ToolChoice = AUTO,
) -> Reply:
    """One answer, which is "ok" where nothing else is planned."""
    fake.always = lambda _: answer_of([{"text": "ok"}])
    stream = provider.stream(Request(style, messages or (user("?"),), tools, choice))
    return Reply(tuple([event async for event in stream]))


def names(fake: GeminiFake) -> list[str]:
    """The cached content each request went out with, empty for one that had its own prefix."""
    return [request.body.get("cachedContent", "") for request in fake.requests]


async def cached(fake: GeminiFake, provider: Gemini | Vertex, style: str = "Be kind.") -> str:
    """Ask until it goes out with a cached content: its name."""

    async def is_cached() -> bool:
        await ask(fake, provider, style=style)
        return bool(names(fake)[-1])

    await until_true(is_cached)
    return names(fake)[-1]


async def test_a_small_prompt_is_not_cached(fake: GeminiFake, gemini: Gemini) -> None:
    """Google would refuse to."""
    for _ in range(3):
        await ask(fake, gemini, tools=SMALL)
    assert (names(fake), fake.caches.log) == (["", "", ""], [])


async def test_a_prompt_that_comes_once_is_not_cached(fake: GeminiFake, gemini: Gemini) -> None:
    """It would cost more than it saves."""
    await ask(fake, gemini)
    await ask(fake, gemini, style="Be brief.")
    assert fake.caches.log == []


async def test_a_prompt_that_comes_back_is_cached_and_not_repeated(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """As it was sent, for ten minutes; the usage says what came from there."""
    name = await cached(fake, gemini)
    whole = fake.requests[0].body
    [content] = fake.caches.stored.values()
    assert fake.requests[-1].body == {
        "contents": whole["contents"],
        "generationConfig": whole["generationConfig"],
        "cachedContent": name,
    }
    assert (content.name, content.model) == (name, f"models/{MODEL}")
    assert content.prefix == {field: whole[field] for field in PREFIX}
    assert content.seconds == 600
    usage = (await ask(fake, gemini)).response.usage
    assert usage == Usage(input=100 + content.tokens, cached=content.tokens, output=10, thinking=5)
    assert fake.caches.log == ["POST"]


async def test_who_observes_sees_what_is_cached(fake: GeminiFake, gemini: Gemini) -> None:
    """The members of the body that Google has from before."""
    await cached(fake, gemini)
    seen: list[ObservedStep] = []
    token = OBSERVER.set(seen.append)
    await ask(fake, gemini)
    await ask(fake, gemini, choice=NONE)
    OBSERVER.reset(token)
    named, whole = [step for step in seen if isinstance(step, RequestSent)]
    assert json.decode(named.cached) == {name: fake.requests[0].body[name] for name in PREFIX}
    assert b"cachedContent" in named.body
    assert whole.cached == b""


async def test_nobody_waits_for_a_cache_and_it_is_made_once(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Twenty at once are answered before Google has made it."""
    fake.caches.gate = Event()
    await asyncio.gather(*(ask(fake, gemini) for _ in range(20)))
    await until(lambda: fake.caches.log == ["POST"])
    await asyncio.gather(*(ask(fake, gemini) for _ in range(20)))
    assert names(fake) == [""] * 40
    fake.caches.gate.set()
    await cached(fake, gemini)
    assert fake.caches.log == ["POST"]


@pytest.mark.parametrize("choice", [NONE, ToolChoice("required"), ToolChoice("one", "look_up")])
async def test_another_tool_choice_goes_out_whole(
    fake: GeminiFake, gemini: Gemini, choice: ToolChoice
) -> None:
    """What is cached says auto, and a request may not say otherwise."""
    await cached(fake, gemini)
    await ask(fake, gemini, choice=choice)
    await ask(fake, gemini, choice=choice)
    assert fake.requests[-1].body.keys() == {"contents", "generationConfig", *PREFIX}
    assert fake.caches.log == ["POST"]


async def test_each_style_is_cached_by_itself(fake: GeminiFake, gemini: Gemini) -> None:
    """Equal prompts are one, however often their tools are declared."""
    first = await cached(fake, gemini, "Be kind.")
    second = await cached(fake, gemini, "Be brief.")
    await ask(fake, gemini, style="Be kind.", tools=(replace(LARGE[0]),))
    assert (first != second, names(fake)[-1]) == (True, first)
    stored = {
        content.prefix["systemInstruction"]["parts"][0]["text"]: name
        for name, content in fake.caches.stored.items()
    }
    assert stored == {"Be kind.": first, "Be brief.": second}


async def test_a_cache_that_is_gone_is_not_missed(fake: GeminiFake, gemini: Gemini) -> None:
    """The request goes out again at once, with everything; no other one is made for a while, and
    the log knows."""
    name, other = await cached(fake, gemini), await cached(fake, gemini, "Be brief.")
    del fake.caches.stored[name]
    with capture_logs() as lines:
        asked = await ask(fake, gemini)
        for style in ("Be kind.", "Be kind.", "Be brief."):
            await ask(fake, gemini, style=style)
    assert asked.text == "ok"
    assert names(fake)[-5:] == [name, "", "", "", other]
    assert fake.requests[-4].body.keys() == {"contents", "generationConfig", *PREFIX}
    assert fake.caches.log == ["POST", "POST"]
    assert [line["cause"] for line in lines] == ["a cached content was refused"]


async def test_an_outage_is_not_the_caches_fault(fake: GeminiFake, gemini: Gemini) -> None:
    """The request is not sent again here, and the next one takes the cache."""
    name = await cached(fake, gemini)
    fake.fail(429)
    with pytest.raises(TryAgain):
        await ask(fake, gemini)
    await ask(fake, gemini)
    assert names(fake)[-2:] == [name, name]


async def test_a_request_that_is_refused_with_and_without_keeps_the_cache(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """It was the request's own fault."""
    name = await cached(fake, gemini)
    fake.fail(400)
    fake.fail(400)
    with pytest.raises(RequestRefused):
        await ask(fake, gemini)
    await ask(fake, gemini)
    assert names(fake)[-3:] == [name, "", name]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, f"no caching for {KEY}"),
        (403, "not allowed"),
        (404, f"models/{MODEL} is not supported for createCachedContent."),
        (429, FREE_TIER),
        (503, "overloaded"),
    ],
)
async def test_a_service_that_does_not_cache_is_left_alone(
    fake: GeminiFake, gemini: Gemini, status: int, text: str
) -> None:
    """Requests go on as before, and the log says why, once, without the key and whose turn it
    was."""
    fake.caches.refusal = (status, text)
    with bound_contextvars(turn="of somebody"), capture_logs([merge_contextvars]) as lines:
        await ask(fake, gemini)
        await ask(fake, gemini)
        await until(lambda: bool(lines))
        for style in ("Be kind.", "Be brief.", "Be brief."):
            await ask(fake, gemini, style=style)
    event = "model.not_cached"
    cause = f"{status} {text.replace(KEY, '[key]')}"
    assert lines == [{"event": event, "log_level": "warning", "model": MODEL, "cause": cause}]
    assert (names(fake), fake.caches.log) == ([""] * 5, ["POST"])


async def test_a_prompt_that_google_finds_too_small_raises_the_bar(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Only a larger one is tried after that; nothing is wrong."""
    fake.caches.refusal = (
        400,
        "Cached content is too small. total_token_count=4000, min_total_token_count=4096",
    )
    with capture_logs() as lines:
        await ask(fake, gemini)
        await ask(fake, gemini)
        await until(lambda: fake.caches.log == ["POST"])
        fake.caches.refusal = None
        larger = await cached(fake, gemini, "Be kind and friendly.")
        await ask(fake, gemini)
        await ask(fake, gemini)
    assert (names(fake)[-3:], lines) == ([larger, "", ""], [])
    assert fake.caches.log == ["POST", "POST"]


async def test_a_cache_in_the_making_does_not_hold_up_the_end(fake: GeminiFake) -> None:
    """It runs out by itself."""
    provider = Gemini(KEY, MODEL, fake.base_url)
    fake.caches.gate = Event()
    await ask(fake, provider)
    await ask(fake, provider)
    await until(lambda: fake.caches.log == ["POST"])
    async with asyncio.timeout(1):
        await provider.aclose()


@pytest.fixture
async def vertex() -> AsyncIterator[tuple[Any, Vertex]]:
    """Vertex AI's stand-in, and a provider that asks it."""
    with vertex_fake() as fake:
        signed_in = Credentials(token=TOKEN)  # type: ignore[no-untyped-call]
        provider = Vertex(PROJECT, MODEL, LOCATION, fake.base_url, credentials=signed_in)
        yield fake, provider
        await provider.aclose()


async def test_vertex_caches_in_the_projects_region(vertex: tuple[Any, Vertex]) -> None:
    """Under whole resource names; gone is another status there, and no less invisible."""
    fake, provider = vertex
    place = f"projects/{PROJECT}/locations/{LOCATION}"
    name = await cached(fake, provider)
    [content] = fake.caches.stored.values()
    assert (name, content.model) == (
        f"{place}/cachedContents/1",
        f"{place}/publishers/google/models/{MODEL}",
    )
    fake.caches.stored.clear()
    assert (await ask(fake, provider)).text == "ok"
    assert names(fake)[-2:] == [name, ""]


async def test_a_prefix_is_written_once_for_the_same_tools(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Prompts come and go, more than are remembered: every request has its own, and a known one
    costs no work."""
    for number in range(MOST_PREFIXES + 2):
        await ask(fake, gemini, style=f"Style {number}.", tools=SMALL)
        await ask(fake, gemini, style=f"Style {number}.", tools=SMALL, choice=NONE)
        spoken = [
            request.body["systemInstruction"]["parts"][0]["text"] for request in fake.requests[-2:]
        ]
        modes = [
            request.body["toolConfig"]["functionCallingConfig"]["mode"]
            for request in fake.requests[-2:]
        ]
        assert (spoken, modes) == ([f"Style {number}."] * 2, ["AUTO", "NONE"])
    small, large = Request("Style 0.", (), SMALL), Request("Style 0.", (), LARGE)
    prefix = gemini._prefix(small, {})
    assert gemini._prefix(small, {}) is prefix
    assert gemini._prefix(large, {}).fields["tools"] != prefix.fields["tools"]
    assert len(gemini._prefixes) <= MOST_PREFIXES
