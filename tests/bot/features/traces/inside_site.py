"""The page ``/inside`` before a real store: a harness whose model follows a script, behind the
guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.providers.scripted import Step
from bot.store import Store
from bot.telemetry.observed import Rated
from bot.transcript import ToolCall, Usage
from bot.web.guard import Guard
from bot.web.page import PageInfo, page_routes
from bot.web.signin import SignIn
from tests.bot.harness import HERE, Harness, texts
from tests.fakes.tools import Launch, tool_map

TOKEN = "a token of sixteen letters"
HEADERS = {"Inside-Token": "a%20token%20of%20sixteen%20letters"}
USED = Usage(input=40, output=10)
CALL = ToolCall("c1", "launch", {"what": "kite"})
WITH_WORDS: Mapping[str, Any] = {"trace_words_hours": 24, "inside_token": SecretStr(TOKEN)}


def harness_of(
    store: Store, steps: Iterable[Any], settings: Mapping[str, Any] = WITH_WORDS, **others: Any
) -> Harness:
    """A conversation service with a tool that acts."""
    return Harness(store, steps, tools=tool_map(Launch()), settings=settings, **others)


def app_of(harness: Harness) -> Starlette:
    """The chat page and the routes of features behind the guard, as the app has them."""
    catalogue = texts()
    guard = Middleware(
        Guard,
        signin=SignIn(SecretStr(""), SecretStr(""), catalogue, "Kaiwa"),
        texts=catalogue,
        language="en",
    )
    routes = [
        *page_routes(PageInfo("Kaiwa", "model", demo=False, language="en"), catalogue),
        *harness.runner.services.features.routes,
    ]
    return Starlette(routes=[Mount("/", routes=routes, middleware=[guard])])


@asynccontextmanager
async def client_of(harness: Harness, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A browser on this machine."""
    transport = httpx.ASGITransport(app_of(harness))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", **options
    ) as client:
        yield client


async def flown(store: Store, **others: Any) -> Harness:
    """A turn with a call that was approved, and one that somebody rates bad."""
    steps = [Step(calls=(CALL,)), Step("It flies."), Step("I do not know.", usage=USED)]
    harness = harness_of(store, steps, **others)
    await harness.say("Launch the kite", "m1")
    await harness.say("yes", "m2")
    await harness.say("How high does it fly?", "m3")
    await harness.runner.services.features.aclose()
    return harness


async def rate(harness: Harness, turn: str, *, is_good: bool = False) -> None:
    """Have somebody rate the answer of a turn."""
    harness.runner.services.features.observe(HERE, turn, Rated(is_good, "u1"))
    await sent(harness)


async def sent(harness: Harness) -> None:
    """Have what is still to be sent reach the store."""
    await harness.runner.services.features.aclose()
    await harness.store.scripts.ask("PING")
