"""One browser for all tests of the page: the system's Chromium, without a window if there is one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

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
