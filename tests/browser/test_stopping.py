"""Stop ends the turn under way: by a button that is there while one runs, or by Escape in the
box."""

from __future__ import annotations

from playwright.async_api import Page, expect

from bot.channels import STOP
from tests.browser.visit import ALERT, ANSWER, STATUS, ask, expect_text, expect_thread, press, say
from tests.fakes.site import Site


async def test_a_running_turn_can_be_stopped(site: Site, page: Page) -> None:
    """The button is there while something runs, is pressed once, and goes with the turn; words may
    still be sent."""
    stop = page.get_by_role("button", name="Stop")
    await expect(stop).to_be_hidden()
    turn = await ask(site, page, "Tell me a story")
    await turn.says("Once upon")
    await stop.click()
    await expect(stop).to_be_disabled()
    await expect(page.locator("#box")).to_be_focused()
    arrival = await site.arrival()
    assert (arrival.action, arrival.message.parts) == (STOP, ())
    await turn.answers("Stopped.")
    await expect_thread(page, "user: Tell me a story", "answer: Stopped.")
    await expect(stop).to_be_hidden()
    await say(page, "Another one")
    await site.turn()
    await expect(stop).to_be_enabled()


async def test_escape_in_the_box_stops(site: Site, page: Page) -> None:
    """Not where it ends the composition of Japanese, and not where nothing runs."""
    await page.locator("#box").press("Escape")
    turn = await ask(site, page, "Tell me a story")
    await turn.says("Once upon")
    await expect_text(page, ANSWER, "Once upon")
    keys = await page.context.new_cdp_session(page)
    await keys.send(
        "Input.imeSetComposition", {"text": "あした", "selectionStart": 3, "selectionEnd": 3}
    )
    escape = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 229}
    await keys.send("Input.dispatchKeyEvent", {"type": "rawKeyDown"} | escape)
    box = page.locator("#box")
    await keys.send("Input.imeSetComposition", {"text": "", "selectionStart": 0, "selectionEnd": 0})
    await box.evaluate(
        "box => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', keyCode: 229}))"
    )
    await expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    assert site.waiting == 0
    await box.press("Escape")
    assert (await site.arrival()).action == STOP


async def test_a_stop_that_did_not_arrive_can_be_repeated(site: Site, page: Page) -> None:
    """The page says that it did not, and the turn goes on."""
    await say(page, "Tell me a story")
    await site.turn()
    await page.route("**/actions", lambda route: route.fulfill(status=502, body="<html>"))
    await press(page, "Stop")
    await expect_text(page, ALERT, "The bot could not be reached. Please try again.")
    await page.unroute("**/actions")
    await press(page, "Stop")
    assert (await site.arrival()).action == STOP


async def test_what_waited_when_somebody_stopped_is_not_waited_for(site: Site, page: Page) -> None:
    """It stays in sight, and nothing seems to be under way; what is said afterwards is answered as
    ever."""
    turn = await ask(site, page, "First")
    await say(page, "Second")
    await press(page, "Stop")
    assert [(await site.arrival()).action for _ in range(2)] == ["", STOP]
    await turn.answers("Stopped.")
    await expect_text(page, STATUS, "")
    await expect_thread(page, "user: First", "answer: Stopped.", "user: Second")
    await page.reload()
    await expect_thread(page, "user: First", "answer: Stopped.", "user: Second")
    turn = await ask(site, page, "Third")
    await turn.answers("Yes.")
    await expect(page.locator(".answer").last).to_have_text("Yes.")
