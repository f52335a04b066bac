"""Files people send, fetched when LINE has prepared them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from bot.channels import Take
from bot.channels.line.client import Client, Failure
from bot.channels.line.sdk import Sdk
from bot.file_types import kind_of
from bot.transcript import Media

log = structlog.stdlib.get_logger(__name__)

PICTURE = "image/jpeg"  # until its content is read
PICTURE_S = 10.0
FILE_S = 45.0  # a recording is converted first; a reply token lives about a minute
POLL_S = 0.5
RECORDINGS = ("audio", "video")


class Files:
    """Downloads the files that messages refer to."""

    def __init__(self, client: Client, sdk: Sdk) -> None:
        self._client = client
        self._sdk = sdk

    async def find_picture(self, message_id: str) -> Media | None:
        """The picture that a message consists of; None for any other message. Never raises."""
        try:
            return Media(message_id, PICTURE) if await self._client.is_picture(message_id) else None
        except Failure as failure:
            log.info("media.not_found", cause=str(failure))
            return None

    async def prepare(self, media: Media) -> None:
        """Wait until LINE has converted a recording, or cannot. Never raises."""
        if media.name or kind_of(media.mime) not in RECORDINGS:
            return
        with suppress(TimeoutError, Failure):
            async with asyncio.timeout(FILE_S):
                # LINE does not say when
                while not await self._sdk.is_prepared(media.ref):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)

    async def fetch(self, media: Media, take: Take) -> bool:
        """Pass a file's content to ``take``; false if any of it is missing. Never raises."""
        kind = kind_of(media.mime)
        family = "" if media.name else kind
        timeout_s = None if family == "image" else FILE_S
        try:
            async with asyncio.timeout(timeout_s or PICTURE_S):
                while (
                    is_whole := await self._client.fetch_content(media.ref, family, take, timeout_s)
                ) is None:
                    await self._wait(media.ref, is_recording=family in RECORDINGS)
                return is_whole
        except (TimeoutError, Failure) as error:
            log.info("media.not_fetched", cause=str(error) or "not in time")
            return False

    async def _wait(self, message_id: str, *, is_recording: bool) -> None:
        """Wait until another request may find the file; LINE says of recordings alone how far it
        is."""
        await asyncio.sleep(POLL_S)
        # LINE does not say when
        while is_recording and not await self._sdk.is_prepared(message_id):  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
