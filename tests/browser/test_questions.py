"""A call that acts waits for a person: a card asks on the page, and whoever looks can decide,
once."""

from __future__ import annotations

import unicodedata

import pytest
from playwright.async_api import Locator, Page, expect

from bot.features.approvals.questions import APPROVE, REJECT
from bot.live_events import ToolStarted
from bot.safe_text.arguments import render_arguments
from bot.safe_text.glyphs import BULLET, RTL_RUN
from bot.transcript import ToolCall
from tests.bot.safe_text.corpus import ATTACKS
from tests.browser.visit import ALERT, STATUS, ask, expect_text, expect_thread, press, say, thread
from tests.fakes.site import Site, Turn

# Of each letter of each line: itself, the line it stands on, and how far to the right.
PLACES = """lines => lines.map((line) => {
  const [text, range, places] = [line.firstChild, document.createRange(), []];
  let at = 0;
  for (const letter of text.data) {
    range.setStart(text, at);
    range.setEnd(text, (at += letter.length));
    const box = range.getBoundingClientRect();
    places.push([letter, Math.round(box.bottom / 8), Math.round(box.left)]);
  }
  return places;
})"""
MAIL = {"to": "hanako@example.com", "body": "<b>Hi</b>\nat noon?\u202egnp.exe"}
SHOWN = ["▸ to: hanako@example.com", '▸ body: "<b>Hi</b>\\nat noon?\\u202egnp.exe"']


def card(page: Page) -> Locator:
    return page.get_by_role("group", name="May I do this? send_mail")


async def asked(site: Site, page: Page) -> tuple[Turn, ToolCall]:
    """A turn that has parked, and the call it asks about."""
    turn = await ask(site, page, "Invite Hanako")
    await turn.says("Let me write to her.")
    await turn.returns(await turn.calls("find_address", {"name": "Hanako"}), {"found": 1})
    call = await turn.asks("send_mail", MAIL)
    await expect(card(page)).to_be_visible()
    return turn, call


async def finish(
    turn: Turn, call: ToolCall, outcome: str, response: dict[str, object], answer: str
) -> None:
    """Somebody has decided: the call has its result, and the turn its end."""
    await turn.goes_on()
    await turn.shows(ToolStarted(call.id, call.name, call.arguments))
    await turn.returns(call, response)
    await turn.replaces(outcome)
    await turn.answers(answer)


@pytest.mark.parametrize("profile", [{"timezone_id": "UTC"}])
async def test_an_allowed_call_is_made(site: Site, page: Page) -> None:
    """Tool and arguments as text, until when; a press is one decision, then the outcome stands in
    the card's place."""
    turn, call = await asked(site, page)
    assert await card(page).locator("li").all_inner_texts() == SHOWN
    assert await card(page).locator("b").count() == 0
    await expect(card(page)).to_contain_text("Open until 5:40.")
    await expect_text(page, STATUS, "")
    await press(page, "Allow")
    await expect(page.get_by_role("button", name="Allow", exact=True)).to_be_disabled()
    await expect(page.get_by_role("button", name="Don’t allow")).to_be_disabled()
    arrival = await site.arrival()
    assert (arrival.action, arrival.target) == (APPROVE, site.open_question(turn))
    await turn.goes_on()
    await turn.shows(ToolStarted(call.id, call.name, call.arguments))
    await expect(card(page)).to_be_hidden()
    earlier = [
        "user: Invite Hanako",
        "answer: Let me write to her.",
        "tool: find_address Hanako 312 ms",
    ]
    made = "tool: send_mail hanako@example.com · <b>Hi</b> at noon?gnp.exe"
    await expect(page.locator(".tool")).to_have_count(2)
    assert await thread(page) == [
        *earlier,
        "question: This has been decided.",
        f"{made} running…",
    ]
    await turn.returns(call, {"sent": True})
    await turn.replaces("Allowed: send_mail.")
    await turn.answers("She has it.")
    await expect_thread(
        page,
        "user: Invite Hanako",
        "tool: find_address Hanako 312 ms",
        "question: Allowed: send_mail.",
        f"{made} 312 ms",
        "answer: She has it.",
    )
    await page.reload()
    await expect_thread(
        page, "user: Invite Hanako", "tool: find_address Hanako", made, "answer: She has it."
    )
    assert site.waiting == 0


@pytest.mark.parametrize("profile", [{"viewport": {"width": 320, "height": 640}}])
async def test_no_argument_looks_like_another(site: Site, page: Page) -> None:
    """On a narrow screen, letter by letter: nothing leaves its place, and only an argument begins
    at the edge."""
    names = [name for arguments in ATTACKS.values() for name in arguments if len(name) > 2]
    values = [value for arguments in ATTACKS.values() for value in arguments.values()]
    arguments = {f"of{at}": value for at, value in enumerate(values)} | dict.fromkeys(
        (*names, "א", "ב"), "x"
    )
    del arguments[
        next(name for name, value in arguments.items() if value == "\ud800")
    ]  # no call arrives with it
    turn = await ask(site, page, "Launch it")
    await turn.asks("launch", arguments)
    lines = page.locator(".card li")
    await expect(lines).to_have_count(len(arguments))
    shown = render_arguments(arguments).split("\n")
    for line, places in zip(shown, await lines.evaluate_all(PLACES), strict=True):
        assert "".join(letter for letter, *_ in places) == line
        edge = places[0][2]
        assert [letter for letter, _, left in places if left <= edge + 1] in (
            [BULLET],
            [BULLET, " "],
        )
        turning = {at for match in RTL_RUN.finditer(line) for at in range(*match.span())}
        order = [
            (top, left)
            for at, (letter, top, left) in enumerate(places)
            if at not in turning
            and (letter.isascii() or unicodedata.category(letter) in ("Lu", "Ll", "Po", "Sc"))
        ]
        assert order == sorted(order), line


