"""The picture of the menu: a sign for each item, and its words where this machine has a font with
their letters."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FINE = 2  # drawn so much larger, then reduced, which smooths the lines
PAPER, INK, GRID, ACCENT = "#f7f7f5", "#2b3138", "#dfe3e8", "#06a05a"
RADIUS = 70  # of a sign, in pixels of the picture
LABEL = 40  # size of letters
FONTS = (  # with Japanese letters
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/opentype/ipafont-gothic/ipagp.ttf",
    "/usr/share/fonts/truetype/takao-gothic/TakaoPGothic.ttf",
    "/System/Library/Fonts/ヒラギノ角ゴシック W3.ttc",
    "/Library/Fonts/Arial Unicode.ttf",
)

Point = tuple[float, float]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Pen:
    """Draws around a centre; all lengths are in pixels of the finished picture."""

    def __init__(self, draw: ImageDraw.ImageDraw, centre: Point) -> None:
        self._draw = draw
        self._centre = centre

    def line(self, *points: Point, width: float = 9, colour: str = ACCENT) -> None:
        """A line through points."""
        self._draw.line(
            [self._at(point) for point in points],
            fill=colour,
            width=round(width * FINE),
            joint="curve",
        )

    def circle(self, radius: float, *, filled: bool = False) -> None:
        """A circle around the centre."""
        box = [*self._at((-radius, -radius)), *self._at((radius, radius))]
        self._draw.ellipse(box, fill=ACCENT if filled else None, outline=ACCENT, width=9 * FINE)

    def arc(self, radius: float, start: float, end: float) -> None:
        """Part of a circle, in degrees from three o'clock, clockwise."""
        box = [*self._at((-radius, -radius)), *self._at((radius, radius))]
        self._draw.arc(box, start, end, fill=ACCENT, width=9 * FINE)

    def area(self, *points: Point) -> None:
        """A filled shape."""
        self._draw.polygon([self._at(point) for point in points], fill=ACCENT)

    def words(self, words: str, font: Font) -> None:
        """Words, centred."""
        self._draw.text(self._at((0, 0)), words, fill=INK, font=font, anchor="mm")

    def _at(self, point: Point) -> Point:
        return (self._centre[0] + point[0]) * FINE, (self._centre[1] + point[1]) * FINE


def draw_menu(signs: Sequence[str], labels: Sequence[str], size: tuple[int, int]) -> bytes:
    """A PNG with a cell for each sign, side by side."""
    width, height = size
    image = Image.new("RGB", (width * FINE, height * FINE), PAPER)
    draw = ImageDraw.Draw(image)
    step = width / len(signs)
    for number, (sign, label) in enumerate(zip(signs, labels, strict=True)):
        font = _font(label)
        centre = step * (number + 0.5), height * (0.42 if font else 0.5)
        SIGNS[sign](Pen(draw, centre))
        if font:
            Pen(draw, (centre[0], height * 0.8)).words(label, font)
        if number:
            Pen(draw, (step * number, height / 2)).line(
                (0, -height * 0.3), (0, height * 0.3), width=2, colour=GRID
            )
    picture = io.BytesIO()
    image.resize(size, Image.Resampling.LANCZOS).save(picture, "PNG", optimize=True)
    return picture.getvalue()


def _font(label: str) -> Font | None:
    """A font with the letters of a label; None if this machine has none."""
    if label.isascii():
        return ImageFont.load_default(LABEL * FINE)
    found = next((path for path in FONTS if Path(path).is_file()), None)
    return ImageFont.truetype(found, LABEL * FINE) if found else None


def _help(pen: Pen) -> None:
    pen.circle(RADIUS)
    pen.words("?", ImageFont.load_default(90 * FINE))


def _weather(pen: Pen) -> None:
    pen.circle(RADIUS * 0.45, filled=True)
    for turn in range(8):
        x, y = math.cos(turn * math.pi / 4), math.sin(turn * math.pi / 4)
        pen.line((x * RADIUS * 0.65, y * RADIUS * 0.65), (x * RADIUS, y * RADIUS))


def _reset(pen: Pen) -> None:
    radius = RADIUS * 0.8
    pen.arc(radius, -45, 250)
    pen.area(
        (-radius * 0.75, -radius * 1.35),
        (-radius * 0.75, -radius * 0.45),
        (radius * 0.1, -radius * 0.9),
    )


def _usage(pen: Pen) -> None:
    for number, top in enumerate((0.2, -0.9, -0.35)):
        left = RADIUS * (-0.85 + number * 0.62)
        right = left + RADIUS * 0.42
        pen.area(
            (left, RADIUS * 0.85),
            (left, RADIUS * top),
            (right, RADIUS * top),
            (right, RADIUS * 0.85),
        )
    pen.line((-RADIUS, RADIUS * 0.9), (RADIUS, RADIUS * 0.9))


SIGNS: Mapping[str, Callable[[Pen], None]] = {
    "help": _help,
    "weather": _weather,
    "reset": _reset,
    "usage": _usage,
}
