"""How long prompts stay cached at Gemini, by a clock that only the tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from socket import create_server

import pytest
from msgspec.json import encode
from structlog.testing import capture_logs

from bot.providers.gemini.caching import CachedContents, least_tokens
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.failures import GeminiFailures
from bot.providers.gemini.sdk import Sdk
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_caches import CachedContents as CachedService
from tests.waiting import until

LARGE = 20_000  # bytes


def prefix(name: str) -> bytes:
    """A prompt that is worth caching."""
    return encode({"systemInstruction": {"parts": [{"text": name * LARGE}]}})


@dataclass
class Shelf:
    """What is cached, by its own clock."""

    sdk: Sdk
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.contents = CachedContents(
            self.open_sdk,
            GeminiFailures("gemini-3.5-flash", "GEMINI_API_KEY", KEY),
            clock=lambda: self.now,
        )

    async def open_sdk(self) -> Sdk:
        return self.sdk

    def use(self, name: str = "a") -> str:
        """One request with this prompt."""
        return self.contents.use(prefix(name))

    async def rest(self) -> None:
        """Wait until Google has answered everything."""
        await until(lambda: not self.contents._tasks, 5)

    async def cached(self, name: str = "a") -> str:
        """Use a prompt until it is cached."""
        await until(lambda: bool(self.use(name)), 5)
        return self.use(name)


@asynccontextmanager
async def shelf_at(base_url: str) -> AsyncIterator[Shelf]:
    """Nothing cached yet."""
    gemini = Gemini(KEY, "gemini-3.5-flash", base_url)
    shelf = Shelf(await gemini.open_sdk())
    yield shelf
    await shelf.contents.aclose()
    await gemini.aclose()


@pytest.fixture
def service(fake: GeminiFake) -> CachedService:
    """The stand-in's side of it."""
    return fake.caches


@pytest.fixture
async def shelf(fake: GeminiFake) -> AsyncIterator[Shelf]:
    """Before the stand-in."""
    async with shelf_at(fake.base_url) as shelf:
        yield shelf


@pytest.fixture
def dead() -> str:
    """An address where nobody answers."""
    with closing(create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gemini-2.5-flash", 2048),
        ("gemini-2.5-pro", 2048),
        ("gemini-3.5-flash", 4096),
        ("gemini-flash-latest", 4096),
    ],
)
def test_each_family_has_its_smallest_content(model: str, tokens: int) -> None:
    """Anything smaller is refused."""
    assert least_tokens(model) == tokens


async def test_a_prompt_that_comes_back_too_late_is_not_cached(
    shelf: Shelf, service: CachedService
) -> None:
    """A cache would have run out unused."""
    shelf.use()
    shelf.now += 600
    shelf.use()
    assert service.log == []
    shelf.now += 599
    shelf.use()
    await until(lambda: service.log == ["POST"])


async def test_what_is_used_is_renewed(shelf: Shelf, service: CachedService) -> None:
    """Once half its time is over, once, while requests go on with it."""
    name = await shelf.cached()
    shelf.now += 299
    assert (shelf.use(), service.log) == (name, ["POST"])
    service.stored[name].seconds = 0
    shelf.now += 2
    assert [shelf.use(), shelf.use()] == [name, name]
    await until(lambda: service.stored[name].seconds == 600)
    await shelf.rest()
    shelf.now += 290
    assert (shelf.use(), service.log) == (name, ["POST", f"PATCH {name}"])


async def test_what_is_not_used_runs_out(shelf: Shelf, service: CachedService) -> None:
    """What is nearly over is not trusted to last until the request arrives."""
    first = await shelf.cached()
    shelf.now += 571
    assert shelf.use() == ""
    await until(lambda: service.log == ["POST", "POST"])
    assert await shelf.cached() != first


async def test_what_cannot_be_renewed_is_forgotten(shelf: Shelf, service: CachedService) -> None:
    """It may be gone; another one is made after an hour, for a prompt that is still in use."""
    name = await shelf.cached()
    service.stored.clear()
    shelf.now += 400
    with capture_logs() as lines:
        assert shelf.use() == name
        await until(lambda: bool(lines))
    assert [line["cause"] for line in lines] == [
        "403 CachedContent not found (or permission denied)"
    ]
    assert shelf.use() == ""
    shelf.now += 3500
    assert [shelf.use(), shelf.use()] == ["", ""]
    shelf.now += 101
    assert await shelf.cached() != name
    assert service.log == ["POST", f"PATCH {name}", "POST"]


async def test_trouble_is_told_once_until_it_is_over(shelf: Shelf, service: CachedService) -> None:
    """Another refusal an hour later adds nothing to the log; one after a success does."""

    async def ask_again(name: str, refusal: tuple[int, str] | None) -> None:
        """Use a prompt every five minutes until Google is asked to cache it."""
        service.refusal, asked = refusal, len(service.log)

        while len(service.log) == asked:
            shelf.now += 300
            shelf.use(name)
            await shelf.rest()

    with capture_logs() as lines:
        for _ in range(2):
            await ask_again("a", (429, "limit=0"))
        await ask_again("a", None)
        await shelf.cached()
        await ask_again("b", (503, "overloaded"))
        await until(lambda: len(lines) == 2)
    assert [line["cause"] for line in lines] == ["429 limit=0", "503 overloaded"]
    assert service.log == ["POST"] * 4


async def test_the_prompt_unused_for_longest_gives_way(
    shelf: Shelf, service: CachedService
) -> None:
    """Eight are remembered; what nobody uses runs out by itself."""
    names = {name: await shelf.cached(name) for name in "abcdefgh"}
    shelf.use("a")
    names["i"] = await shelf.cached("i")
    assert [shelf.use(name) for name in "aib"] == [names["a"], names["i"], ""]
    assert service.log == ["POST"] * 9


async def test_a_service_that_cannot_be_reached(dead: str) -> None:
    """The log has the kind of failure alone."""
    async with shelf_at(dead) as shelf:
        with capture_logs() as lines:
            shelf.use()
            shelf.use()
            await until(lambda: bool(lines))
    assert [line["cause"] for line in lines] == ["ClientConnectorError"]


async def test_an_answer_without_a_name_is_none(shelf: Shelf, service: CachedService) -> None:
    """It is not asked for again with every request."""
    service.refusal = (200, "not what was promised")
    with capture_logs() as lines:
        shelf.use()
        shelf.use()
        await until(lambda: bool(lines))
        shelf.use()
    assert ([line["cause"] for line in lines], service.log) == (["ValueError"], ["POST"])
