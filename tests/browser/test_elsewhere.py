"""What comes while the person looks at something else: the title counts it, and the browser tells it."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.visit import ask, press
from tests.fakes.site import Site

LOOK = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
# The browser without a screen shows no notifications: what the page asks it for is noted.
NOTE = """() => {
    window.shown = [];
    window.Notification = class extends EventTarget {
      static permission = "default";
      static async requestPermission() { return (this.permission = "granted"); }
      constructor(title, { body }) { super(); window.shown.push([title, body]); }
    };
}"""


async def test_the_title_counts_what_comes_meanwhile(site: Site, page: Page) -> None:
    """Until somebody looks; without permission nothing else happens."""
    turn = await ask(site, page, "Hello")
    await page.evaluate(LOOK, True)
    await turn.answers("Good morning.")
    await expect(page).to_have_title("(1) Kaiwa")
    await page.evaluate(LOOK, False)
    await expect(page).to_have_title("Kaiwa")


async def test_a_notification_tells_what_has_come(site: Site, page: Page) -> None:
    """Once the person has allowed it, in the drawer; and only while nobody looks."""
    await page.add_init_script(f"({NOTE})()")
    await page.reload()
    await press(page, "Conversations")
    allow = page.get_by_role("button", name="Notify me of answers")
    await allow.click()
    await expect(allow).to_be_hidden()
    await press(page, "Close")
    await (await ask(site, page, "Hello")).answers("Good morning.")
    await expect(page.locator(".answer")).to_have_text("Good morning.")
    turn = await ask(site, page, "And a good night?")
    await page.evaluate(LOOK, True)
    await turn.answers("Good night.")
    await expect(page).to_have_title("(1) Kaiwa")
    assert await page.evaluate("window.shown") == [["Kaiwa", "Good night."]]


async def test_what_comes_while_the_page_rests_is_counted_too(site: Site, page: Page) -> None:
    """A page that nobody looks at closes its stream, and asks now and then."""
    await page.clock.install()
    first = await ask(site, page, "Remind me in an hour")
    await first.answers("I will.")
    await expect(page.locator(".answer")).to_have_text("I will.")
    await page.evaluate(LOOK, True)
    await page.clock.run_for(61_000)
    await site.watched(0)
    second = await ask(site, page, "And in two")
    await second.answers("I will.")
    await page.clock.run_for(70_000)
    await expect(page).to_have_title("(1) Kaiwa")
