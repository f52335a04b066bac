"""Files of answers: uploaded, then shared in the conversation, once.

https://docs.slack.dev/messaging/working-with-files/#upload
"""

from __future__ import annotations

from collections.abc import Collection

import structlog

from bot.channels import Files, KeyValue
from bot.channels.slack import Config
from bot.channels.slack.client import (
    AWAY_S,
    FAILURES,
    ApiResponse,
    Client,
    delivery_error,
    is_transient,
)
from bot.channels.slack.messages import Messages, OutboundMessage
from bot.errors import DeliverLater, StoreUnavailable
from bot.transcript import FileRef, encode
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

UPLOAD = "files.getUploadURLExternal"
SHARE = "files.completeUploadExternal"
SHARED_S = 86_400  # so long the file of a delivery is known
MAX_ALT = 1_000  # characters of a picture's words
FIX = "the app needs the scope files:write; add it and install the app again"


class Uploads:
    """Shares files.

    Args:
        kv: the id of each delivery's file, so that another attempt finds it in the conversation.
    """

    def __init__(
        self, client: Client, config: Config, messages: Messages, files: Files, kv: KeyValue
    ) -> None:
        self._client = client
        self._config = config
        self._messages = messages
        self._files = files
        self._kv = kv

    async def share(self, outbound: OutboundMessage, file: FileRef) -> bool:
        """Share a file; false if only its words can be shown.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            if outbound.delivery.attempts > 1 and await self._is_shared(outbound):
                return True
            content = await self._files.read(file)
            file_id = await self._upload(file, content) if content else ""
            if not file_id:
                return False
            await self._kv.set(_key(outbound.delivery.id), file_id.encode(), SHARED_S)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not answer about a file", AWAY_S) from error
        await outbound.assert_lease()
        shared = await self._client.post_form(
            SHARE,
            files=encode([{"id": file_id, "title": file.name}]).decode(),
            channel_id=outbound.address.channel,
            thread_ts=outbound.address.thread or None,
        )
        return _is_done(SHARE, shared)

    async def file_ids(self, delivery_ids: Collection[str]) -> set[str]:
        """The files of these deliveries, as far as they are known.

        Raises:
            DeliverLater: the store does not answer.
        """
        try:
            known = [await self._kv.get(_key(delivery_id)) for delivery_id in delivery_ids]
        except StoreUnavailable as error:
            raise DeliverLater("the store does not answer about a file", AWAY_S) from error
        return {file_id.decode() for file_id in known if file_id}

    async def _upload(self, file: FileRef, content: bytes) -> str:
        """The id of the uploaded file; empty if Slack does not take it."""
        begun = await self._client.post_form(
            UPLOAD, filename=file.name, length=len(content), alt_txt=file.text[:MAX_ALT] or None
        )
        url = str(begun.data.get("upload_url", ""))
        if not _is_done(UPLOAD, begun) or not self._config.is_slack_url(url):
            return ""
        try:
            async with self._client.session.post(
                url, data=content, allow_redirects=False
            ) as response:
                status = response.status
        except FAILURES as error:
            raise DeliverLater(f"upload: {type(error).__name__}", AWAY_S) from error
        if status == 429 or status >= 500:
            raise DeliverLater(f"upload: status {status}", AWAY_S)
        if status != 200:
            log.warning("slack.file_refused", cause=f"upload: status {status}")
            return ""
        return str(begun.data.get("file_id", ""))

    async def _is_shared(self, outbound: OutboundMessage) -> bool:
        """Whether an earlier attempt has shared its file after all."""
        if (known := await self._kv.get(_key(outbound.delivery.id))) is None:
            return False
        messages = await self._messages.read_answers(outbound.address)
        return any(known.decode() in file_ids_of(message) for message in messages)


def file_ids_of(message: object) -> set[str]:
    """The files of a message."""
    return {str(one.get("id")) for one in entries(as_object(message).get("files"))}


def _is_done(method: str, response: ApiResponse) -> bool:
    if is_transient(response):
        raise delivery_error(method, response)
    if not response.ok:
        fix = {"fix": FIX} if response.error == "missing_scope" else {}
        log.error("slack.file_refused", cause=f"{method}: {response.error}", **fix)
    return response.ok


def _key(delivery_id: str) -> str:
    return f"slack:file:{delivery_id}"
