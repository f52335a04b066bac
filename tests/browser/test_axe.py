"""axe-core finds nothing wrong with the page, in whatever state, width, light and language it is.

``axe.min.js`` is axe-core 4.14.1 as npm has it (MPL-2.0, its notice is on top); it is for this test
alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from bot.channels import Button
from bot.features.lists.cards import ticking_card
from bot.features.lists.store import StoredItem
from bot.features.polls.poll import Poll
from tests.bot.harness import texts
from tests.browser.test_looks import PHONE, a_full_page
from tests.browser.visit import ask, visit
from tests.fakes.site import Site

AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")
RUN = """async () => {
  const { violations, passes } = await axe.run();
  if (passes.length < 10) throw new Error("there is nothing to check");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
}"""
DRAWN = "- [x] Tea\n\n$x^2$\n\n$$y^2$$\n\n```python\nx = 1  # one\n```"
RATINGS = (
    Button("Good answer", "feedback.good", "1:turn_1:m", style="good"),
    Button("Bad answer", "feedback.bad", "1:turn_1:m", style="bad"),
)


async def found(page: Page) -> list[str]:
    """What axe finds."""
    await page.evaluate(AXE)
    violations: list[str] = await page.evaluate(RUN)
    return violations


@pytest.mark.parametrize(
    "profile",
    [
        {"viewport": {"width": 1280, "height": 800}},
        {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
        PHONE | {"viewport": {"width": 375, "height": 700}, "locale": "ja-JP"},
    ],
)
async def test_axe_finds_nothing(site: Site, page: Page, profile: dict[str, Any]) -> None:
    """At the start, while commands are listed, with everything in the thread, and in the drawer."""
    assert await found(page) == []
    await page.locator("#box").press_sequentially("/")
    await expect(page.locator("#commands")).to_be_visible()
    assert await found(page) == []
    turn = await ask(site, page, "Show me")
    turn.commit(DRAWN)
    await turn.tells(DRAWN, "", *RATINGS)
    await expect(page.locator(".hl-number")).to_be_attached()
    await expect(page.locator("math")).to_have_count(2)
    assert await found(page) == []
    items = [
        StoredItem(1, "x", "milk", is_ticked=True),
        StoredItem(2, "x", "eggs", is_ticked=False),
    ]
    site.cards = [
        Poll("poll_1", "Where do we eat?", ("Sushi", "Curry"), (0, 0)).card(texts()),
        ticking_card("Shopping", items, "en"),
    ]
    await a_full_page(site, page)
    assert await found(page) == []
    await page.locator("#conversations").click()
    await page.locator("#listed button").last.click()
    assert await found(page) == []


async def test_axe_finds_nothing_where_one_signs_in(browser: Browser) -> None:
    """The form is a page of its own."""
    async with Site(token="secret").open() as site, visit(browser, site.url) as page:
        assert await found(page) == []
