"""The operator is told on the page, and in the metrics, that answers could not be delivered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect
from redis.asyncio import Redis
from starlette.applications import Starlette

from bot.store import Store, open_store
from bot.telemetry import Metrics
from bot.web.health import dead_letters_route, metrics_route
from tests.bot.store.turns import leased
from tests.browser.visit import BLANK, ask, visit
from tests.fakes.site import Site

AT = 1_763_700_000_000
HIDE = (
    "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); \
document.dispatchEvent(new Event('visibilitychange')); }"
)
PLACES = "elements => elements.map((e) => Object.values(e.getBoundingClientRect().toJSON()))"


@asynccontextmanager
async def two_letters(valkey_url: str) -> AsyncIterator[tuple[Store, httpx.AsyncClient]]:
    """A store with two dead letters, and a client of the routes that tell of it."""
    async with Redis.from_url(valkey_url) as redis, open_store(valkey_url, history_days=1) as store:
        await redis.flushall()
        lease = await leased(store, "console:room-0001")
        await store.journal.commit(lease, None, [b"one", b"two"], keep_turns=1)
        await store.outbox.move_head_to_dead_letters(lease, b"refused")
        await store.outbox.move_head_to_dead_letters(lease, b"refused again")
        app = Starlette(
            routes=[
                dead_letters_route(store.dead_letters.count, store.dead_letters.read),
                metrics_route(Metrics(), store),
            ]
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client:
            yield store, client


async def gauge(client: httpx.AsyncClient) -> float:
    """The metric of dead letters."""
    lines = (await client.get("/metrics")).text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("kaiwa_dead_letters "))


async def test_page_and_metric_follow_what_the_operator_does(valkey_url: str) -> None:
    """One is put back, the other deleted: neither is counted any longer."""
    async with two_letters(valkey_url) as (store, client):
        newest, oldest = await store.dead_letters.read()
        assert (await client.get("/dead-letters")).json() == {"count": 2, "newest": newest.at}
        assert await gauge(client) == 2
        assert await store.dead_letters.revive(newest)
        assert (await client.get("/dead-letters")).json() == {"count": 1, "newest": oldest.at}
        assert await gauge(client) == 1
        assert await store.dead_letters.discard(oldest)
        response = await client.get("/dead-letters")
        assert (response.json(), response.headers["cache-control"]) == (
            {"count": 0, "newest": 0},
            "no-store",
        )
        assert await gauge(client) == 0


async def test_a_store_that_is_away_is_told() -> None:
    """With the status that means later."""
    async with open_store("redis://127.0.0.1:1", history_days=1) as store:
        app = Starlette(
            routes=[dead_letters_route(store.dead_letters.count, store.dead_letters.read)]
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client:
            assert (await client.get("/dead-letters")).status_code == 503


async def test_only_the_operator_is_told() -> None:
    """The guard of the page stands before the route too."""
    async with Site(token="secret").open() as site, httpx.AsyncClient(base_url=site.url) as client:
        assert (await client.get("/dead-letters")).status_code == 401
        welcome = await client.get("/dead-letters", headers={"Authorization": "Bearer secret"})
        assert welcome.json() == {"count": 0, "newest": 0}


def notice(page: Page) -> Locator:
    """What tells of dead letters."""
    return page.locator("#undelivered")


@pytest.mark.parametrize(
    ("locale", "one", "two"),
    [
        ("en-GB", "1 answer could not be delivered:", "2 answers could not be delivered:"),
        ("ja-JP", "届けられなかった回答が1件あります：", "届けられなかった回答が2件あります："),
    ],
)
async def test_the_page_says_what_could_not_be_delivered(
    browser: Browser, locale: str, one: str, two: str
) -> None:
    """How many, and the command that shows them; put aside it stays away until there is another
    one."""
    async with Site().open() as site:
        site.letters.add(AT)
        async with visit(browser, site.url, locale=locale) as page:
            await expect(notice(page)).to_have_text(f"{one} kaiwa outbox list")
            await page.locator("#put_aside").click()
            await expect(notice(page)).to_be_hidden()
            await expect(page.locator("#box")).to_be_focused()
            await page.reload()
            await expect(page.locator("#welcome")).to_be_visible()
            await expect(notice(page)).to_be_hidden()
            site.letters.add(AT + 1)
            await page.reload()
            await expect(notice(page)).to_have_text(f"{two} kaiwa outbox list")
            site.letters.stored.clear()
            await page.reload()
            await expect(page.locator("#welcome")).to_be_visible()
            await expect(notice(page)).to_be_hidden()


@pytest.mark.parametrize("profile", [{"viewport": {"width": 320, "height": 640}}])
async def test_the_notice_moves_nothing_and_can_be_reached(site: Site, page: Page) -> None:
    """It lies over the words, fits a phone, is announced, and its button comes right after the
    header's."""
    turn = await ask(site, page, "Hello")
    await turn.answers("Good morning.")
    await expect(page.locator(".answer")).to_be_visible()
    before = await page.locator(".answer, #composer, header").evaluate_all(PLACES)
    site.letters.add(AT)
    await page.reload()
    await expect(notice(page)).to_be_visible()
    await expect(page.locator(".answer")).to_be_visible()
    assert await page.locator(".answer, #composer, header").evaluate_all(PLACES) == before
    box = await notice(page).bounding_box()
    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= 320) == (True, True)
    await expect(page.locator("[aria-live=polite]", has=notice(page))).to_be_attached()
    await page.locator("#new").focus()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Put this notice aside")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(notice(page)).to_be_hidden()


async def test_the_page_asks_once_a_minute_and_only_while_somebody_looks(browser: Browser) -> None:
    """A tab in the background asks nothing; looked at again it asks at once."""
    async with Site().open() as site, visit(browser, BLANK) as page:
        await page.clock.install()
        await page.goto(site.url)
        await expect(page.locator("#welcome")).to_be_visible()
        assert site.letters.asked == 1
        site.letters.add(AT)
        await page.clock.run_for(60_000)
        await expect(notice(page)).to_be_visible()
        assert site.letters.asked == 2
        await page.evaluate(HIDE, True)
        await page.clock.run_for(600_000)
        assert site.letters.asked == 2
        site.letters.add(AT + 1)
        await page.evaluate(HIDE, False)
        await expect(notice(page)).to_contain_text("2 answers")
        assert site.letters.asked == 3
        await page.evaluate(HIDE, False)
        assert site.letters.asked == 3
