"""Recordings too large for a request go to Google's Files API, and leave it with the turn."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import ModelError, ModelUnusable
from bot.providers import Uploads
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.uploads import TRIES
from bot.transcript import Media
from tests.bot.providers.asking import ask, user
from tests.fakes.gemini import GeminiFake
from tests.waiting import until

PIECE = 8 * 1024 * 1024  # bytes, as the SDK sends them
FILM = bytes(range(256)) * (PIECE // 128) + b"the end"  # two pieces and a little
MIME = "video/mp4"


def uploads_of(gemini: Gemini) -> Uploads:
    assert gemini.media.uploads
    return gemini.media.uploads


@pytest.fixture
def uploads(gemini: Gemini) -> Uploads:
    return uploads_of(gemini)


# The SDK hands each piece to aiohttp as bytes.
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.long
async def test_a_film_is_uploaded_watched_and_deleted(
    fake: GeminiFake, gemini: Gemini, uploads: Uploads
) -> None:
    """In pieces; the model gets its address once Google has looked at it."""
    uri = await uploads.upload(FILM, MIME)
    [stored] = fake.files.stored
    assert bytes(stored.data) == FILM
    fake.say("A film")
    assert (await ask(gemini, [user("What is it?", Media("1", MIME, uri=uri))])).text == "A film"
    [content] = fake.requests[-1].body["contents"]
    assert content["parts"][1] == {"fileData": {"mimeType": MIME, "fileUri": uri}}
    await uploads.delete(uri)
    await uploads.delete(uri)
    await uploads.delete("files/somebody-else's")
    assert fake.files.stored == []
    sent = [
        "start",
        "upload",
        "upload",
        "upload, finalize",
        f"GET {stored.name}",
        f"DELETE {stored.name}",
    ]
    assert fake.files.log == sent


async def test_sound_can_be_heard_at_once(fake: GeminiFake, uploads: Uploads) -> None:
    """Google looks at videos alone; a small file has one piece."""
    await uploads.upload(b"sound", "audio/mp4")
    assert fake.files.log == ["start", "upload, finalize"]


async def test_an_upload_whose_connection_breaks_is_made_again(
    fake: GeminiFake, uploads: Uploads
) -> None:
    """From its beginning."""
    fake.files.cuts = TRIES - 1
    await uploads.upload(b"sound", "audio/mp4")
    assert [bytes(one.data) for one in fake.files.stored] == [b"sound"]


async def test_a_connection_that_always_breaks_is_a_failure(
    fake: GeminiFake, uploads: Uploads
) -> None:
    """Of the model, which the turn answers without the file."""
    fake.files.cuts = TRIES
    with pytest.raises(ModelError):
        await uploads.upload(b"sound", "audio/mp4")


async def test_a_film_that_google_cannot_read_is_a_failure(
    fake: GeminiFake, uploads: Uploads
) -> None:
    """And does not stay there."""
    fake.files.looks = None
    with pytest.raises(ModelError):
        await uploads.upload(b"film", MIME)
    assert fake.files.stored == []


@pytest.mark.long
async def test_who_stops_waiting_leaves_nothing_behind(fake: GeminiFake, uploads: Uploads) -> None:
    """A turn that is stopped while Google looks at its film."""
    fake.files.looks = 1_000
    waiting = asyncio.create_task(uploads.upload(b"film", MIME))
    await until(lambda: any(one.startswith("GET") for one in fake.files.log))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not fake.files.stored)


async def test_a_refused_key_is_told(fake: GeminiFake) -> None:
    """As with any request."""
    other = Gemini("another-key", "gemini-3.5-flash", fake.base_url)
    with pytest.raises(ModelUnusable):
        await uploads_of(other).upload(b"film", MIME)
    await other.aclose()


async def test_a_file_that_cannot_be_deleted_stays_for_google(
    fake: GeminiFake, uploads: Uploads, gemini: Gemini
) -> None:
    """Nobody is troubled with it: it expires after two days."""
    uri = await uploads.upload(b"sound", "audio/mp4")
    fake.files.stored[0].is_deleted = True
    await uploads.delete(uri)
    assert fake.files.log[-1].startswith("DELETE")


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        ("gemini-3.5-flash", {"image", "audio", "video", "pdf"}),
        ("models/gemini-2.5-pro", {"image", "audio", "video", "pdf"}),
        ("gemma-4-27b-it", {"image"}),
    ],
)
async def test_what_a_model_reads_is_known_by_its_name(model: str, kinds: set[str]) -> None:
    """Google's open models see pictures."""
    gemini = Gemini("key", model)
    assert gemini.media.kinds == kinds
    await gemini.aclose()
