"""The files that a turn's tool calls return: checked, and stored for a day."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import structlog

from bot.agent.turn import KeptFiles
from bot.channels import MOST_FILES
from bot.errors import StoreUnavailable
from bot.store import FileOwner, Files
from bot.transcript import FileRef
from toolset.shown import ToolFile

log = structlog.stdlib.get_logger(__name__)

MOST_BYTES = 2 * 1024 * 1024  # of one file
MOST_TEXT = 2_000  # characters of a file's words
MOST_NAME = 64
BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
}  # of the types that are stored


class ToolFiles(KeptFiles):
    """Keeps the files of a turn's calls in the store."""

    def __init__(self, files: Files, conversation: str, asker: str) -> None:
        self._files = files
        self._owner = FileOwner(conversation, asker)

    async def keep(self, idempotency_key: str, files: Sequence[ToolFile]) -> tuple[FileRef, ...]:
        """Store files under ids made of the conversation and the key, so that a repeated call makes
        no second copy."""
        return tuple(
            [
                await self._keep(f"{idempotency_key}:{number}", file)
                for number, file in enumerate(files[:MOST_FILES])
            ]
        )

    async def read(self, file: FileRef) -> bytes | None:
        """The content; None if it is gone or the store does not answer."""
        try:
            stored = await self._files.read(file.id) if file.id else None
        except StoreUnavailable:
            return None
        return stored.data if stored else None

    async def _keep(self, key: str, file: ToolFile) -> FileRef:
        name = file.name[:MOST_NAME]
        text = file.text[:MOST_TEXT].strip() or name
        words_only = FileRef("", name, file.mime[:MOST_NAME], text)
        beginning = BEGINNINGS.get(file.mime)
        if not (beginning and file.data.startswith(beginning)) or len(file.data) > MOST_BYTES:
            log.warning("file.refused", mime=file.mime[:MOST_NAME], size=len(file.data))
            return words_only
        file_id = sha256(f"{self._owner.conversation}\0{key}".encode()).hexdigest()[:32]
        try:
            await self._files.keep(file_id, self._owner, file.mime, file.data)
        except StoreUnavailable as error:
            log.warning("file.not_stored", cause=str(error))
            return words_only
        return FileRef(file_id, name, file.mime, text, len(file.data))
