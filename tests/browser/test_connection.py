"""Connections break, servers restart, stores are away: no answer is lost and none is shown
twice."""

from __future__ import annotations

from playwright.async_api import Browser, Page, Route, expect

from tests.browser.visit import (
    ALERT,
    ANSWER,
    STATUS,
    ask,
    expect_text,
    expect_thread,
    say,
    thread,
    visit,
)
from tests.fakes.site import Site


async def test_an_answer_given_while_the_server_was_away_is_shown_once(browser: Browser) -> None:
    """The page comes back by itself and asks the history; what was half told gives way to it."""
    site = Site()
    async with site.open():
        visiting = visit(browser, site.url)
        page = await visiting.__aenter__()
        turn = await ask(site, page, "Weather in Tokyo?")
        await turn.returns(
            await turn.calls("get_weather", {"location": "Tokyo"}), {"condition": "Sunny"}
        )
        await turn.says("It is sun")
        await expect_text(page, ANSWER, "It is sun")
    await expect_text(page, ALERT, "The connection is lost. Reconnecting…")
    turn.commit("It is sunny.")
    async with site.open():
        await expect_thread(
            page,
            "user: Weather in Tokyo?",
            "tool: get_weather Tokyo 312 ms",
            "answer: It is sunny.",
        )
        await expect_text(page, ALERT, "")
        await visiting.__aexit__(None, None, None)


async def test_a_turn_goes_on_after_a_gap(browser: Browser) -> None:
    """Words from the middle of a sentence are not shown as its beginning; after a tool they are
    whole again."""
    site = Site()
    async with site.open():
        visiting = visit(browser, site.url)
        page = await visiting.__aenter__()
        turn = await ask(site, page, "Weather?")
        await turn.says("Let me ")
        await expect_text(page, ANSWER, "Let me ")
    async with site.open():
        await expect(page.locator(".answer")).to_have_count(0)
        await turn.says("see.")
        call = await turn.calls("get_weather", {})
        await expect(page.locator(".tool")).to_have_count(1)
        assert await thread(page) == ["user: Weather?", "tool: get_weather running…"]
        await turn.returns(call, {})
        await turn.says("Sunny.")
        await expect_text(page, ANSWER, "Sunny.")
        await turn.answers("Sunny.")
        await expect_thread(page, "user: Weather?", "tool: get_weather 312 ms", "answer: Sunny.")
        await visiting.__aexit__(None, None, None)


async def test_a_reload_in_the_middle_of_a_turn_loses_nothing(site: Site, page: Page) -> None:
    """The question stays, the tool is seen ending, the answer comes once."""
    turn = await ask(site, page, "Weather?")
    call = await turn.calls("get_weather", {"location": "Tokyo"})
    await expect(page.locator(".tool")).to_have_count(1)
    await page.reload()
    await expect_text(page, ".user", "Weather?")
    await expect_text(page, STATUS, "Thinking…")
    await site.watched()
    await turn.returns(call, {"condition": "Sunny"}, ms=50)
    await expect(page.locator(".tool")).to_have_count(1)
    await turn.answers("Sunny.")
    await expect_thread(page, "user: Weather?", "tool: get_weather Tokyo 50 ms", "answer: Sunny.")


async def test_a_message_that_was_not_kept_stays_in_the_box(site: Site, page: Page) -> None:
    """The page says so; sent again it is the same message, so that it can never count twice."""
    box = page.locator("#box")
    site.away = True
    await say(page, "Hello")
    sentence = "Messages cannot be stored at the moment. Please try again in a few seconds."
    await expect_text(page, ALERT, sentence)
    await expect(box).to_have_value("Hello")
    await expect(page.locator("#log > li")).to_have_count(0)
    site.away = False
    await box.press("Enter")
    await expect_text(page, ALERT, "")
    await (await site.turn()).answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")


async def test_a_refusal_is_told_and_what_was_typed_since_is_kept(page: Page) -> None:
    """A message over the limit comes back whole, before the words typed in the meantime."""
    held: list[Route] = []
    await page.route("**/messages", lambda route: held.append(route))
    await say(page, "x" * 8001)
    await page.locator("#box").fill("and more")
    await expect(page.locator(".user")).to_have_count(1)
    await held[0].continue_()
    await expect(page.locator(ALERT)).to_contain_text("8,000 characters are the limit")
    await expect(page.locator("#box")).to_have_value(f"{'x' * 8001}\nand more")