async def test_a_call_is_refused_by_keyboard(site: Site, page: Page) -> None:
    """The card never takes the focus by itself; it is reached from the box, and keeps the focus
    once it is decided."""
    turn, call = await asked(site, page)
    await expect(page.locator("#box")).to_be_focused()
    for _ in range(4):  # the buttons for files and recordings stand between
        await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_role("button", name="Don’t allow")).to_be_focused()
    await page.keyboard.press("Enter")
    assert (await site.arrival()).action == REJECT
    await expect(card(page)).to_be_focused()
    await finish(
        turn, call, "Not allowed: send_mail.", {"error": "rejected by the user"}, "As you like."
    )
    await expect_text(page, ".decided", "Not allowed: send_mail.")
    await expect(page.locator(".answer").last).to_have_text("As you like.")


async def test_words_decide_too(site: Site, page: Page) -> None:
    """They are a message like any other; what is typed stays in sight as one."""
    turn, call = await asked(site, page)
    await say(page, "yes")
    arrival = await site.arrival()
    assert (arrival.event, arrival.message.text) == ("message", "yes")
    await turn.joins(arrival.message)
    await finish(turn, call, "Allowed: send_mail.", {"sent": True}, "She has it.")
    await expect_text(page, ".user", ["Invite Hanako", "yes"])


async def test_a_question_survives_a_reload(site: Site, page: Page) -> None:
    """It is asked until it is decided, and nothing seems to be under way meanwhile."""
    turn, call = await asked(site, page)
    await page.reload()
    await expect(card(page)).to_be_visible()
    assert await card(page).locator("li").all_inner_texts() == SHOWN
    await expect_text(page, STATUS, "")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await press(page, "Allow")
    assert (await site.arrival()).action == APPROVE
    await finish(turn, call, "Allowed: send_mail.", {"sent": True}, "She has it.")
    await expect_text(page, ".decided", "Allowed: send_mail.")
    await expect(page.locator(".answer").last).to_have_text("She has it.")


async def test_a_decision_in_one_tab_settles_the_other(site: Site, page: Page) -> None:
    """Both show the question, and both how it was decided."""
    turn, call = await asked(site, page)
    other = await page.context.new_page()
    await other.goto(site.url)
    await expect(card(other)).to_be_visible()
    await site.watched(2)
    await card(other).get_by_role("button", name="Allow", exact=True).click()
    assert (await site.arrival()).action == APPROVE
    await finish(turn, call, "Allowed: send_mail.", {"sent": True}, "She has it.")
    for tab in (page, other):
        await expect(tab.locator(".decided")).to_have_text("Allowed: send_mail.")
        await expect(tab.locator(".answer").last).to_have_text("She has it.")


async def test_a_press_that_comes_too_late_says_so(site: Site, page: Page) -> None:
    """The card gives way, and what is said of it stays until something is typed."""
    turn, _ = await asked(site, page)
    site.questions.clear()
    await press(page, "Allow")
    assert (await site.arrival()).action == APPROVE
    late = "This has been decided already, or it has expired."
    await turn.refuses(late)
    await expect_text(page, ALERT, late)
    await expect_text(page, ".decided", "This has been decided.")
    assert site.waiting == 0
    await page.locator("#box").fill("x")
    await expect_text(page, ALERT, "")
    await turn.refuses("Only the person who asked can decide this.")
    await expect_text(page, ALERT, "Only the person who asked can decide this.")


async def test_a_press_that_did_not_arrive_can_be_repeated(site: Site, page: Page) -> None:
    """The question is still open."""
    await asked(site, page)
    await page.route("**/actions", lambda route: route.abort())
    await press(page, "Allow")
    await expect_text(page, ALERT, "The bot could not be reached. Please try again.")
    await page.unroute("**/actions")
    await press(page, "Allow")
    assert (await site.arrival()).action == APPROVE


async def test_what_models_say_stands_apart_from_the_arguments(site: Site, page: Page) -> None:
    """As text, below the list of arguments; a question without it has no room for it."""
    turn = await ask(site, page, "Launch it")
    await turn.asks("launch", {"what": "rocket"}, "Reviewer a is against: “<b>No</b>”", "B")
    await expect_text(page, ".card .remarks p", ["Reviewer a is against: “<b>No</b>”", "B"])
    await expect_text(page, ".card li", ["▸ what: rocket"])


@pytest.mark.parametrize("profile", [{"locale": "ja-JP"}])
async def test_the_question_speaks_japanese(site: Site, page: Page) -> None:
    """In the language of the page."""
    turn = await ask(site, page, "花子さんを誘って")
    await turn.asks("send_mail", {})
    asking = page.get_by_role("group", name="次の操作をしてもよろしいですか？ send_mail")
    await expect(asking.get_by_role("button", name="許可する")).to_be_visible()
    await expect(asking.get_by_role("button", name="許可しない")).to_be_visible()
    await expect(asking.locator("ul")).to_be_hidden()
    await expect(asking.locator(".remarks")).to_be_hidden()
