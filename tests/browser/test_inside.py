"""The page ``/inside`` in a browser: from a rating to the bytes, hostile words, a phone, two
languages, the dark, and the keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Response, Route, expect
from redis.asyncio import Redis

from bot.agent.loop import digest_of_persona
from bot.providers.scripted import Step
from bot.store import open_store
from bot.transcript import ToolCall
from bot.web.port import listen
from bot.web.server import serving
from tests.bot.features.traces.inside_site import TOKEN, USED, app_of, harness_of, rate, sent
from tests.bot.harness import Harness
from tests.browser.test_looks import POOR_CONTRASTS
from tests.browser.visit import visit
from tests.waiting import until

PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 900}}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202egnp.exe\x1b[31m {{7*7}}"
# What an answer has brought is drawn.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
ROW, STEP = "#list .row", ".waterfall .step"
WIDER = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const { right, width } = element.getBoundingClientRect();
  const inside = element.closest("pre, .tree, .track, .skip");
  return width && right > document.documentElement.clientWidth + 0.5 && (!inside || inside === element);
}).map((element) => element.outerHTML.slice(0, 120))"""


@asynccontextmanager
async def some_turns(url: str) -> AsyncIterator[tuple[str, Harness]]:
    """Where the page is, with a turn of hostile words and one that was rated bad."""
    async with Redis.from_url(url, driver_info=None) as redis:
        await redis.flushall()
    async with open_store(url, history_days=30) as store:
        hostile = ToolCall("c1", "launch", {"what": HOSTILE, "<b>": {"deep": ["a" * 300]}})
        steps = [Step(calls=(hostile,)), Step(HOSTILE), Step("I do not know.", usage=USED)]
        harness = harness_of(store, [*steps, Step("A hundred metres.", usage=USED)])
        await harness.say(HOSTILE, "m1")
        await harness.say("yes", "m2")
        await harness.say("How high does it fly?", "m3")
        await sent(harness)
        with listen("127.0.0.1", 0) as sock:
            port = sock.getsockname()[1]
            async with serving(app_of(harness), sock):
                yield f"http://127.0.0.1:{port}/inside", harness


async def unlock(page: Page) -> None:
    """Type the token."""
    await page.get_by_label("INSIDE_TOKEN").fill(TOKEN)
    await page.get_by_label("INSIDE_TOKEN").press("Enter")
    await expect(page.locator("#unlock button")).to_be_hidden()


async def rated_turn(page: Page, harness: Harness) -> str:
    """Rate the newest turn bad; its id."""
    turn = await page.locator(ROW).first.get_attribute("data-turn")
    assert turn is not None
    await rate(harness, turn)
    return turn


async def test_from_a_bad_rating_to_the_bytes_in_three_presses(
    valkey_url: str, browser: Browser
) -> None:
    """The filter, the turn, the step: then the request stands there as it left."""
    async with some_turns(valkey_url) as (url, harness), visit(browser, url, **DESK) as page:
        await unlock(page)
        await rated_turn(page, harness)
        await page.get_by_label("Rated bad").check()
        await expect(page.locator(ROW)).to_have_count(1)
        await page.locator(ROW).click()
        await page.locator(STEP).filter(has_text="Request").click()
        await expect(page.locator(".raw")).to_contain_text("How high does it fly?")
        await expect(page.locator(".tree")).to_contain_text("How high does it fly?")


async def test_turns_are_found_by_their_persona(valkey_url: str, browser: Browser) -> None:
    """A turn shows its digest, in both languages, and the filter takes it."""
    persona = digest_of_persona("SYSTEM")
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await page.locator(ROW).first.click()
        await expect(page.locator("#turn .about")).to_contain_text(f" · Persona {persona}")
        await page.locator("#language").click()
        await expect(page.locator("#turn .about")).to_contain_text(f" · 人格 {persona}")
        await page.locator("#filters summary").click()
        for digest, count in (("00000000", 0), (persona, 2)):
            await page.get_by_label("人格").fill(digest)
            await page.get_by_label("人格").press("Enter")
            await expect(page.locator(ROW)).to_have_count(count)


async def test_without_the_token_there_are_facts_alone(valkey_url: str, browser: Browser) -> None:
    """A wrong one is said to be wrong, and after a reload it is asked for again."""
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await page.locator(ROW).first.click()
        await page.locator(STEP).first.click()
        await expect(page.locator(".panel .note")).to_contain_text("INSIDE_TOKEN")
        await page.get_by_label("INSIDE_TOKEN").fill("wrong")
        await page.get_by_label("INSIDE_TOKEN").press("Enter")
        await expect(page.get_by_role("alert")).to_have_text("This is not INSIDE_TOKEN.")
        await unlock(page)
        await page.locator(STEP).first.click()
        await expect(page.locator("pre").first).to_have_text("How high does it fly?")
        await page.reload()
        await expect(page.locator("#unlock button")).to_be_visible()


