"""Images people send, fetched with the bot's token."""

from __future__ import annotations

import aiohttp
import structlog

from bot.channels import Take
from bot.channels.slack.api import FAILURES, Api
from bot.channels.slack.options import Options
from bot.channels.slack.types import IMAGES, MAX_IMAGE
from bot.errors import DeliverLater
from bot.transcript import Media

log = structlog.stdlib.get_logger(__name__)

FETCH_S = 10.0
PIECE = 64 * 1024
FIX = "the app needs the scope files:read; add it and install the app again"


class Files:
    """Fetches what a message refers to, as far as it can be had."""

    def __init__(self, api: Api, options: Options) -> None:
        self._api = api
        self._options = options

    async def fetch(self, media: Media, take: Take) -> bool:
        """Hand over an image's content; False where not all of it can be had."""
        if media.mime not in IMAGES or media.size > MAX_IMAGE:
            return False
        try:
            url = media.ref if "/" in media.ref else await self._look_up(media.ref)
            return self._options.is_slacks(url) and await self._load(url, take)
        except (DeliverLater, *FAILURES) as error:
            log.warning("media.not_fetched", cause=type(error).__name__)
            return False

    async def _look_up(self, file: str) -> str:
        """The address of a file of which the event told no more than its id, as in shared channels."""
        answer = await self._api.get("files.info", file=file)
        if answer.error == "missing_scope":
            log.error("media.not_fetched", cause=answer.error, fix=FIX)
        found = answer.data.get("file")
        return str(found.get("url_private", "")) if isinstance(found, dict) else ""

    async def _load(self, url: str, take: Take) -> bool:
        headers = {"Authorization": f"Bearer {self._options.bot_token}"}
        timeout = aiohttp.ClientTimeout(total=FETCH_S)
        async with self._api.session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as response:
            if response.content_type == "text/html" or response.status in (301, 302, 303, 307):
                # Without the scope Slack sends its login page, with status 200.
                log.error("media.not_fetched", cause="a login page came in its place", fix=FIX)
                return False
            if response.status != 200 or response.content_type not in IMAGES:
                log.warning("media.not_fetched", status=response.status, type=response.content_type)
                return False
            size = 0
            async for piece in response.content.iter_chunked(PIECE):
                size += len(piece)
                if size > MAX_IMAGE or not take(piece):
                    return False
            return True
