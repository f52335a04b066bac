"""Images people send, fetched when LINE has prepared them."""

from __future__ import annotations

import asyncio

import structlog

from bot.channels import Take
from bot.channels.line.client import Client, Failure
from bot.transcript import Media

log = structlog.stdlib.get_logger(__name__)

MAX_IMAGE = 10 * 1024 * 1024  # bytes; LINE takes no larger image
PICTURE = "image/jpeg"  # until its content is read
FETCH_S = 10.0
POLL_S = 0.5


class Files:
    """Downloads the files that messages refer to."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def find_picture(self, message_id: str) -> Media | None:
        """The picture that a message consists of; None for any other message. Never raises."""
        try:
            return Media(message_id, PICTURE) if await self._client.is_picture(message_id) else None
        except Failure as failure:
            log.info("media.not_found", cause=str(failure))
            return None

    async def fetch(self, media: Media, take: Take) -> bool:
        """Pass an image's content to ``take``; false if any of it is missing. Never raises."""
        try:
            async with asyncio.timeout(FETCH_S):
                while (is_whole := await self._client.fetch_content(media.ref, MAX_IMAGE, take)) is None:  # noqa: ASYNC110 -- LINE does not say when it is ready
                    await asyncio.sleep(POLL_S)
                return is_whole
        except (TimeoutError, Failure) as error:
            log.info("media.not_fetched", cause=str(error) or "not in time")
            return False
