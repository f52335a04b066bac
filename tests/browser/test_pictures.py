"""Pictures of tools on the page: below the answer, live and from the history, and in words when
they are gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from playwright.async_api import Page, expect

from bot.transcript import FileRef
from tests.browser.visit import ask, expect_text
from tests.fakes.site import Site
from tests.fakes.stored_files import CHART
from toolset.charts.draw import DENSITY, WIDTH
from toolset.charts.worker import Chart, ChartDrawer

SMALL = {"width": 800, "height": 700}  # a chart nearly fills it
FIGURES = Chart(
    ("09:00", "10:00"),
    ((18.0, 21.0),),
    "°C",
    (0.0, 1.5),
    "mm",
    ("10%", "60%"),
    "Open-Meteo.com (CC BY 4.0)",
)


@pytest.mark.parametrize("profile", [{"viewport": SMALL}])
async def test_a_chart_stands_below_the_answer(site: Site, page: Page) -> None:
    """It stays when the turn becomes history, and after a reload."""
    site.files.stored[CHART.id] = await ChartDrawer().draw(FIGURES, 20)
    turn = await ask(site, page, "A chart, please")
    call = await turn.calls("get_weather", {"location": "Tokyo", "chart": True})
    await turn.returns(call, {"condition": "Sunny"}, files=(CHART,))
    await turn.answers("Sunny, with rain at ten.")
    image = page.locator(".answer .files img")
    for _ in range(2):
        await expect(image).to_have_count(1)
        await expect(image).to_have_js_property("naturalWidth", WIDTH * DENSITY)
        assert await image.get_attribute("alt") == CHART.text
        await expect(image).to_be_in_viewport(ratio=1)
        await page.reload()


async def test_a_picture_that_is_gone_is_told_in_words(site: Site, page: Page) -> None:
    """After its day, or where it was never stored; nothing but our own files is shown."""
    lost, foreign = (
        replace(CHART, id="e" * 32),
        FileRef("../static/icon.svg?", "x.svg", "image/svg+xml", "<b>9 °C</b>"),
    )
    unstored = replace(CHART, id="", text="8 °C")
    turn = await ask(site, page, "A chart, please")
    call = await turn.calls("get_weather", {})
    await turn.returns(call, {}, files=(lost, foreign, unstored))
    await turn.answers("Sunny.")
    await expect_text(page, ".answer .files pre", [CHART.text, "<b>9 °C</b>", "8 °C"])
    await expect(page.locator(".answer .files img")).to_have_count(0)
