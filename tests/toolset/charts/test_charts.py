"""Charts are drawn in another process, in time or not at all."""

from __future__ import annotations

import asyncio
import io
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageColor

from toolset.charts.draw import COLOURS, DENSITY, HEIGHT, LINES, RAIN, WIDTH, draw
from toolset.charts.worker import MAX_POINTS, Chart, ChartDrawer
from toolset.confined.own_program import run_own
from toolset.tool import ToolError

SIZE = (WIDTH * DENSITY, HEIGHT * DENSITY)
HOURS = Chart(
    labels=tuple(f"{hour:02}:00" for hour in range(MAX_POINTS)),
    lines=(tuple(None if hour == 7 else 10.0 + hour / 3 for hour in range(MAX_POINTS)),),
    line_unit="°C",
    bars=tuple(hour / 10 for hour in range(MAX_POINTS)),
    bar_unit="mm",
    notes=tuple(f"{hour}%" for hour in range(MAX_POINTS)),
    source="Open-Meteo.com (CC BY 4.0)",
)
DAYS = Chart(("11-22", "11-23"), ((-3.0, 9.0), (-12.5, 0.0)), "°C", (None, 80.0), "%")
BARE = Chart(("11-22",), ((20.0,),), "°C", (None,), "%")
NOTHING = Chart(("11-22",), ((None,),), "°C", (None,), "%")
JAPANESE = replace(DAYS, title="東京都, 日本")  # drawn where the machine has a font for it
EXTREME = Chart(("1", "2"), ((-1e6, 1e6),), "°C", (0.0, 1e9), "mm")


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    found = image.convert("RGB").getcolors(image.width * image.height) or []
    return {colour for _, colour in found if isinstance(colour, tuple)}


async def test_a_chart_is_a_small_png() -> None:
    """LINE shows a preview of at most a megabyte."""
    picture = await ChartDrawer().draw(HOURS, 20)
    image = Image.open(io.BytesIO(picture))
    assert (image.format, image.size, len(picture) < 200_000) == ("PNG", SIZE, True)
    assert {(200, 64, 42), (95, 159, 208)} <= colours(image)


@pytest.mark.parametrize("chart", [DAYS, BARE, NOTHING, EXTREME, HOURS, JAPANESE])
def test_any_figures_can_be_drawn(chart: Chart) -> None:
    """Missing, negative, single and absurd ones."""
    image = draw(asdict(chart))
    assert image.size == SIZE
    assert len(colours(image)) > 1


def head_of(chart: Chart) -> Image.Image:
    """The part of the picture above the lines."""
    return draw(asdict(chart)).crop((0, 0, SIZE[0], (LINES[0] - 40) * DENSITY))


def test_a_chart_says_what_it_shows() -> None:
    """Its title, and a legend with the colours of lines and bars."""
    bare, named = head_of(DAYS), head_of(replace(DAYS, line_names=("High", "Low"), bar_name="Rain"))
    assert len(colours(bare)) == 1
    wanted = {ImageColor.getrgb(colour) for colour in (*COLOURS, RAIN)}
    assert wanted <= colours(named)
    for title in ("Łódź, Poland", "A long name, " * 9):
        head = head_of(replace(DAYS, title=title))
        assert len(colours(head)) > 2
        assert wanted.isdisjoint(colours(head))
        assert len(colours(head.crop((SIZE[0] - 8, 0, *head.size)))) == 1


async def test_many_who_want_the_same_chart_share_a_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One at a time, not all would come in time."""
    drawn = 0

    async def counted(*arguments: Any) -> str:
        nonlocal drawn
        drawn += 1
        return await run_own(*arguments)

    monkeypatch.setattr("toolset.confined.own_program.run_own", counted)
    drawer = ChartDrawer(1)
    pictures = await asyncio.gather(*(drawer.draw(BARE, 20) for _ in range(50)))
    assert (len(set(pictures)), drawn) == (1, 1)
    assert await drawer.draw(DAYS, 20) != pictures[0]


async def test_a_chart_comes_in_time_or_not_at_all() -> None:
    """The process ends with its time."""
    with pytest.raises(ToolError, match=r"cannot be drawn|timed out"):
        await ChartDrawer().draw(HOURS, 0.001)
    assert _drawing() == []


async def test_a_chart_that_cannot_be_drawn_is_an_error() -> None:
    """As figures that are none."""
    broken = Chart(("1",), (("x",),), "°C", (), "mm")  # type: ignore[arg-type]  # no figures
    with pytest.raises(ToolError, match="cannot be drawn"):
        await ChartDrawer().draw(broken, 20)


def _drawing() -> list[Path]:
    """Processes that draw."""
    return [name for name in Path("/proc").glob("[0-9]*/cmdline") if _draws(name)]


def _draws(cmdline: Path) -> bool:
    """Whether a process that this one has started draws."""
    try:
        parent = int((cmdline.parent / "stat").read_text().rpartition(")")[2].split()[1])
        return parent == os.getpid() and b"draw.py" in cmdline.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
