"""A list on the page: its items are ticked where they stand, by touch and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from bot.channels import Delivery, Reply
from bot.features.lists.cards import TICK, list_card, ticking_card
from bot.features.lists.store import StoredItem
from tests.bot.harness import ours
from tests.browser.test_looks import PHONE
from tests.browser.visit import ask, expect_thread
from tests.fakes.site import Site, Turn


def items(*ticked: int) -> list[StoredItem]:
    """What to buy."""
    texts = ("milk", "<b>eggs</b>")
    return [StoredItem(n, "shopping", text, n in ticked) for n, text in enumerate(texts, 1)]


async def answered(site: Site, turn: Turn) -> None:
    """End a turn that shows the list."""
    await turn.returns(
        await turn.calls("show_list", {}), {}, card=list_card("Shopping", items(), "en")
    )
    await turn.answers("Here it is.")


@pytest.mark.parametrize("profile", [{}, PHONE | {"color_scheme": "dark", "locale": "ja-JP"}])
async def test_items_are_ticked_where_they_stand(
    site: Site, page: Page, profile: dict[str, Any]
) -> None:
    """The press goes out, and what came of it is shown to whoever looks, under the same title."""
    turn = await ask(site, page, "The list")
    site.cards = [ticking_card("Shopping", items(), "en")]
    await answered(site, turn)
    await expect(page.get_by_role("checkbox", name="<b>eggs</b>")).not_to_be_checked()
    await page.get_by_role("checkbox", name="milk").press("Space")
    arrival = await site.arrival()
    assert (arrival.action, arrival.target) == (TICK, site.cards[0].buttons[0].value)
    card = ticking_card("shopping", items(1), "en")
    shown = Delivery("d", "turn", Reply("", card=card))
    await site.console.deliver(turn.conversation, shown, ours)
    await expect(page.get_by_role("checkbox", name="milk")).to_be_checked()
    await expect(page.get_by_role("group", name="Shopping", exact=True)).to_be_visible()


async def test_a_press_shows_what_the_store_has(site: Site, page: Page) -> None:
    """Also where no live event tells it; a list stands below the last answer that shows it."""
    site.cards = [ticking_card("Shopping", items(), "en")]
    await answered(site, await ask(site, page, "The list"))
    await answered(site, await ask(site, page, "The list again"))
    site.cards = [ticking_card("Shopping", items(2), "en")]
    await page.get_by_role("checkbox", name="<b>eggs</b>").click()
    await expect(page.get_by_role("checkbox", name="<b>eggs</b>")).to_be_checked()
    await expect_thread(
        page,
        "user: The list",
        "tool: show_list 312 ms",
        "answer: Here it is.",
        "user: The list again",
        "tool: show_list 312 ms",
        "answer: Here it is.",
        "buttons: Shopping milk <b>eggs</b>",
    )
    await expect(page.locator(".again")).to_be_visible()
