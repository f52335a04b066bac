"""The drawer of conversations: they have their first words as titles, and are found, renamed and
deleted there."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.test_looks import PHONE
from tests.browser.visit import ask, expect_text, expect_thread, press
from tests.fakes.site import Site, Turn

TITLES = "#listed .open span"
SMALL = PHONE | {"viewport": {"width": 375, "height": 700}}


async def talk(site: Site, page: Page, *first: str) -> None:
    """Begin a conversation with each of these."""
    for text in first:
        await press(page, "New conversation")
        await (await ask(site, page, text)).answers("Yes.")
        await expect_thread(page, f"user: {' '.join(text.split())}", "answer: Yes.")


async def test_conversations_are_listed_by_their_first_words(site: Site, page: Page) -> None:
    """The newest first; a press opens one, and the one that is open says so."""
    await talk(site, page, "A trip to Kyoto", "<b>Dinner</b>\nfor six")
    await press(page, "Conversations")
    await expect_text(page, TITLES, ["<b>Dinner</b> for six", "A trip to Kyoto"])
    await expect(page.locator("#listed [aria-current]")).to_contain_text("Dinner")
    await page.get_by_role("button", name="A trip to Kyoto").first.click()
    await expect_thread(page, "user: A trip to Kyoto", "answer: Yes.")
    await expect(page.locator("#drawer")).to_be_hidden()
    await page.reload()
    await press(page, "Conversations")
    await expect(page.locator("#listed [aria-current]")).to_contain_text("Kyoto")


async def test_one_is_found_by_a_part_of_its_title(site: Site, page: Page) -> None:
    """In letters of any case and width; where there is none, it is said."""
    await talk(site, page, "A trip to Kyoto", "Dinner for six")
    await press(page, "Conversations")
    find = page.get_by_role("searchbox", name="Search conversations")
    await find.fill("ＫＹＯ")
    await expect_text(page, TITLES, ["A trip to Kyoto"])
    await find.fill("Osaka")
    await expect(page.get_by_text("Nothing found.")).to_be_visible()


async def test_one_is_found_by_words_of_its_messages(site: Site, page: Page) -> None:
    """They stand below its title, as text; letters of any case and width are the same."""
    await talk(site, page, "A trip to Kyoto", "Dinner for six")
    await (await ask(site, page, "Where?")).answers("At the <b>Ｇａｌｌｏｐｉｎｇ</b> Horse.")
    await press(page, "New conversation")
    await press(page, "Conversations")
    find = page.get_by_role("searchbox", name="Search conversations")
    await find.fill("galloping")
    await expect_text(page, TITLES, ["Dinner for six"])
    await expect_text(page, "#listed q", ["At the <b>Ｇａｌｌｏｐｉｎｇ</b> Horse."])
    await expect(page.get_by_text("Nothing found.")).to_be_hidden()
    await find.fill("galloping goose")
    await expect(page.get_by_text("Nothing found.")).to_be_visible()
    await find.fill("")
    await expect_text(page, TITLES, ["Dinner for six", "A trip to Kyoto"])


async def test_one_is_renamed_by_keyboard(site: Site, page: Page) -> None:
    """Escape keeps the title; the new one stays when more is said. The focus comes back to the button."""
    await talk(site, page, "A trip to Kyoto")
    await page.locator("#conversations").press("Enter")
    rename = page.get_by_role("button", name="Rename “A trip to Kyoto”")
    title = page.get_by_role("textbox", name="Title")
    await rename.press("Enter")
    await title.fill("Never mind")
    await title.press("Escape")
    await expect_text(page, TITLES, ["A trip to Kyoto"])
    await expect(rename).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(title).to_be_focused()
    await title.fill("Autumn")
    await title.press("Enter")
    await expect_text(page, TITLES, ["Autumn"])
    await expect(page.get_by_role("button", name="Rename “Autumn”")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator("#conversations")).to_be_focused()
    await (await ask(site, page, "And back?")).answers("Yes.")
    await press(page, "Conversations")
    await expect_text(page, TITLES, ["Autumn"])


async def test_a_deleted_one_is_deleted_on_the_server(site: Site, page: Page) -> None:
    """The bot is told to; where it does not hear, the conversation stays and it is said why."""
    await talk(site, page, "A trip to Kyoto", "Dinner for six")
    await press(page, "Conversations")
    delete = page.get_by_role("button", name="Delete “Dinner for six”")
    await delete.click()
    await press(page, "Keep")
    site.away = True
    await delete.click()
    await press(page, "Delete")
    await expect(page.locator("#drawer_notice")).to_contain_text("cannot be stored")
    site.away = False
    await press(page, "Delete")
    assert (await site.arrival()).message.text == "/reset"
    await expect_text(page, TITLES, ["A trip to Kyoto"])
    await press(page, "Close")
    await expect(page.locator("#welcome")).to_be_visible()


async def test_one_is_deleted_by_keyboard(site: Site, page: Page) -> None:
    """Whoever holds Enter down deletes nothing; Escape leaves the question, then the drawer."""
    await talk(site, page, "A trip to Kyoto", "Dinner for six")
    await page.locator("#conversations").press("Enter")
    drawer, delete = page.locator("#drawer"), page.get_by_role("button", name="Delete “Dinner")
    trip = page.get_by_role("button", name="A trip to Kyoto").first
    order = [
        page.get_by_role("button", name="Close"),
        page.get_by_role("searchbox"),
        page.get_by_role("button", name="Dinner for six").first,
        page.get_by_role("button", name="Rename “Dinner"),
        delete,
        trip,
    ]
    for place in order:
        await expect(place).to_be_focused()
        await page.keyboard.press("Tab")
    await delete.press("Enter")
    await page.keyboard.press("Enter")
    await expect(delete).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Keep")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(delete).to_be_focused()
    await expect(drawer).to_be_visible()
    assert site.waiting == 0
    await page.keyboard.press("Enter")
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    assert (await site.arrival()).message.text == "/reset"
    await expect_text(page, TITLES, ["A trip to Kyoto"])
    await expect(trip).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()
    await expect(page.locator("#conversations")).to_be_focused()


@pytest.mark.parametrize("profile", [SMALL])
async def test_on_a_phone_they_are_renamed_and_deleted(site: Site, page: Page) -> None:
    """By touch alone: no keyboard of glass comes up but for the title; what lies between buttons
    closes nothing."""
    await talk(site, page, "A trip to Kyoto", "Dinner for six")
    await page.locator("#conversations").tap()
    drawer, title = page.locator("#drawer"), page.get_by_role("textbox", name="Title")
    await page.get_by_role("button", name="Rename “A trip to Kyoto”").tap()
    await expect(title).to_be_focused()
    await title.fill("Autumn")
    await page.get_by_role("button", name="Save").tap()
    await expect_text(page, TITLES, ["Dinner for six", "Autumn"])
    await expect(page.locator("input:focus, textarea:focus")).to_have_count(0)
    delete = page.get_by_role("button", name="Delete “Dinner for six”")
    await delete.tap()
    await page.get_by_role("button", name="Keep").tap()
    await delete.tap()
    await expect(page.get_by_text("Delete “Dinner for six” with everything")).to_be_in_viewport()
    await page.get_by_role("button", name="Delete", exact=True).tap()
    assert (await site.arrival()).message.text == "/reset"
    await expect_text(page, TITLES, ["Autumn"])
    await expect(page.locator("input:focus, textarea:focus")).to_have_count(0)
    await page.touchscreen.tap(8, 300)
    await expect(drawer).to_be_visible()
    await page.touchscreen.tap(370, 300)
    await expect(drawer).to_be_hidden()
    await expect(page.locator("#welcome")).to_be_visible()


async def reset(site: Site, turn: Turn) -> None:
    """Delete a conversation, as the bot does when it is told so."""
    assert turn.asked.text == "/reset"
    site.history[turn.conversation].clear()
    await turn.answers("Done.")


@pytest.mark.parametrize("profile", [SMALL])
async def test_on_a_phone_a_conversation_begins_anew(site: Site, page: Page) -> None:
    """What /reset has deleted is on the page no more, nor in the drawer; a new conversation leaves the
    old one there."""
    await talk(site, page, "A trip to Kyoto")
    await page.locator("#box").press_sequentially("/res")
    await page.get_by_role("option", name="/reset").tap()
    await page.locator("#send").tap()
    await reset(site, await site.turn())
    await expect_thread(page, "user: /reset", "answer: Done.")
    await (await ask(site, page, "Dinner for six")).answers("Where?")
    await page.get_by_role("button", name="New conversation").tap()
    await expect(page.locator("#welcome")).to_be_visible()
    await page.locator("#conversations").tap()
    await expect_text(page, TITLES, ["Dinner for six"])


async def test_by_keyboard_a_conversation_begins_anew(site: Site, page: Page) -> None:
    """The box has the focus then. A name that somebody has given stays."""
    await talk(site, page, "A trip to Kyoto")
    await page.locator("#conversations").press("Enter")
    await page.get_by_role("button", name="Rename").press("Enter")
    await page.keyboard.type("Autumn")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Escape")
    box = page.locator("#box")
    await box.press_sequentially("/res")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await reset(site, await site.turn())
    await expect_thread(page, "user: /reset", "answer: Done.")
    await page.locator("#new").press("Enter")
    await expect(page.locator("#welcome")).to_be_visible()
    await expect(box).to_be_focused()
    await page.locator("#conversations").press("Enter")
    await expect_text(page, TITLES, ["Autumn"])


@pytest.mark.parametrize("profile", [PHONE, {"locale": "ja-JP", "color_scheme": "dark"}])
async def test_the_drawer_fits(site: Site, page: Page, profile: dict[str, Any]) -> None:
    """Nothing of it is beyond the edge, also of a long title; every button can be touched."""
    await (await ask(site, page, "Donaudampfschifffahrt" * 9)).answers("Yes.")
    await page.locator("#conversations").click()
    await expect(page.locator("#drawer")).to_be_visible()
    for element in await page.locator("#drawer :is(button, input):visible").all():
        box = await element.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 384
        assert min(box["width"], box["height"]) >= 24
