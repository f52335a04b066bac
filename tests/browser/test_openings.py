"""Beginning to talk: starters, and the commands that are listed behind a slash."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.test_looks import PHONE
from tests.browser.visit import press
from tests.fakes.site import Site

BOX, LIST = "#box", "#commands"


@pytest.mark.parametrize("profile", [{"locale": "ja-JP"}])
async def test_starters_are_offered_in_the_pages_language(site: Site, page: Page) -> None:
    """Six of them; the other language has the same ones."""
    starters = page.locator("#examples button")
    await expect(starters).to_have_count(6)
    await expect(starters.first).to_have_text("明日の東京の天気は？")
    await press(page, "English")
    await expect(starters.first).to_have_text("What will the weather be like in Tokyo tomorrow?")
    await starters.nth(2).click()
    assert (await site.arrival()).message.text == "What is 18% of 2,450?"


async def test_a_slash_lists_the_commands_in_both_languages(site: Site, page: Page) -> None:
    """Each with what it does; arrows choose one, Enter writes it, and the next Enter sends it."""
    box, commands = page.locator(BOX), page.locator(LIST)
    await box.press_sequentially("/")
    await expect(commands.get_by_role("option")).to_have_count(9)
    await box.press_sequentially("re")
    await expect(commands.get_by_role("option")).to_have_text(
        [
            "/reset · /リセットDelete this conversation and start over",
            "/reminders · /リマインダーYour reminders here",
        ]
    )
    await expect(box).to_have_attribute("aria-activedescendant", "command_0")
    await box.press("ArrowDown")
    await expect(commands.locator("[aria-selected=true]")).to_contain_text("/reminders")
    await box.press("Enter")
    await expect(box).to_have_value("/reminders")
    await expect(commands).to_be_hidden()
    assert site.waiting == 0
    await box.press("Enter")
    assert (await site.arrival()).message.text == "/reminders"


async def test_a_whole_command_is_sent_at_once(site: Site, page: Page) -> None:
    """Escape closes the list, and what is no command is sent as it is."""
    box = page.locator(BOX)
    await box.press_sequentially("/USAGE")
    await box.press("Enter")
    assert (await site.arrival()).message.text == "/USAGE"
    await box.press_sequentially("/u")
    await box.press("Escape")
    await expect(page.locator(LIST)).to_be_hidden()
    await box.press("Enter")
    assert (await site.arrival()).message.text == "/u"


@pytest.mark.parametrize("profile", [PHONE | {"locale": "ja-JP"}])
async def test_on_a_phone_a_command_is_tapped_and_enter_begins_a_line(
    site: Site, page: Page
) -> None:
    """A keyboard of glass has no Shift + Enter; the button sends."""
    box = page.locator(BOX)
    await box.press_sequentially("／リ")
    await page.get_by_role("option", name="/リセット").tap()
    await expect(box).to_have_value("/リセット")
    await box.fill("一")
    await box.press("Enter")
    await box.press_sequentially("二")
    await expect(box).to_have_value("一\n二")
    assert site.waiting == 0
    await page.locator("#send").tap()
    assert (await site.arrival()).message.text == "一\n二"


@pytest.mark.parametrize("profile", [{"timezone_id": "America/New_York"}])
async def test_the_browsers_time_zone_is_the_persons(site: Site, page: Page) -> None:
    """It goes with each message."""
    await page.locator(BOX).fill("What time is it?")
    await page.locator(BOX).press("Enter")
    author = (await site.arrival()).message.author
    assert author is not None
    assert author.time_zone == "America/New_York"
