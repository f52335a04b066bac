"""What can be done with an answer: it is copied, tried again, asked for in other words, and rated."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from playwright.async_api import Page, expect

from bot.channels import Button, InboundEvent
from tests.browser.test_attaching import PICTURE, choose
from tests.browser.visit import ask, expect_thread, press, say
from tests.fakes.site import Site, Turn

COPIED = {"permissions": ["clipboard-read", "clipboard-write"]}
GOOD = Button("Good answer", "feedback.good", "1:turn_1:m", style="good")
BAD = Button("Bad answer", "feedback.bad", "1:turn_1:m", style="bad")


async def taken_back(site: Site, turn: Turn) -> InboundEvent:
    """Wait until the message of a turn is taken back, and make it so in the history."""
    back = await site.arrival()
    assert (back.event, back.target) == ("unsent", turn.asked.id)
    site.history[turn.conversation].clear()
    return back


@pytest.mark.parametrize("profile", [COPIED])
async def test_an_answer_is_copied_as_it_was_written(site: Site, page: Page) -> None:
    """In Markdown; not before it is whole."""
    turn = await ask(site, page, "Hello")
    await turn.says("**Good")
    await expect(page.locator(".answer")).to_be_visible()
    await expect(page.locator(".actions button")).to_have_count(0)
    await turn.answers("**Good** morning.")
    await press(page, "Copy the answer")
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "**Good** morning."


async def test_an_answer_is_tried_again(site: Site, page: Page) -> None:
    """The message goes out anew with its files, and takes the place of itself and of its answer."""
    await choose(page, PICTURE)
    await expect(page.locator("#attached li[aria-busy=false]")).to_have_count(1)
    turn = await ask(site, page, "What is this?")
    await turn.answers("A dog.")
    await page.reload()
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()
    await press(page, "Try again")
    await taken_back(site, turn)
    await expect(page.locator(".answer")).to_have_count(0)
    await expect(page.locator(".user")).to_have_count(1)
    again = await site.turn()
    assert again.asked.parts == turn.asked.parts
    assert again.asked.id != turn.asked.id
    await again.answers("A cat.")
    await expect_thread(page, "user: What is this?", "answer: A cat.")


async def test_only_the_last_answer_is_tried_again(site: Site, page: Page) -> None:
    """And none while another one is made."""
    await (await ask(site, page, "One")).answers("1")
    await expect(page.get_by_role("button", name="Try again")).to_have_count(1)
    turn = await ask(site, page, "Two")
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    await turn.answers("2")
    await expect(page.locator(".answer").last.locator(".again")).to_be_visible()
    await expect(page.get_by_role("button", name="Try again")).to_have_count(1)


async def test_the_up_arrow_edits_the_last_message(site: Site, page: Page) -> None:
    """In an empty box; Escape leaves it as it was. What is sent takes its place."""
    turn = await ask(site, page, "Weather in Tokio?")
    await turn.answers("Where?")
    box = page.locator("#box")
    await box.press("ArrowUp")
    await expect(box).to_have_value("Weather in Tokio?")
    await expect(page.locator("#editing")).to_be_visible()
    await box.press("Escape")
    await expect(box).to_have_value("")
    await expect(page.locator("#editing")).to_be_hidden()
    await box.press("ArrowUp")
    await say(page, "Weather in Tokyo?")
    await taken_back(site, turn)
    await expect(page.locator("#editing")).to_be_hidden()
    await (await site.turn()).answers("Sunny.")
    await expect_thread(page, "user: Weather in Tokyo?", "answer: Sunny.")


async def test_an_edit_that_does_not_arrive_is_still_one(site: Site, page: Page) -> None:
    """The old message and its answer are back, and the new words in the box."""
    turn = await ask(site, page, "Weather in Tokio?")
    await turn.answers("Where?")
    await expect_thread(page, "user: Weather in Tokio?", "answer: Where?")
    site.away = True
    await press(page, "Edit your message")
    await say(page, "Weather in Tokyo?")
    await expect(page.locator("#notice")).not_to_have_text("")
    await expect(page.locator("#box")).to_have_value("Weather in Tokyo?")
    await expect_thread(page, "user: Weather in Tokio?", "answer: Where?")
    site.away = False
    await page.locator("#box").press("Enter")
    await taken_back(site, turn)
    await (await site.turn()).answers("Sunny.")
    await expect_thread(page, "user: Weather in Tokyo?", "answer: Sunny.")


async def test_an_answer_is_rated(site: Site, page: Page) -> None:
    """The later press counts; a press that does not arrive is none."""
    turn = await ask(site, page, "Hello")
    turn.commit("Good morning.")
    await turn.tells("Good morning.", "", GOOD, BAD)
    good, bad = (page.get_by_role("button", name=one.label) for one in (GOOD, BAD))
    for button, rating in ((good, GOOD), (bad, BAD)):
        await button.click()
        arrival = await site.arrival()
        assert (arrival.action, arrival.target) == (rating.action, rating.value)
        await expect(button).to_have_attribute("aria-pressed", "true")
    await expect(good).to_have_attribute("aria-pressed", "false")
    site.away = True
    await good.click()
    await expect(page.locator("#notice")).not_to_have_text("")
    await expect(bad).to_have_attribute("aria-pressed", "true")


async def test_what_was_rated_is_shown_after_a_reload(site: Site, page: Page) -> None:
    """Below its own answer; others can still be rated. A conversation that is deleted is forgotten."""
    for number in "12":
        turn = await ask(site, page, f"Tell me {number}")
        turn.commit(number)
        thumbs = [replace(thumb, value=f"{number}:turn:m") for thumb in (GOOD, BAD)]
        await turn.tells(number, "", *thumbs)
    await expect(page.locator(".actions .bad")).to_have_count(2)
    good, bad = (page.get_by_role("button", name=one.label) for one in (GOOD, BAD))
    await bad.last.click()
    await page.reload()
    assert (await site.arrival()).target == "2:turn:m"
    await expect(bad.last).to_have_attribute("aria-pressed", "true")
    await expect(page.locator(".actions [aria-pressed=false]")).to_have_count(3)
    await good.first.click()
    arrival = await site.arrival()
    assert (arrival.action, arrival.target) == (GOOD.action, "1:turn:m")
    await page.reload()
    await expect(good.first).to_have_attribute("aria-pressed", "true")
    await expect(bad.last).to_have_attribute("aria-pressed", "true")
    await press(page, "Conversations")
    await press(page, "Delete “Tell me 1”")
    await press(page, "Delete")
    await site.arrival()
    await expect(page.get_by_text("Nothing found.")).to_be_visible()
    assert await page.evaluate("localStorage.getItem('kaiwa.ratings')") == "[]"
