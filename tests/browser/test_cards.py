"""Cards and choices on the page: below the answer, live and from the history; a press says what the
button says."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.visit import ask
from tests.fakes.site import Site
from toolset.shown import Card

CARD = Card("<b>Tokyo</b>", (("Now", "20 °C"), ("Today", "<i>Sunny</i>")), "wttr.in")


async def test_a_card_stands_below_the_answer(site: Site, page: Page) -> None:
    """It stays when the turn becomes history, and after a reload; its texts are never markup."""
    turn = await ask(site, page, "The weather?")
    await turn.returns(await turn.calls("get_weather", {}), {}, card=CARD)
    await turn.answers("Sunny.")
    card = page.locator(".answer .card")
    for _ in range(2):
        await expect(card.locator(".ask")).to_have_text(CARD.title)
        await expect(card.locator("dt")).to_have_text(["Now", "Today"])
        await expect(card.locator("dd")).to_have_text(["20 °C", "<i>Sunny</i>"])
        await expect(card.locator(".hint")).to_have_text("wttr.in")
        await page.reload()


async def test_a_press_says_the_choice(site: Site, page: Page) -> None:
    """Then the choices are gone, as after any other message; after a reload they are there until
    then."""
    turn = await ask(site, page, "The weather?")
    await turn.returns(
        await turn.calls("offer_choices", {}), {}, choices=("Today", "<b>Tomorrow</b>")
    )
    await turn.answers("Which day?")
    buttons = page.locator(".answer .choices button")
    await expect(buttons).to_have_text(["Today", "<b>Tomorrow</b>"])
    await page.reload()
    await expect(buttons).to_have_count(2)
    await buttons.nth(1).click()
    assert (await site.arrival()).message.text == "<b>Tomorrow</b>"
    await expect(buttons).to_have_count(0)
    await expect(page.locator(".user").last).to_have_text("<b>Tomorrow</b>")
