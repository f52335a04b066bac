"""Pictures become JPEGs that every platform shows, in a process of its own."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.toolset.images.pictures import noise, opened, packed, picture
from toolset.images import shrink as program
from toolset.images.shrink import MOST_BYTES, shrink
from toolset.images.worker import NOT_READ, Shrinker
from toolset.tool import ToolError


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
async def test_a_picture_becomes_a_jpeg(kind: str) -> None:
    """Whatever the model has made, as large as it was."""
    made = opened(await Shrinker().shrink(picture(640, 480, kind)))
    assert (made.format, made.size) == ("JPEG", (640, 480))


def test_what_is_transparent_stands_on_white() -> None:
    """A JPEG knows no transparency; black letters would vanish on black."""
    made = opened(shrink(packed(Image.new("RGBA", (8, 8), (0, 0, 0, 0)), "PNG")))
    assert made.getpixel((4, 4)) == (255, 255, 255)


def test_a_picture_that_stands_on_its_side_is_turned() -> None:
    """Phones write how they were held."""
    upright = Image.new("RGB", (8, 4))
    reported = Image.Exif()
    reported[0x0112] = 6
    made = io.BytesIO()
    upright.save(made, "JPEG", exif=reported)
    assert opened(shrink(made.getvalue())).size == (4, 8)


@pytest.mark.parametrize("side", [800, 2_600])
def test_what_is_heavy_becomes_light(side: int) -> None:
    """First coarser, then smaller; noise is the worst there is."""
    given = noise(side)
    made = shrink(given)
    assert (len(made) <= MOST_BYTES < len(given), min(opened(made).size) >= 512) == (True, True)


@pytest.mark.parametrize("data", [b"", b"no picture", picture()[:40], b"GIF89a" + b"x" * 100])
async def test_what_is_no_picture_is_an_error(data: bytes) -> None:
    """Damaged ones, too."""
    with pytest.raises(ToolError, match=NOT_READ):
        await Shrinker().shrink(data)


async def test_a_bomb_is_an_error() -> None:
    """A small file of many pixels takes no memory."""
    with pytest.raises(ToolError, match=NOT_READ):
        await Shrinker().shrink(picture(7_000, 7_000))


def test_what_cannot_become_light_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not sent as it is."""
    monkeypatch.setattr(program, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="too large"):
        shrink(noise(600))
