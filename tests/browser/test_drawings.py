"""What answers hold besides plain words: task lists, mathematics, and code in colours."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.test_markdown import RENDER
from tests.browser.visit import ask, press
from tests.fakes.site import Site

TASKS = '<ul><li class="task"><label><input type="checkbox"{}>Tea</label></li></ul>'
NOT_MATH = "From $5 to $10, or US$6 and A$7; $ 8$ is none, nor is $9$10, nor `$x$`"


async def test_task_lists_have_boxes(page: Page) -> None:
    """A mark elsewhere is text."""
    assert await page.evaluate(RENDER, ["- [ ] Tea"]) == TASKS.format("")
    assert await page.evaluate(RENDER, ["- [x] Tea"]) == TASKS.format(' checked=""')
    assert await page.evaluate(RENDER, ["[x] Tea"]) == "<p>[x] Tea</p>"


async def test_what_is_ticked_is_kept_in_the_browser(page: Page, site: Site) -> None:
    """After a reload too; another answer, and another conversation, keep their own."""
    for _ in range(2):
        await (await ask(site, page, "What is to do?")).answers("- [x] Tea\n- [ ] <b>Milk</b>")
    milk = page.get_by_role("checkbox", name="<b>Milk</b>")
    await expect(milk).to_have_count(2)
    await milk.last.press("Space")
    await page.get_by_text("Tea").last.click()
    await page.reload()
    await expect(milk).to_have_count(2)
    await expect(milk.last).to_be_checked()
    await expect(page.get_by_role("checkbox", name="Tea").last).not_to_be_checked()
    await expect(milk.first).not_to_be_checked()
    await press(page, "New conversation")
    await (await ask(site, page, "And here?")).answers("- [ ] <b>Milk</b>")
    await expect(milk).to_have_count(1)
    await expect(milk).not_to_be_checked()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$x^2$", "p > .math > math msup"),
        (r"\(x_1\)", "p > .math > math msub"),
        ("$$\n\\frac{1}{2}\n$$", ".math.display > math mfrac"),
        ("- \\[\\sqrt{2}\\]", "li .math.display > math msqrt"),
    ],
)
async def test_mathematics_is_drawn(page: Page, site: Site, text: str, shown: str) -> None:
    """As MathML, which browsers read aloud too."""
    await (await ask(site, page, "Mathematics, please")).answers(text)
    await expect(page.locator(f".markdown {shown}")).to_be_visible()


@pytest.mark.parametrize("text", [NOT_MATH, r"$\frac{1$", "$x", "$$"])
async def test_what_is_no_formula_stays_as_it_is_written(page: Page, site: Site, text: str) -> None:
    """Money is none, and neither is what Temml does not read."""
    turn = await ask(site, page, "Money, please")
    await turn.answers(f"{text}\n\n$z$")
    await expect(page.locator(".markdown math")).to_have_count(1)
    await expect(page.locator(".markdown p").first).to_have_text(text.replace("`", ""))


async def test_a_hostile_formula_does_nothing(page: Page, site: Site) -> None:
    """No address, no name for scripts to find, no expansion without end."""
    hostile = (
        r"$\href{javascript:alert(1)}{a}$ $\label{log}b$ $\def\x{\x\x}\x$ "
        r"$\includegraphics{https://evil.example/p.png}$"
    )
    await (await ask(site, page, "Mathematics, please")).answers(f"{hostile}\n\n$z$")
    await expect(page.locator(".markdown p").last.locator("math")).to_be_visible()
    await expect(page.locator(".markdown :is([href], [id], [src], img)")).to_have_count(0)


async def test_code_is_coloured(page: Page, site: Site) -> None:
    """Where its language is named and known; the text stays as it is, and nothing of it is markup."""
    code = "def f():\n    return '<b>'  # <i>"
    await (await ask(site, page, "Code")).answers(f"```python\n{code}\n```\n\n```tale\nif\n```")
    first, second = page.locator("pre code").first, page.locator("pre code").last
    await expect(first.locator(".hl-keyword").first).to_have_text("def")
    await expect(first.locator(".hl-comment")).to_have_text("# <i>")
    assert await first.text_content() == code
    await expect(second.locator("span")).to_have_count(0)


async def test_code_within_code_is_coloured_too(page: Page, site: Site) -> None:
    """Signs that markup has escapes for are themselves."""
    code = """<p title='&amp;'>"</p><script>let a = 1 && 2 < 3;</script>"""
    await (await ask(site, page, "Code")).answers(f"```html\n{code}\n```")
    shown = page.locator("pre code")
    await expect(shown.locator(".hl-keyword")).to_have_text("let")
    await expect(shown.locator(".hl-string").first).to_have_text("'&amp;'")
    assert await shown.text_content() == code
