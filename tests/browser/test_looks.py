"""The page fits a phone, the dark, two languages and readers of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Page, expect

from bot import texts
from tests.browser.visit import STATUS, ask, expect_text, press, say, visit
from tests.fakes.site import Site

PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
WIDE = f"""{"Donaudampfschifffahrt" * 9}

| {" | ".join(f"Column {n}" for n in range(12))} |
|{"---|" * 12}
| {" | ".join("A cell" for _ in range(12))} |

```
{"code " * 60}
```

> - `{"inline " * 30}`
> - https://example.com/{"path/" * 30}
"""

# The contrast of every visible text with what lies behind it (WCAG 2.2, 1.4.3).
POOR_CONTRASTS = """() => {
  const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
  const luminance = (color) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = numbers(color).map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (numbers(color)[3] !== 0) return color;
    }
  };
  const contrast = (element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) =>
    element.checkVisibility() && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  if (texts.length < 10) throw new Error("there is nothing to measure");
  return texts.filter((element) => contrast(element) < 4.5).map((element) => element.outerHTML);
}"""


async def a_full_page(site: Site, page: Page) -> None:
    """Everything that can be on the page, at once."""
    turn = await ask(site, page, "Weather?")
    await turn.returns(
        await turn.calls("get_weather", {"location": "Tokyo"}), {"error": "location not found"}
    )
    await turn.answers(
        f"# Weather\n\n**Sunny**, [more](https://wttr.in)\n\n{WIDE}", note="Cause and fix"
    )
    await say(page, "x" * 200)
    running = await site.turn()
    await running.calls(
        "a_tool_with_a_rather_long_name",
        {"location": "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysilio"},
    )
    await expect(page.locator(".tool[data-state=running]")).to_be_attached()
    for summary in await page.locator("summary").all():
        await summary.click()
    await running.asks("a_tool_that_acts", {"path": "a/" * 60, "text": "a word " * 40})
    await expect(page.locator(".question .card")).to_be_visible()


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP"])
async def test_a_phone_shows_everything_without_scrolling_sideways(
    browser: Browser, locale: str
) -> None:
    """Wide tables and code scroll in themselves; nothing else is wider than the smallest phone."""
    name = "The bot whose name is quite as long as a bot's name may ever be "
    site = Site(bot_name=name, token="secret")
    async with (
        site.open(),
        visit(browser, f"{site.url}/signin#secret", locale=locale, **PHONE) as page,
    ):
        await expect(page.locator("#welcome")).to_be_visible()
        await expect(page.locator("#signout")).to_be_visible()
        assert await beyond_the_edge(page) == []
        await a_full_page(site, page)
        assert await beyond_the_edge(page) == []
        for target in await page.locator("header button, summary, .card button, #send").all():
            box = await target.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 24


async def beyond_the_edge(page: Page) -> list[str]:
    """The elements that make a part of the page wider than it is, but for those that scroll in
    themselves."""
    found: list[str] = await page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((element) => {
          const { right, width } = element.getBoundingClientRect();
          const inside = element.closest("pre, .table");
          return width && right > document.documentElement.clientWidth + 0.5 && (!inside || inside === element);
        }).map((element) => element.outerHTML.slice(0, 80))"""
    )
    sideways = await page.evaluate(
        "document.querySelector('#scroller').scrollWidth > innerWidth || innerWidth > 320"
    )
    return [*found, *(["the page itself"] if sideways else [])]


@pytest.mark.parametrize(
    ("scheme", "paper"), [("light", "rgb(245, 246, 243)"), ("dark", "rgb(15, 21, 24)")]
)
async def test_every_word_can_be_read_by_day_and_by_night(
    browser: Browser, scheme: Any, paper: str
) -> None:
    """The colours follow the system, and every text stands out from what is behind it."""
    async with (
        Site(demo=True).open() as site,
        visit(browser, site.url, color_scheme=scheme) as page,
    ):
        await expect(page.locator("#welcome")).to_be_visible()
        assert (
            await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            == paper
        )
        assert await page.evaluate(POOR_CONTRASTS) == []
        await a_full_page(site, page)
        await page.evaluate("document.querySelector('#notice').textContent = 'A notice'")
        assert await page.evaluate(POOR_CONTRASTS) == []
    async with (
        Site(token="secret").open() as site,
        visit(browser, site.url, color_scheme=scheme) as page,
    ):
        assert await page.evaluate(POOR_CONTRASTS.replace("< 10", "< 3")) == []


