"""A program: reads a chart as JSON (``worker.Chart``), and prints it as a PNG in base64. It knows
nothing of Kaiwa."""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeAlias

from PIL import Image, ImageDraw, ImageFont

DENSITY = 2  # pixels of the picture for each unit below: phones show it small, on fine screens
FINE = 2 * DENSITY  # drawn so large, then reduced, which smooths the lines
WIDTH, HEIGHT = 600, 530
LEFT, RIGHT = 56, 18  # margins
TITLE_Y, LEGEND_Y = 24, 54
LINES = (106, 298)  # top and bottom of the panel of lines
BARS = (352, 438)
LABEL_Y, NOTE_Y, SOURCE_Y = 456, 482, 512
PAPER, INK, SOFT, GRID = "#ffffff", "#1f2328", "#5b6470", "#dfe3e8"
COLOURS, RAIN = ("#c8402a", "#3b5b92"), "#5f9fd0"
MOST_OF_TITLE = 1_000  # its size times its letters, so that a long one fits the width
FEW_TICKS = 5
FEW_LABELS = 8  # more stand too close
# Pillow's own font has the letters of Europe only; for others the machine may have one of these.
LAST_OF_EUROPE = "\u017f"
WIDE_FONTS = ("NotoSansCJK-Regular.ttc", "ヒラギノ角ゴシック W3.ttc", "msgothic.ttc")

Values: TypeAlias = Sequence[float | None]
Font: TypeAlias = ImageFont.ImageFont | ImageFont.FreeTypeFont


class Canvas:
    """A picture with a scale of points from left to right."""

    def __init__(self, points: int) -> None:
        self.image = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), PAPER)
        self._draw = ImageDraw.Draw(self.image)
        self._step = (WIDTH - LEFT - RIGHT) / max(points, 1)

    def x(self, point: int) -> float:
        return LEFT + self._step * (point + 0.5)

    def text(
        self, x: float, y: float, words: str, size: int = 16, colour: str = SOFT, anchor: str = "mm"
    ) -> None:
        if font := _font(words, size * FINE):
            self._draw.text((x * FINE, y * FINE), words, fill=colour, font=font, anchor=anchor)

    def legend(self, names: Sequence[tuple[str, str]]) -> None:
        """Names behind squares of their colours, from left to right."""
        x: float = LEFT
        for name, colour in names:
            corners = [value * FINE for value in (x, LEGEND_Y - 6, x + 12, LEGEND_Y + 6)]
            self._draw.rectangle(corners, fill=colour)
            self.text(x + 18, LEGEND_Y, name, size=15, colour=INK, anchor="lm")
            x += 18 + self._draw.textlength(name, ImageFont.load_default(15 * FINE)) / FINE + 22

    def line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float
    ) -> None:
        ends = [value * FINE for value in (*start, *end)]
        self._draw.line(ends, fill=colour, width=round(width * FINE))

    def dot(self, x: float, y: float, colour: str) -> None:
        self._draw.circle((x * FINE, y * FINE), 3.5 * FINE, fill=colour)

    def bar(self, point: int, top: float, bottom: float) -> None:
        half = self._step * 0.32
        x = self.x(point)
        corners = [value * FINE for value in (x - half, top, x + half, bottom)]
        self._draw.rectangle(corners, fill=RAIN)


class Scale:
    """Heights for values, with round ticks."""

    def __init__(
        self, values: Sequence[float], panel: tuple[int, int], *, from_zero: bool = False
    ) -> None:
        low, high = (0.0 if from_zero else min(values)), max(values)
        self._step = _round_step(max(high - low, 1.0) / (FEW_TICKS - 1))
        self._low = math.floor(low / self._step) * self._step
        self._high = max(math.ceil(high / self._step) * self._step, self._low + self._step)
        self._top, self._bottom = panel

    def y(self, value: float) -> float:
        return self._bottom - (value - self._low) / (self._high - self._low) * (
            self._bottom - self._top
        )

    def ticks(self) -> Iterator[float]:
        for number in range(round((self._high - self._low) / self._step) + 1):
            yield self._low + number * self._step


