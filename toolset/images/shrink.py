"""A program: reads a picture, and prints it as a JPEG in base64, small enough for every
platform."""

from __future__ import annotations

import base64
import io
import sys
import warnings

from PIL import Image, ImageOps

MOST_BYTES = 700_000
MOST_PIXELS = 40_000_000
SIDES = (2_048, 1_024, 512)
QUALITIES = (92, 85, 75, 60)
FORMATS = ("PNG", "JPEG", "WEBP")
PAPER = "#ffffff"  # behind what is transparent


def shrink(data: bytes) -> bytes:
    """The picture as a JPEG of at most ``MOST_BYTES``, as large and as fine as fits.

    Raises:
        ValueError: it is no picture, or it has too many pixels.
    """
    with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise ValueError("too many pixels")
        picture = _opaque(ImageOps.exif_transpose(opened))
    for side in SIDES:
        picture.thumbnail((side, side))
        for quality in QUALITIES:
            packed = io.BytesIO()
            picture.save(packed, "JPEG", quality=quality)
            if packed.tell() <= MOST_BYTES:
                return packed.getvalue()
    raise ValueError("too large")


def _opaque(picture: Image.Image) -> Image.Image:
    layered = picture.convert("RGBA")
    paper = Image.new("RGBA", layered.size, PAPER)
    return Image.alpha_composite(paper, layered).convert("RGB")


if __name__ == "__main__":
    warnings.simplefilter("error")  # Pillow only warns of a decompression bomb
    sys.stdout.write(base64.b64encode(shrink(sys.stdin.buffer.read())).decode())
