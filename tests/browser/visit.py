"""A person's visit to the page, and what such a person does there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, Error, Page, expect

from tests.fakes.site import Site, Turn
from tests.waiting import until_true

BLANK = "about:blank"
ALERT, STATUS, ANSWER = "[role=alert]", "[role=status]", ".answer"


@asynccontextmanager
async def visit(browser: Browser, url: str, **profile: Any) -> AsyncIterator[Page]:
    """Open the page in a fresh profile (English, unless it says otherwise); scripts that fail, fail
    the test."""
    async with await browser.new_context(**{"locale": "en-GB"} | profile) as context:
        context.set_default_timeout(10_000)
        page = await context.new_page()
        errors: list[Error] = []
        page.on("pageerror", lambda error: errors.append(error))
        await page.goto(url)
        if url != BLANK:
            await expect(page.locator("main")).to_be_visible()  # the scripts listen
        yield page
        assert errors == []


async def say(page: Page, text: str) -> None:
    """Type a message and press Enter, or touch the button."""
    await page.locator("#box").fill(text)
    if await page.evaluate("matchMedia('(pointer: coarse)').matches"):
        await page.locator("#send").tap()
    else:
        await page.locator("#box").press("Enter")


async def ask(site: Site, page: Page, text: str) -> Turn:
    """Say something; the turn that answers it."""
    await say(page, text)
    return await site.turn()


async def press(page: Page, name: str) -> None:
    """Press the button of this name."""
    await page.get_by_role("button", name=name, exact=True).click()


async def expect_text(page: Page, place: str, text: str | list[str]) -> None:
    """Wait until this stands in a place of the page, or in the places one after the other."""
    await expect(page.locator(place)).to_have_text(text)


async def thread(page: Page) -> list[str]:
    """What the page shows as said, from the first word to the last: ``kind: text``."""
    items: list[str] = await page.locator("#log > li").evaluate_all(
        "items => items.map((item) => `${item.classList[0]}: "
        "${item.innerText.trim().replaceAll(/\\s+/g, ' ')}`)"
    )
    return items


async def expect_thread(page: Page, *items: str) -> None:
    """Wait until the page shows exactly this."""
    log = page.locator("#log")
    await expect(log.locator("> li")).to_have_count(len(items))
    await expect(log).to_have_attribute("aria-busy", "false")

    async def is_shown() -> bool:
        return await thread(page) == list(items)

    with suppress(TimeoutError):
        await until_true(is_shown, 5)
    assert await thread(page) == list(items)