async def test_the_page_speaks_the_browsers_language_or_the_chosen_one(browser: Browser) -> None:
    """Japanese for a Japanese browser; one click changes everything, and the choice is kept."""
    async with Site(demo=True).open() as site, visit(browser, site.url, locale="ja-JP") as page:
        await expect(page.locator("html")).to_have_attribute("lang", "ja")
        await expect(page.get_by_role("heading", name="こんにちは、Kaiwaです。")).to_be_visible()
        turn = await ask(site, page, "東京の天気は？")
        assert turn.asked.author is not None
        assert turn.asked.author.locale == "ja-JP"
        call = await turn.calls("get_weather", {"location": "東京"})
        await expect_text(page, ".outcome", "実行中…")
        await turn.returns(call, {})
        await turn.answers("晴れです。")
        await expect(page.locator(".answer .markdown")).to_have_attribute("lang", "ja")
        await press(page, "English")
        await expect(page.locator("html")).to_have_attribute("lang", "en")
        await expect(page.get_by_role("textbox", name="Message")).to_have_attribute(
            "placeholder", "Write a message"
        )
        await expect_text(
            page,
            "#log > li",
            [
                "東京の天気は？",
                'get_weather東京312 msArguments{ "location": "東京" }Result{}',
                "晴れです。",
            ],
        )
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.parametrize("profile", [{"locale": "fr-FR"}])
async def test_a_browser_of_another_language_gets_the_bots(page: Page) -> None:
    """Where neither is spoken, LANGUAGE decides."""
    await expect(page.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.parametrize("demo", [True, False])
async def test_the_demo_says_so(browser: Browser, demo: bool) -> None:
    """Nobody takes its rules for a language model; a real one is named."""
    async with Site(demo=demo).open() as site, visit(browser, site.url) as page:
        label = page.get_by_text(texts.load().get("page.demo", "en"))
        await expect(label).to_be_visible(visible=demo)
        await expect(page.get_by_text("gemini-flash-latest")).to_be_visible(visible=not demo)


async def test_a_screen_reader_finds_its_way(site: Site, page: Page) -> None:
    """Landmarks, names, and a log that is read when an answer is complete, not at every word."""
    log = page.get_by_role("log", name="Conversation")
    turn = await ask(site, page, "Hello")
    await turn.says("Good")
    await expect(log).to_have_attribute("aria-busy", "true")
    await turn.answers("Good morning.")
    await expect(log).to_have_attribute("aria-busy", "false")
    await expect(log).to_have_attribute("aria-live", "polite")
    nameless = await page.locator("button:visible, textarea, [role=log]").evaluate_all(
        "elements => elements.filter((e) => !(e.ariaLabel || e.innerText.trim())).map((e) "
        "=> "
        "e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.parametrize("profile", [PHONE])
async def test_the_keyboard_comes_first_to_the_message_box(page: Page) -> None:
    """Whoever tabs through the page skips the rest, and sees where the focus is."""
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the message box")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    assert await skip.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    await page.keyboard.press("Enter")
    await page.keyboard.type("Hello")
    await expect(page.locator("#box")).to_have_value("Hello")


@pytest.mark.parametrize(
    ("profile", "animations"),
    [({"reduced_motion": "no-preference"}, 1), ({"reduced_motion": "reduce"}, 0)],
)
async def test_motion_is_left_out_where_it_is_not_wanted(page: Page, animations: int) -> None:
    """The mark breathes while the bot thinks, unless the system asks for calm."""
    await say(page, "Hello")
    await expect_text(page, STATUS, "Thinking…")
    moving = "document.querySelector('#activity .mark').getAnimations().length"
    assert await page.evaluate(moving) == animations


@pytest.mark.parametrize("profile", [{"timezone_id": "Asia/Tokyo"}])
async def test_what_was_said_on_another_day_says_which(site: Site, page: Page) -> None:
    """Old messages stand under their date; today needs none."""
    turn = await ask(site, page, "Hello")
    await turn.answers("Good morning.")
    await expect(page.locator(".day")).to_have_count(0)
    asked, answer = site.history[turn.conversation]
    site.history[turn.conversation] = [replace(asked, at=1_600_000_000_000), answer]
    await page.reload()
    await expect_text(page, ".day", "Sunday, 13 September 2020")


async def test_allow_and_do_not_allow_are_unlike_each_other(site: Site, page: Page) -> None:
    """Neither is taken for the other: ground and letters differ."""
    turn = await ask(site, page, "Book a room")
    await turn.asks("book_room", {"room": 3})
    looks = "button => ['color', 'backgroundColor'].map((name) => getComputedStyle(button)[name])"
    allow = await page.locator(".card .allow").evaluate(looks)
    reject = await page.locator(".card .reject").evaluate(looks)
    assert allow[0] != reject[0]
    assert allow[1] != reject[1]
