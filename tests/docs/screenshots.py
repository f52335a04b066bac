"""Takes docs/images/page.png and inside.png: ``kaiwa run`` with the demo model, in Chromium (``make
screenshots``).

The weather is that of the stand-in for wttr.in, and ``book_room`` is a tool of ``TOOLS_DIR``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Page, ViewportSize, async_playwright, expect

from tests.browser.conftest import FLAGS, find_chromium
from tests.browser.visit import say, visit
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import kaiwa
from tests.project import ROOT

IMAGES = ROOT / "docs" / "images"
TOOLS = ROOT / "tests" / "docs" / "tools"
SIZE = {"width": 1000, "height": 1400}
DESK: ViewportSize = {"width": 1280, "height": 900}
TOKEN = "a token that nobody else knows"


async def talk(page: Page) -> None:
    """A question with two tool calls, one of them opened, its card, and a tool that waits for
    approval."""
    log = page.locator("#log")
    await say(page, "What will the weather be like in Tokyo tomorrow, and what is 18% of 2,450?")
    await expect(log.locator("> li")).to_have_count(4)
    await expect(log).to_have_attribute("aria-busy", "false")
    await page.locator("summary").nth(1).click()
    await say(page, "/book room 3 at 18:00 for the trip to Kyoto")
    await expect(page.locator(".question .card")).to_be_visible()
    await page.mouse.move(0, 0)


async def look_inside(page: Page) -> None:
    """The turn with the two calls, one of them opened with its arguments and result."""
    await page.get_by_label("INSIDE_TOKEN").fill(TOKEN)
    await page.get_by_label("INSIDE_TOKEN").press("Enter")
    await expect(page.locator("#unlock button")).to_be_hidden()
    await page.locator("#list .row").last.click()
    call = page.locator(".waterfall .call .step").first
    await call.click()
    await expect(page.locator(".sides pre")).to_have_count(2)
    await page.mouse.move(0, 0)


async def take(images: Path) -> None:
    """Write the pictures."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("screenshots: install Chromium")
    with TemporaryDirectory() as folder, WttrFake().served() as wttr:
        wttr.place("Tokyo", high=24, low=16, condition="Partly cloudy", rain=20)
        variables = {
            "WTTR_BASE_URL": wttr.base_url,
            "TOOLS_DIR": str(TOOLS),
            "HOOKS": "_fill_in:FillIn",
            "INSIDE_TOKEN": TOKEN,
        }
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            async with (
                kaiwa(Path(folder), "run", TIMEZONE="Asia/Tokyo", **variables) as running,
                visit(browser, running.base_url, viewport=SIZE, color_scheme="light") as page,
            ):
                await talk(page)
                await page.screenshot(path=images / "page.png", animations="disabled")
                await page.set_viewport_size(DESK)
                await page.goto(f"{running.base_url}/inside")
                await look_inside(page)
                await page.screenshot(path=images / "inside.png", animations="disabled")
            await browser.close()


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    asyncio.run(take(IMAGES))
    for picture in sorted(IMAGES.glob("*.png")):
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1024} KiB")
