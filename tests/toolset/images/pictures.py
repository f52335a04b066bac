"""Pictures for tests."""

from __future__ import annotations

import io
from hashlib import shake_128

from PIL import Image


def picture(width: int = 64, height: int = 48, kind: str = "PNG", colour: str = "#3366cc") -> bytes:
    """A picture of one colour."""
    return packed(Image.new("RGB", (width, height), colour), kind)


def noise(side: int, kind: str = "PNG") -> bytes:
    """A square that no format makes small."""
    return packed(
        Image.frombytes("RGB", (side, side), shake_128(b"noise").digest(3 * side * side)), kind
    )


def packed(image: Image.Image, kind: str) -> bytes:
    """The file."""
    made = io.BytesIO()
    image.save(made, kind)
    return made.getvalue()


def opened(data: bytes) -> Image.Image:
    """A file as a picture."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image
