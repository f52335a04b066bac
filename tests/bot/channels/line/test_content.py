"""Images are fetched when a turn needs them, within bounds."""

from __future__ import annotations

import pytest

from bot.channels.line.lookups import MAX_IMAGE
from bot.transcript import Media
from tests.bot.channels.fetching import fetched
from tests.bot.channels.line.desk import IN_PRIVATE, Desk, open_desk
from tests.fakes.line import LineFake

JPEG = b"\xff\xd8\xff\xe0" + b"x" * 1_000
IMAGE = Media("325708", "image/jpeg")


async def test_an_image_is_fetched(fake: LineFake, desk: Desk) -> None:
    """From the data host, with the access token."""
    fake.image("325708", JPEG)
    assert await fetched(desk.line, IN_PRIVATE, IMAGE) == JPEG


async def test_an_image_that_line_still_prepares_is_waited_for(fake: LineFake, desk: Desk) -> None:
    """202 means: soon."""
    fake.image("325708", JPEG, pending=1)
    assert await fetched(desk.line, IN_PRIVATE, IMAGE) == JPEG
    assert len(fake.calls("content")) == 2


@pytest.mark.parametrize(("size", "fits"), [(MAX_IMAGE, True), (MAX_IMAGE + 1, False)])
async def test_an_image_has_ten_mebibytes_at_most(fake: LineFake, desk: Desk, size: int, fits: bool) -> None:
    """What is larger is left, whatever it says of itself."""
    fake.image("325708", JPEG.ljust(size, b"x"))
    assert (await fetched(desk.line, IN_PRIVATE, IMAGE) is not None) is fits


@pytest.mark.parametrize("content_type", ["video/mp4", "text/html", "application/octet-stream"])
async def test_what_is_no_image_is_left(fake: LineFake, desk: Desk, content_type: str) -> None:
    """A model is shown images only."""
    fake.image("325708", JPEG, content_type)
    assert await fetched(desk.line, IN_PRIVATE, IMAGE) is None


async def test_an_image_that_is_gone_is_none(fake: LineFake, desk: Desk) -> None:
    """LINE keeps them for a while only."""
    assert await fetched(desk.line, IN_PRIVATE, IMAGE) is None


async def test_a_line_that_is_silent_or_away_has_no_images(fake: LineFake) -> None:
    """The turn goes on without."""
    fake.trouble("content", "stalled")
    async with open_desk(fake, timeout_s=0.2) as desk:
        assert await fetched(desk.line, IN_PRIVATE, IMAGE) is None
    async with open_desk() as desk:
        assert await fetched(desk.line, IN_PRIVATE, IMAGE) is None


async def test_what_nobody_wants_any_more_is_not_read_on(fake: LineFake, desk: Desk) -> None:
    """A request that is full already has no use for the rest."""
    fake.image("325708", JPEG.ljust(MAX_IMAGE, b"x"))
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return False

    assert not await desk.line.fetch(IN_PRIVATE, IMAGE, take)
    assert len(pieces) == 1
    assert len(pieces[0]) < MAX_IMAGE
