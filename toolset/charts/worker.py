"""Draws a chart in a process of its own: drawing takes a fifth of a second of the processor."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from toolset.confined.own_program import run_for_picture
from toolset.tool import ToolError
from toolset.web.cache import SharedCache

PROGRAM = Path(__file__).with_name("draw.py")
NOT_DRAWN = "the chart cannot be drawn"
MAX_POINTS = 24
KEEP_S = 600
KEPT = 64  # pictures, each of some 30 KB
PNG = b"\x89PNG\r\n\x1a\n"

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines above bars, on one axis of at most ``MAX_POINTS`` points; None where a value is
    unknown.

    Attributes:
        labels: below each point, in figures: fonts have no other characters everywhere.
        notes: below the labels; empty for none.
        source: who the data is from.
        title: above it, such as the place; letters that no font here has are left out.
        line_names: what each line shows, for the legend.
        bar_name: what the bars show.
    """

    labels: tuple[str, ...]
    lines: tuple[Values, ...]
    line_unit: str
    bars: Values
    bar_unit: str
    notes: tuple[str, ...] = ()
    source: str = ""
    title: str = ""
    line_names: tuple[str, ...] = ()
    bar_name: str = ""


class ChartDrawer:
    """Draws charts, so many at once; those who want the same one share a picture.

    Args:
        most: processes.
    """

    def __init__(self, most: int = 2) -> None:
        self._slots = asyncio.Semaphore(most)
        self._drawn: SharedCache[bytes] = SharedCache(KEEP_S, KEPT)

    async def draw(self, chart: Chart, seconds: float) -> bytes:
        """The chart as a PNG.

        Raises:
            ToolError: it could not be drawn in this time.
        """
        return await self._drawn.get(chart, lambda: self._draw(chart, seconds))

    async def _draw(self, chart: Chart, seconds: float) -> bytes:
        given = json.dumps(asdict(chart)).encode()
        try:
            async with asyncio.timeout(seconds), self._slots:
                return await run_for_picture(PROGRAM, given, seconds, PNG)
        except (TimeoutError, ValueError) as error:
            raise ToolError(NOT_DRAWN) from error
