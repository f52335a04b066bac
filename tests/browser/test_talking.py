"""Talking on the page, in a real browser: words as they come, tools that open, keys that do what
they should."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from bot.transcript import Message, Text
from tests.browser.visit import ANSWER, STATUS, ask, expect_text, expect_thread, press
from tests.fakes.site import Site


async def test_an_answer_appears_while_it_is_made(site: Site, page: Page) -> None:
    """Each piece of the stream is seen before the next one exists."""
    turn = await ask(site, page, "Will it rain?")
    await expect_text(page, STATUS, "Thinking…")
    answer = page.locator(".answer .markdown")
    await turn.says("It will be **su")
    await expect(answer).to_have_text("It will be **su")
    await turn.says("nny** today")
    await expect(answer).to_have_text("It will be sunny today")
    await expect(answer.locator("strong")).to_have_text("sunny")
    await expect_text(page, STATUS, "")
    await turn.answers("It will be **sunny** today.")
    await expect_thread(page, "user: Will it rain?", "answer: It will be sunny today.")


async def test_a_reminder_shows_only_what_it_says(site: Site, page: Page) -> None:
    """Nobody has written the message that it brings."""
    turn = await ask(site, page, "Remind me to drink water")
    await turn.answers("Set.")
    await expect_thread(page, "user: Remind me to drink water", "answer: Set.")
    (past,) = site.history.values()
    past += [
        Message("scheduled_1_2", "user", (Text("It is time: drink water"),), 2),
        Message("m9", "model", (Text("⏰ drink water"),), 3),
    ]
    await page.reload()
    await expect_thread(
        page, "user: Remind me to drink water", "answer: Set.", "answer: ⏰ drink water"
    )


async def test_a_tool_call_can_be_opened_by_keyboard(site: Site, page: Page) -> None:
    """It shows name, arguments, result and time, and stays open while the turn becomes history."""
    turn = await ask(site, page, "Weather in Tokyo?")
    call = await turn.calls("get_weather", {"location": "Tokyo", "days": 2})
    summary = page.locator(".tool summary")
    await expect(summary).to_have_text("get_weatherTokyo · 2running…")
    await page.get_by_role("button", name="Attach files").press("Shift+Tab")
    await expect(summary).to_be_focused()
    await page.keyboard.press("Enter")
    given, returned = page.locator(".tool pre").all_inner_texts, page.locator(".tool pre").last
    assert await given() == ['{\n  "location": "Tokyo",\n  "days": 2\n}', "running…"]
    await turn.returns(call, {"condition": "Sunny"}, ms=1234)
    await expect(returned).to_have_text('{ "condition": "Sunny" }')
    await turn.answers("Sunny.")
    await expect(summary).to_have_text("get_weatherTokyo · 21.2 s")
    await expect(page.locator("#log")).to_have_attribute("aria-busy", "false")
    await expect(returned).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(returned).to_be_hidden()
    await expect(summary).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator("#box")).to_be_focused()


async def test_a_tool_is_called_by_its_title(site: Site, page: Page) -> None:
    """Live and from the history, in the language that is chosen then; a hint says its name."""
    site.titles = {("get_weather", "en"): "Weather", ("get_weather", "ja"): "天気"}
    turn = await ask(site, page, "Weather in Tokyo?")
    name = page.locator(".tool .name")
    call = await turn.calls("get_weather", {"location": "Tokyo"}, "Weather")
    await expect(name).to_have_text("Weather")
    await expect(name).to_have_attribute("title", "get_weather")
    await turn.returns(call, {"condition": "Sunny"})
    await turn.answers("Sunny.")
    await page.locator("#language").click()
    await expect(name).to_have_text("天気")


async def test_parallel_calls_end_each_for_itself(site: Site, page: Page) -> None:
    """A failed call is told in words, not only in colour."""
    turn = await ask(site, page, "Tokyo and Atlantis?")
    tokyo, atlantis = (
        await turn.calls("get_weather", {"location": "Tokyo"}),
        await turn.calls("get_weather", {}),
    )
    await turn.returns(atlantis, {"error": "location not found"}, ms=80)
    await turn.returns(tokyo, {"condition": "Sunny"}, ms=90)
    await turn.answers("Sunny; and no Atlantis.")
    await expect_thread(
        page,
        "user: Tokyo and Atlantis?",
        "tool: get_weather Tokyo 90 ms",
        "tool: get_weather failed · 80 ms",
        "answer: Sunny; and no Atlantis.",
    )


async def test_words_before_a_call_stay_and_void_words_go(site: Site, page: Page) -> None:
    """A request that is sent again begins anew after the last result; what stood before it was
    really said."""
    turn = await ask(site, page, "Weather?")
    await turn.says("One moment.")
    call = await turn.calls("get_weather", {})
    await turn.returns(call, {})
    await turn.says("It is rai")
    await expect(page.locator(".answer").last).to_have_text("It is rai")
    await turn.begins_again()
    await expect_text(page, ANSWER, ["One moment."])
    await turn.says("It is sunny.")
    await expect_text(page, ANSWER, ["One moment.", "It is sunny."])


async def test_a_failure_tells_the_operator_cause_and_fix(site: Site, page: Page) -> None:
    """The apology is for everybody, the note for whoever runs the bot; an answer that was cut keeps
    its word on it."""
    turn = await ask(site, page, "Hello")
    await turn.answers("I cannot answer.", note="GEMINI_API_KEY was refused: make a new key")
    reported = "For whoever runs this bot: GEMINI_API_KEY was refused: make a new key"
    await expect_thread(page, "user: Hello", f"answer: I cannot answer. {reported}")
    turn = await ask(site, page, "Tell me everything")
    turn.commit("Everything is")
    await turn.tells("Everything is\n\n(It was cut.)")
    await expect(page.locator(".answer").last).to_have_text("Everything is(It was cut.)")
    await expect_thread(
        page,
        "user: Hello",
        f"answer: I cannot answer. {reported}",
        "user: Tell me everything",
        "answer: Everything is (It was cut.)",
    )


async def test_enter_sends_and_shift_enter_does_not(site: Site, page: Page) -> None:
    """The usual keys; an empty message is none."""
    box = page.get_by_role("textbox", name="Message")
    await expect(box).to_be_focused()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.keyboard.press("Enter")
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await expect(box).to_have_value("one\ntwo")
    await page.keyboard.press("Enter")
    await expect(box).to_have_value("")
    assert (await site.turn()).asked.text == "one\ntwo"
    assert site.waiting == 0


async def test_enter_that_ends_a_composition_does_not_send(site: Site, page: Page) -> None:
    """Whoever writes Japanese presses Enter to take a conversion; only the next Enter sends."""
    keys = await page.context.new_cdp_session(page)
    box = page.locator("#box")
    await box.focus()
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    await keys.send(
        "Input.imeSetComposition", {"text": "あした", "selectionStart": 3, "selectionEnd": 3}
    )
    await keys.send("Input.dispatchKeyEvent", {"type": "rawKeyDown"} | enter)
    await keys.send("Input.insertText", {"text": "明日"})
    await expect(box).to_have_value("明日")
    # Safari's order: the composition is over, and then comes the key that ended it.
    await box.evaluate(
        "box => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229}))"
    )
    await expect(box).to_have_value("明日")
    assert site.waiting == 0
    await page.keyboard.press("Enter")
    assert (await site.turn()).asked.text == "明日"


async def test_examples_begin_a_conversation(site: Site, page: Page) -> None:
    """One click, and the welcome makes room."""
    await expect(page.get_by_role("heading", name="Hello, I’m Kaiwa.")).to_be_visible()
    await press(page, "What time is it in New York?")
    turn = await site.turn()
    await turn.answers("Noon.")
    await expect_thread(page, "user: What time is it in New York?", "answer: Noon.")
    await expect(page.locator("#welcome")).to_be_hidden()


async def test_a_new_conversation_begins_empty_and_the_old_one_is_a_step_back(
    site: Site,
    page: Page,
) -> None:
    """Nothing is lost by a click on the wrong button; a reload stays where it is."""
    turn = await ask(site, page, "First")
    await turn.answers("One.")
    await expect_thread(page, "user: First", "answer: One.")
    await press(page, "New conversation")
    await expect(page.locator("#welcome")).to_be_visible()
    turn = await ask(site, page, "Second")
    await turn.answers("Two.")
    await expect_thread(page, "user: Second", "answer: Two.")
    await page.reload()
    await expect_thread(page, "user: Second", "answer: Two.")
    await page.go_back()
    await expect_thread(page, "user: First", "answer: One.")
    assert len(site.history) == 2


@pytest.mark.parametrize("profile", [{"viewport": {"width": 600, "height": 500}}])
async def test_the_newest_words_stay_in_sight_until_somebody_reads_back(
    site: Site, page: Page
) -> None:
    """A stream never takes the page away from under a reader's eyes."""
    turn = await ask(site, page, "Tell me a long story")
    lines = "\n\n".join(f"Line {number}" for number in range(40))
    await turn.says(f"{lines}\n\nThe newest.")
    await expect(page.get_by_text("The newest.")).to_be_in_viewport()
    await page.locator("#scroller").hover()
    await page.mouse.wheel(0, -10_000)
    first = page.get_by_text("Line 0", exact=True)
    await expect(first).to_be_in_viewport()
    await turn.says("\n\nThe very newest.")
    await expect(page.get_by_text("The very newest.")).to_be_attached()
    await expect(first).to_be_in_viewport()
    await press(page, "Go to the newest message")
    await expect(page.get_by_text("The very newest.")).to_be_in_viewport()
    await expect(page.get_by_role("button", name="Go to the newest message")).to_be_hidden()


@pytest.mark.parametrize("profile", [{"permissions": ["clipboard-write", "clipboard-read"]}])
async def test_code_can_be_copied(site: Site, page: Page) -> None:
    """One click, and it says so."""
    turn = await ask(site, page, "Code, please")
    await turn.answers("```python\nprint(1)\nprint(2)\n```")
    await press(page, "Copy")
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "print(1)\nprint(2)"


async def test_what_takes_long_is_said_to_be_tried_still(site: Site, page: Page) -> None:
    """After eight seconds without news; the next news are the answer's words."""
    await page.clock.install()
    turn = await ask(site, page, "Hello")
    await expect_text(page, STATUS, "Thinking…")
    await page.clock.fast_forward(9_000)
    await expect_text(page, STATUS, "Still trying…")
    await turn.says("Good")
    await expect_text(page, STATUS, "")
