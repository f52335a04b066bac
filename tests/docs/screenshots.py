"""Takes docs/images/page.png: ``kaiwa run`` with the demo model, in Chromium (``make
screenshots``).

The weather is that of the stand-in for wttr.in, and ``book_room`` is a tool of ``TOOLS_DIR``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Page, async_playwright, expect

from tests.browser.conftest import FLAGS, find_chromium
from tests.browser.visit import say, visit
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import kaiwa
from tests.project import ROOT

PICTURE = ROOT / "docs" / "images" / "page.png"
TOOLS = ROOT / "tests" / "docs" / "tools"
SIZE = {"width": 1000, "height": 1400}


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


async def take(picture: Path) -> None:
    """Write the picture."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("screenshots: install Chromium")
    with TemporaryDirectory() as folder, WttrFake().served() as wttr:
        wttr.place("Tokyo", high=24, low=16, condition="Partly cloudy", rain=20)
        variables = {
            "WTTR_BASE_URL": wttr.base_url,
            "TOOLS_DIR": str(TOOLS),
            "HOOKS": "_fill_in:FillIn",
        }
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            async with (
                kaiwa(Path(folder), "run", TIMEZONE="Asia/Tokyo", **variables) as running,
                visit(browser, running.base_url, viewport=SIZE, color_scheme="light") as page,
            ):
                await talk(page)
                await page.screenshot(path=picture, animations="disabled")
            await browser.close()


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    asyncio.run(take(PICTURE))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB")
