"""The process that writes an answer dies in the middle of it: the page shows the answer once, and
whole."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from playwright.async_api import Browser, expect

from tests.browser.visit import ANSWER, expect_text, expect_thread, say, visit
from tests.fakes.gemini import KEY, gemini_fake
from tests.process.kaiwa_process import WORKING, kaiwa


async def test_an_answer_half_told_by_a_killed_worker_is_told_once_by_the_next(
    tmp_path: Path, browser: Browser
) -> None:
    """kill -9 after the first words: they give way to the whole answer, and stay away after a
    reload."""
    with gemini_fake() as gemini:
        variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        async with (
            kaiwa(tmp_path, "run", "--no-worker", **variables) as web,
            visit(browser, web.base_url) as page,
        ):
            async with kaiwa(tmp_path, "worker", ready=WORKING, **variables) as killed:
                gemini.calls(("calculate", {"expression": "6 * 7"}))
                # The last word waits: an address may go on in the next piece.
                gemini.say("It is for ty", end="stalled")
                await say(page, "How much is 6 * 7?")
                await expect_text(page, ANSWER, "It is for")
                await killed.kill()
            held = Event()
            gemini.say("It is forty-two.", gate=held)
            async with kaiwa(tmp_path, "worker", ready=WORKING, **variables):
                await expect(page.locator(".answer")).to_have_count(0)
                held.set()
                await expect_text(page, ANSWER, "It is forty-two.")
                await expect(page.locator("#log > li")).to_have_count(3)
                await page.reload()
                await expect_thread(
                    page,
                    "user: How much is 6 * 7?",
                    "tool: Calculator 6 * 7",
                    "answer: It is forty-two.",
                )
        assert len(gemini.requests) == 3