async def test_a_message_whose_receipt_got_lost_counts_once(site: Site, page: Page) -> None:
    """It seemed unsent and stood in the box; when the bot begins to answer it, it has been sent
    after all."""

    async def lose_the_receipt(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/messages", lose_the_receipt)
    await say(page, "Hello")
    await expect_text(
        page, ALERT, "The bot could not be reached. Your message is still in the box."
    )
    await expect(page.locator("#box")).to_have_value("Hello")
    turn = await site.turn()
    await expect(page.locator("#box")).to_have_value("")
    await expect_text(page, ALERT, "")
    await turn.answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")
    assert site.waiting == 0


async def test_a_page_closed_while_sending_sends_again(site: Site, page: Page) -> None:
    """Nobody knows whether such a message arrived; the same id makes asking harmless."""
    await page.route("**/messages", lambda _route: None)
    await say(page, "Hello")
    await expect(page.locator(".user")).to_have_count(1)
    await page.unroute_all(behavior="ignoreErrors")
    await page.reload()
    await (await site.turn()).answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")


async def test_an_answer_whose_event_got_lost_is_found(site: Site, page: Page) -> None:
    """Live events may get lost without a connection breaking; the page asks when it has heard
    nothing for a while."""
    await page.clock.install()
    await page.reload()
    turn = await ask(site, page, "Hello")
    await turn.says("Good")
    await expect_text(page, ANSWER, "Good")
    turn.commit("Good morning.")
    await page.clock.fast_forward(21_000)
    await expect_thread(page, "user: Hello", "answer: Good morning.")


async def test_a_long_wait_is_explained(site: Site, page: Page) -> None:
    """Where no worker takes the message, the page says that it is safe."""
    await page.clock.install()
    await page.reload()
    await say(page, "Hello")
    await expect_text(page, STATUS, "Thinking…")
    await page.clock.fast_forward(36_000)
    await expect_text(
        page, ALERT, "This is taking longer than usual. Your message is safe and will be answered."
    )
    await (await site.turn()).answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")
    await page.clock.fast_forward(6_000)
    await expect_text(page, ALERT, "")


async def test_two_tabs_show_one_conversation(site: Site, page: Page) -> None:
    """What one of them sends, both show, in the same order."""
    other = await page.context.new_page()
    await other.goto(site.url)
    await expect(other.locator("#welcome")).to_be_visible()
    await site.watched(2)
    turn = await ask(site, page, "Hello")
    await turn.says("Good")
    for tab in (page, other):
        await expect(tab.locator("#log > li")).to_have_text(["Hello", "Good"])
    await turn.answers("Good morning.")
    for tab in (page, other):
        await expect_thread(tab, "user: Hello", "answer: Good morning.")


async def test_what_another_device_says_is_shown_with_its_answer(site: Site, page: Page) -> None:
    """The page follows a turn whose question it does not know, and asks the history for what is new
    only."""
    turn = await ask(site, page, "Hello")
    await turn.answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    conversation = turn.conversation.removeprefix("console:")
    await page.request.post(
        f"{site.url}/console/{conversation}/messages", data={"text": "From my phone"}
    )
    turn = await site.turn()
    call = await turn.calls("get_weather", {})
    await page.locator("summary").click()
    await turn.returns(call, {"condition": "Sunny"})
    await turn.answers("Sunny.")
    shown = page.locator(".tool pre").last
    await expect(shown).to_be_visible()
    await expect(page.locator(".user")).to_have_count(2)
    await expect(shown).to_have_text('{ "condition": "Sunny" }')
    assert [item.partition(" Arguments")[0] for item in await thread(page)] == [
        "user: Hello",
        "answer: Good morning.",
        "user: From my phone",
        "tool: get_weather 312 ms",
        "answer: Sunny.",
    ]
    newest = site.history[turn.conversation][1].id
    assert asked == [f"{site.url}/console/{conversation}?after={newest}"]


async def test_two_messages_at_once_are_answered_in_order(site: Site, page: Page) -> None:
    """The second waits below the first one's answer."""
    await say(page, "First")
    turn = await ask(site, page, "Second")
    await turn.says("One")
    await expect_text(page, "#log > li", ["First", "One", "Second"])
    await turn.answers("One.")
    await expect_text(page, STATUS, "Thinking…")
    await (await site.turn()).answers("Two.")
    await expect_thread(page, "user: First", "answer: One.", "user: Second", "answer: Two.")


async def test_words_typed_before_a_reload_are_still_there(page: Page) -> None:
    """Half a message is work, too."""
    await page.locator("#box").fill("Half a thou")
    await page.reload()
    await expect(page.locator("#box")).to_have_value("Half a thou")


async def test_what_leaves_nothing_in_the_history_does_not_wait_after_a_reload(
    site: Site,
    page: Page,
) -> None:
    """A command such as /memory was answered, and nobody thinks about it any more."""
    turn = await ask(site, page, "/memory")
    await turn.tells("You have asked me to remember nothing here.")
    answer = "answer: You have asked me to remember nothing here."
    await expect_thread(page, "user: /memory", answer)
    await page.reload()
    await expect(page.locator("#welcome")).to_be_visible()
    turn = await ask(site, page, "Hello")
    await turn.answers("Good morning.")
    await expect_thread(page, "user: Hello", "answer: Good morning.")
