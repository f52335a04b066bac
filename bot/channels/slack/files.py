"""Files: those that people send are fetched with the bot's token; those of answers are uploaded,
then shared in the conversation, once.

https://docs.slack.dev/messaging/working-with-files/#upload
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import aiohttp
import structlog

from bot.channels import Host, Take
from bot.channels.slack.client import FAILURES, ApiResponse, Client, delivery_error
from bot.channels.slack.config import Config
from bot.channels.slack.messages import Messages, OutboundMessage
from bot.channels.slack.types import HTML
from bot.errors import DeliverLater
from bot.file_types import IMAGES, MOST_BYTES, READABLE, kind_of
from bot.transcript import FileRef, Media, encode
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

PICTURE_S = 10.0
FILE_S = 45.0
PIECE = 64 * 1024
UPLOAD = "files.getUploadURLExternal"
SHARE = "files.completeUploadExternal"
SHARED_S = 86_400  # so long the file of a delivery is known
MAX_ALT = 1_000  # characters of a picture's words
FIX = "the app needs the scope files:{scope}; add it and install the app again"
READ, WRITE = FIX.format(scope="read"), FIX.format(scope="write")


async def fetch(client: Client, config: Config, media: Media, take: Take) -> bool:
    """Pass the content of a file that somebody sent to ``take``; false if any of it is missing.
    Never raises."""
    if media.mime not in READABLE or media.size > MOST_BYTES[kind_of(media.mime)]:
        return False
    try:
        url = media.ref if "/" in media.ref else await _look_up(client, media.ref)
        if client.refusal or not config.is_slack_url(url):
            return False
        token = config.slack_bot_token.get_secret_value()
        return await _load(client, url, token, media, take)
    except (DeliverLater, *FAILURES) as error:
        log.warning("media.not_fetched", cause=type(error).__name__)
        return False


async def _look_up(client: Client, file: str) -> str:
    """The URL of a file whose event held only its id, as in shared channels."""
    response = await client.get("files.info", file=file)
    if response.error == "missing_scope":
        log.error("media.not_fetched", cause=response.error, fix=READ)
    found = as_object(response.data.get("file"))
    return str(found.get("url_private_download") or found.get("url_private") or "")


async def _load(client: Client, url: str, token: str, media: Media, take: Take) -> bool:
    kind = kind_of(media.mime)
    was_asked_for = "/" not in media.ref  # so Slack lets us have it
    may_be_page = kind in ("document", "text") and was_asked_for
    headers = {"Authorization": f"Bearer {token}"}
    timeout = aiohttp.ClientTimeout(total=PICTURE_S if kind == "image" else FILE_S)
    async with client.session.get(
        url, headers=headers, timeout=timeout, allow_redirects=False
    ) as response:
        status, mime = response.status, response.content_type
        if (mime == HTML and not may_be_page) or status in (301, 302, 303, 307):
            # Without the scope Slack sends its login page, with status 200.
            log.error("media.not_fetched", cause="a login page came in its place", fix=READ)
            return False
        if status != 200 or (kind == "image" and mime not in IMAGES):
            log.warning("media.not_fetched", status=status, type=mime)
            return False
        async for piece in response.content.iter_chunked(PIECE):
            if not take(piece):
                return False
        return True


class Uploads:
    """Shares files. The id of each delivery's file is stored, so that another attempt finds it in
    the conversation. Every method raises ``StoreUnavailable``."""

    def __init__(self, client: Client, config: Config, messages: Messages, host: Host) -> None:
        self._client = client
        self._config = config
        self._messages = messages
        self._files = host.files
        self._kv = host.kv
        self._prefix = f"{host.channel('slack')}:file"

    async def share(self, outbound: OutboundMessage, file: FileRef) -> bool:
        """Share a file; false if only its words can be shown.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        if outbound.delivery.attempts > 1 and await self._is_shared(outbound):
            return True
        content = await self._files.read(file)
        file_id = await self._upload(file, content) if content else ""
        if not file_id:
            return False
        await self._kv.set(f"{self._prefix}:{outbound.delivery.id}", file_id.encode(), SHARED_S)
        await outbound.assert_lease()
        shared = await self._client.post_form(
            SHARE,
            files=encode([{"id": file_id, "title": file.name}]).decode(),
            channel_id=outbound.address.channel,
            thread_ts=outbound.address.thread or None,
        )
        return _is_done(SHARE, shared)

    async def file_ids(self, delivery_ids: Collection[str]) -> set[str]:
        """The files of these deliveries, as far as they are known."""
        known = [
            await self._kv.get(f"{self._prefix}:{delivery_id}") for delivery_id in delivery_ids
        ]
        return {file_id.decode() for file_id in known if file_id}

    async def _upload(self, file: FileRef, content: bytes) -> str:
        """The id of the uploaded file; empty if Slack does not take it."""
        begun = await self._client.post_form(
            UPLOAD, filename=file.name, length=len(content), alt_txt=file.text[:MAX_ALT] or None
        )
        url = str(begun.data.get("upload_url", ""))
        if not _is_done(UPLOAD, begun) or not self._config.is_slack_url(url):
            return ""
        status = await self._client.send("upload", url, data=content)
        if status != 200:
            log.warning("slack.file_refused", cause=f"upload: status {status}")
            return ""
        return str(begun.data.get("file_id", ""))

    async def _is_shared(self, outbound: OutboundMessage) -> bool:
        """Whether an earlier attempt has shared its file after all."""
        known = await self.file_ids([outbound.delivery.id])
        if not known:
            return False
        messages = await self._messages.read_recent(outbound.address)
        return any(not known.isdisjoint(file_ids_of(message)) for message in messages)


def file_ids_of(message: dict[str, Any]) -> set[str]:
    """The files of a message."""
    return {str(one.get("id")) for one in entries(message.get("files"))}


def _is_done(method: str, response: ApiResponse) -> bool:
    if response.is_transient:
        raise delivery_error(method, response)
    if not response.ok:
        fix = {"fix": WRITE} if response.error == "missing_scope" else {}
        log.error("slack.file_refused", cause=f"{method}: {response.error}", **fix)
    return response.ok