async def test_hostile_words_are_text(valkey_url: str, browser: Browser) -> None:
    """Nothing runs, nothing is markup, and what would hide or reorder text shows its number."""
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await unlock(page)
        await page.locator(ROW).nth(1).click()
        await expect(page.locator(STEP)).to_have_count(11)
        for step in await page.locator(STEP).all():
            await step.click()
        await expect(page.locator(".sides pre").first).to_contain_text("<img src=x onerror")
        folded = page.locator(".tree details:not([open]) > summary")
        while await folded.count():
            await folded.first.click()
        shown = await page.locator("#turn").inner_text()
        assert "\\u{202e}gnp.exe\\u{1b}[31m" in shown
        assert "\u202e" not in shown
        assert "\x1b" not in shown
        assert await page.locator("#turn :is(img, script, iframe, object)").count() == 0


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP"])
@pytest.mark.parametrize(("profile", "scheme"), [(PHONE, "light"), (DESK, "dark")])
async def test_it_fits_and_can_be_read(
    valkey_url: str, browser: Browser, profile: dict[str, Any], scheme: Any, locale: str
) -> None:
    """On a phone and at a desk, by day and by night, in both languages."""
    async with (
        some_turns(valkey_url) as (url, _),
        visit(browser, url, locale=locale, color_scheme=scheme, **profile) as page,
    ):
        await expect(page.locator(ROW)).to_have_count(2)
        await unlock(page)
        assert await page.evaluate(WIDER) == []
        assert await page.evaluate(POOR_CONTRASTS) == []
        await page.locator(ROW).nth(1).click()
        await expect(page.locator(STEP)).to_have_count(11)
        for step in await page.locator(STEP).all():
            await step.click()
        await expect(page.locator(".sides pre")).to_have_count(2)
        await expect(page.locator(".raw")).to_have_count(4)
        assert await page.evaluate(WIDER) == []
        assert await page.evaluate(POOR_CONTRASTS) == []
        heading = "Ask again" if locale == "en-GB" else "もう一度尋ねる"
        await expect(page.get_by_role("heading", name=heading).first).to_be_visible()
        if profile is PHONE:
            await page.locator(".back").click()
            await expect(page.locator(ROW).first).to_be_visible()


async def test_the_keyboard_reaches_everything(valkey_url: str, browser: Browser) -> None:
    """A turn is opened and a step is opened and closed by keys alone."""
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await unlock(page)
        await page.locator(ROW).first.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#turn")).to_be_focused()
        await page.keyboard.press("Tab")
        first = page.locator(STEP).first
        await expect(first).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(first).to_have_attribute("aria-expanded", "true")
        await page.keyboard.press("Enter")
        await expect(first).to_have_attribute("aria-expanded", "false")


async def test_a_request_is_asked_again_compared_and_saved(
    valkey_url: str, browser: Browser, tmp_path: Path
) -> None:
    """The model is named before the press; downloads are files."""
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await unlock(page)
        await page.locator(ROW).first.click()
        await page.locator(STEP).filter(has_text="Request").click()
        await page.get_by_role("button", name="Ask scripted:scripted").click()
        await expect(page.locator(".answer pre")).to_have_text("A hundred metres.")
        await page.get_by_role("button", name="Difference to the turn before").click()
        await expect(page.locator(".lines .new").first).to_be_visible()
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Download").click()
        saved = tmp_path / "request.txt"
        await (await saving.value).save_as(saved)
        assert b"How high does it fly?" in saved.read_bytes()
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Make a question").click()
        made = tmp_path / "question.toml"
        await (await saving.value).save_as(made)
        assert 'ask = "How high does it fly?"' in made.read_text("utf-8")
        assert (await saving.value).suggested_filename.endswith(".toml")


@pytest.mark.parametrize("name", ["turn_unknown", "%"])
async def test_an_unknown_turn_is_one_line(valkey_url: str, browser: Browser, name: str) -> None:
    """Also where a link names it."""
    async with (
        some_turns(valkey_url) as (url, _),
        visit(browser, f"{url}#{name}", **DESK) as page,
    ):
        await expect(page.get_by_role("alert")).to_have_text("Nothing is kept of this turn.")
        await expect(page.locator(ROW)).to_have_count(2)


async def test_the_turn_that_was_pressed_last_is_shown(valkey_url: str, browser: Browser) -> None:
    """However long the one before takes, and a step that is opened twice shows its words once."""
    async with some_turns(valkey_url) as (url, _), visit(browser, url, **DESK) as page:
        await unlock(page)
        newest, first = page.locator(ROW).nth(0), page.locator(ROW).nth(1)
        slow, wanted = [await row.get_attribute("data-turn") for row in (newest, first)]
        may_go, waiting = asyncio.Event(), asyncio.Event()

        async def delay(route: Route) -> None:
            waiting.set()
            await may_go.wait()
            await route.continue_()

        await page.route(f"**/inside/turns/{slow}", delay)
        await newest.click()
        await waiting.wait()
        await first.click()
        await expect(page.locator("#turn code").first).to_have_text(f"{wanted}")
        async with page.expect_response(f"**/inside/turns/{slow}") as late:
            may_go.set()
        await (await late.value).finished()
        await page.evaluate(FRAMES)
        await expect(page.locator("#turn code").first).to_have_text(f"{wanted}")
        step = page.locator(STEP).filter(has_text="Request").first
        answers = list[Response]()
        page.on("response", lambda answer: answers.append(answer))
        await step.evaluate("(button) => [1, 2, 3].forEach(() => button.click())")
        await until(lambda: len(answers) == 2)
        for answer in answers:
            await answer.finished()
        await page.evaluate(FRAMES)
        await expect(page.locator(".raw")).to_have_count(1)
