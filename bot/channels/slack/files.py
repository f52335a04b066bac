"""Files people send, fetched with the bot's token."""

from __future__ import annotations

import aiohttp
import structlog

from bot.channels import Take
from bot.channels.slack import Config
from bot.channels.slack.client import FAILURES, Client
from bot.channels.slack.types import HTML
from bot.errors import DeliverLater
from bot.file_types import IMAGES, MOST_BYTES, READABLE, kind_of
from bot.transcript import Media

log = structlog.stdlib.get_logger(__name__)

PICTURE_S = 10.0
FILE_S = 45.0
PIECE = 64 * 1024
FIX = "the app needs the scope files:read; add it and install the app again"


class Files:
    """Downloads the files that messages refer to."""

    def __init__(self, client: Client, config: Config) -> None:
        self._client = client
        self._config = config

    async def fetch(self, media: Media, take: Take) -> bool:
        """Pass a file's content to ``take``; false if any of it is missing. Never raises."""
        if media.mime not in READABLE or media.size > MOST_BYTES[kind_of(media.mime)]:
            return False
        try:
            url = media.ref if "/" in media.ref else await self._look_up(media.ref)
            return self._config.is_slack_url(url) and await self._load(url, media, take)
        except (DeliverLater, *FAILURES) as error:
            log.warning("media.not_fetched", cause=type(error).__name__)
            return False

    async def _look_up(self, file: str) -> str:
        """The URL of a file whose event held only its id, as in shared channels."""
        response = await self._client.get("files.info", file=file)
        if response.error == "missing_scope":
            log.error("media.not_fetched", cause=response.error, fix=FIX)
        found = response.data.get("file")
        if not isinstance(found, dict):
            return ""
        return str(found.get("url_private_download") or found.get("url_private") or "")

    async def _load(self, url: str, media: Media, take: Take) -> bool:
        kind = kind_of(media.mime)
        may_be_page = (
            kind in ("document", "text") and "/" not in media.ref
        )  # files.info has let us have it
        headers = {"Authorization": f"Bearer {self._config.slack_bot_token.get_secret_value()}"}
        timeout = aiohttp.ClientTimeout(total=PICTURE_S if kind == "image" else FILE_S)
        async with self._client.session.get(
            url, headers=headers, timeout=timeout, allow_redirects=False
        ) as response:
            is_page = response.content_type == HTML and not may_be_page
            if is_page or response.status in (301, 302, 303, 307):
                # Without the scope Slack sends its login page, with status 200.
                log.error("media.not_fetched", cause="a login page came in its place", fix=FIX)
                return False
            if response.status != 200 or (kind == "image" and response.content_type not in IMAGES):
                log.warning("media.not_fetched", status=response.status, type=response.content_type)
                return False
            async for piece in response.content.iter_chunked(PIECE):
                if not take(piece):
                    return False
            return True