def _font(words: str, size: int) -> Font | None:
    """A font that has the letters; None where this machine has none."""
    if max(words, default="") <= LAST_OF_EUROPE:
        return ImageFont.load_default(size)
    for name in WIDE_FONTS:
        with suppress(OSError):
            return ImageFont.truetype(name, size)
    return None


def _round_step(least: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50 … that is not smaller."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(size * digit for digit in (1, 2, 5, 10) if size * digit >= least * 0.999)


def draw(chart: dict[str, Any]) -> Image.Image:
    labels: Sequence[str] = chart["labels"]
    canvas = Canvas(len(labels))
    title: str = chart["title"]
    size = min(20, MOST_OF_TITLE // max(len(title), 1))
    canvas.text(LEFT, TITLE_Y, title, size=size, colour=INK, anchor="lm")
    legend = list(zip(chart["line_names"], COLOURS, strict=False))
    if chart["bar_name"]:
        legend.append((f"{chart['bar_name']} ({chart['bar_unit']})", RAIN))
    canvas.legend(legend)
    _draw_bars(canvas, chart["bars"], chart["bar_unit"])
    _draw_lines(canvas, chart["lines"], chart["line_unit"])
    every = math.ceil(len(labels) / FEW_LABELS)
    for point, label in enumerate(labels):
        if point % every == 0:
            canvas.text(canvas.x(point), LABEL_Y, label, colour=INK)
    for point, note in enumerate(chart["notes"]):
        if point % every == 0:
            canvas.text(canvas.x(point), NOTE_Y, note, 14)
    canvas.text(WIDTH - RIGHT, SOURCE_Y, chart["source"], 12, anchor="rm")
    return canvas.image.reduce(FINE // DENSITY)


def _draw_lines(canvas: Canvas, lines: Sequence[Values], unit: str) -> None:
    known = [value for line in lines for value in line if value is not None]
    if not known:
        return
    scale = Scale(known, LINES)
    _draw_axis(canvas, scale, unit, LINES[0])
    for line, colour in zip(lines, COLOURS, strict=False):
        dots = [
            (canvas.x(point), scale.y(value)) if value is not None else None
            for point, value in enumerate(line)
        ]
        for start, end in pairwise(dots):
            if start and end:
                canvas.line(start, end, colour, 3)
        every = math.ceil(len(line) / FEW_LABELS)
        for point, (dot, value) in enumerate(zip(dots, line, strict=True)):
            if dot and value is not None:
                canvas.dot(*dot, colour)
                if point % every == 0:
                    canvas.text(dot[0], dot[1] - 16, f"{value:.0f}", 16, INK)


def _draw_bars(canvas: Canvas, bars: Values, unit: str) -> None:
    known = [value for value in bars if value is not None]
    if not known:
        return
    scale = Scale(known, BARS, from_zero=True)
    _draw_axis(canvas, scale, unit, BARS[0])
    for point, value in enumerate(bars):
        if value:
            canvas.bar(point, scale.y(value), BARS[1])


def _draw_axis(canvas: Canvas, scale: Scale, unit: str, top: int) -> None:
    for tick in scale.ticks():
        y = scale.y(tick)
        canvas.line((LEFT, y), (WIDTH - RIGHT, y), GRID, 1)
        canvas.text(LEFT - 10, y, f"{tick:g}", 15, anchor="rm")
    canvas.text(LEFT - 10, top - 24, unit, size=16, colour=INK, anchor="rm")


def main() -> None:
    output = io.BytesIO()
    draw(json.load(sys.stdin)).save(output, "PNG", optimize=True)
    sys.stdout.write(base64.b64encode(output.getvalue()).decode())


if __name__ == "__main__":
    main()
