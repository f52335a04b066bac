"""A poll on the page: a card with a button for each option, whose counts change while it is looked
at."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from playwright.async_api import Page, Route, expect

from bot.channels import Delivery, Reply
from bot.features.polls.poll import VOTE, Poll
from tests.bot.harness import ours, texts
from tests.browser.visit import ask, expect_thread, press
from tests.fakes.site import Site

FOOD = Poll("poll_1", "<b>Where</b> do we eat?", ("Sushi", "Curry"), (0, 0))
# The page forgets what it sent once the history is read. Its policy forbids to ask by a string again
# and again, as wait_for_function does.
SENT_IS_FORGOTTEN = """async () => {
    const drawn = () => new Promise(requestAnimationFrame);
    while (Object.keys(localStorage).some((key) => key.startsWith("kaiwa.sent."))) await drawn();
    await drawn();
}"""
BELOW = "Press a button to vote, and the same one again to take your vote back."


async def show(site: Site, conversation: str, poll: Poll) -> None:
    """Deliver the poll as it stands."""
    await site.console.deliver(
        conversation, Delivery("d", "turn", Reply("", card=poll.card(texts()))), ours
    )


async def test_a_poll_is_voted_on_where_it_stands(site: Site, page: Page) -> None:
    """Above the answer; each press goes out, and the counts come back to whoever looks."""
    turn = await ask(site, page, "A poll, please")
    await turn.returns(await turn.calls("start_poll", {"question": "Where"}), {"poll": FOOD.id})
    await show(site, turn.conversation, FOOD)
    await turn.answers("Please vote.")
    below = f"{BELOW} End the poll"
    await expect_thread(
        page,
        "user: A poll, please",
        "tool: start_poll Where 312 ms",
        f"buttons: <b>Where</b> do we eat? Sushi Curry Votes: 0. {below}",
        "answer: Please vote.",
    )
    for name, choice in (("Curry", 2), ("End the poll", 0)):
        await press(page, name)
        arrival = await site.arrival()
        assert (arrival.action, arrival.target) == (VOTE, f"{FOOD.id}:{choice}")
    await show(site, turn.conversation, replace(FOOD, counts=(0, 1), voters=1))
    await expect(page.get_by_role("button", name="Curry: 1")).to_be_enabled()
    await show(site, turn.conversation, replace(FOOD, counts=(0, 1), voters=1, is_closed=True))
    await expect(page.get_by_role("button", name="Curry: 1")).to_be_hidden()
    await expect(page.get_by_role("button", name="End the poll")).to_be_hidden()


async def test_an_open_poll_is_there_after_a_reload(site: Site, page: Page) -> None:
    """With its counts of that time; a vote that cannot be stored is said."""
    site.cards = [replace(FOOD, counts=(3, 1), voters=4).card(texts())]
    await page.reload()
    await expect(page.get_by_role("button", name="Sushi: 3")).to_be_visible()
    site.away = True
    await press(page, "Sushi: 3")
    await expect(page.locator("#notice")).not_to_have_text("")


async def test_a_closed_poll_is_there_after_a_reload(site: Site, page: Page) -> None:
    """With its last counts, beside the call that started it."""
    closed = replace(FOOD, counts=(3, 1), voters=4, is_closed=True)
    turn = await ask(site, page, "A poll, please")
    await turn.returns(await turn.calls("start_poll", {"question": "Where"}), {"poll": FOOD.id})
    await turn.answers("Please vote.")
    site.cards = [closed.card(texts())]
    await page.reload()
    await expect_thread(
        page,
        "user: A poll, please",
        "tool: start_poll Where",
        (
            "buttons: <b>Where</b> do we eat? Sushi: 3 Curry: 1 This poll is closed. People who "
            "voted: 4"
        ),
        "answer: Please vote.",
    )


async def test_an_old_history_opens_no_closed_poll(site: Site, page: Page) -> None:
    """It was read before the poll was closed, and comes after the news of that."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        response = await route.fetch()
        asked.set()
        await answer.wait()
        await route.fulfill(response=response)

    turn = await ask(site, page, "A poll, please")
    await turn.returns(await turn.calls("start_poll", {"question": "Where"}), {"poll": FOOD.id})
    site.cards = [FOOD.card(texts())]
    await show(site, turn.conversation, FOOD)
    await expect(page.get_by_role("button", name="Sushi")).to_be_enabled()
    await page.route("**/console/*", hold)
    await turn.answers("Please vote.")
    await asked.wait()
    await show(site, turn.conversation, replace(FOOD, is_closed=True))
    await expect(page.get_by_role("button", name="Sushi")).to_be_hidden()
    answer.set()
    await page.evaluate(SENT_IS_FORGOTTEN)
    await expect(page.get_by_role("button", name="Sushi")).to_be_hidden()


async def test_what_ends_a_poll_is_smaller_than_its_options(site: Site, page: Page) -> None:
    """Nobody ends it who meant to vote."""
    site.cards = [FOOD.card(texts())]
    await page.reload()
    option = await page.get_by_role("button", name="Sushi").bounding_box()
    ends = await page.get_by_role("button", name="End the poll").bounding_box()
    assert option is not None
    assert ends is not None
    assert ends["width"] < option["width"] / 2
    assert ends["height"] < option["height"]
