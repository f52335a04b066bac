"""One browser for all tests of the page, the system's Chromium without a window; a site and a page
for each test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.browser.visit import visit
from tests.fakes.site import Site

# Debian's build that draws on no screen takes half the time of the whole browser.
NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser lives in one loop, and so do its tests."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def find_chromium() -> str | None:
    """Where the first of them is that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Started once; every visit has its own profile."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("Chromium is not installed")
    expect.set_options(timeout=10_000)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[Site]:
    """A site that everybody may see."""
    async with Site().open() as site:
        yield site


@pytest.fixture
def profile() -> dict[str, Any]:
    """How the browser of ``page`` differs from an English one at a desk; for tests to set."""
    return {}


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, site: Site, profile: dict[str, Any]) -> AsyncIterator[Page]:
    """The site's page, loaded."""
    async with visit(browser, site.url, **profile) as page:
        await expect(page.locator("#welcome")).to_be_visible()
        yield page
