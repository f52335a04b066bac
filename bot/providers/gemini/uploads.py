"""Google's Files API: recordings that are too large for a request.

An upload whose connection breaks is made again. A video can be read once Google has looked at all
of it. Google deletes files after two days; Kaiwa deletes them with the turn.

https://ai.google.dev/gemini-api/docs/files and https://ai.google.dev/api/files
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import aiohttp
import structlog

from bot.providers.gemini.failures import FAILURES, GeminiFailures
from bot.providers.shared.streaming import translating

if TYPE_CHECKING:
    from bot.providers.gemini.sdk import Sdk, StoredFile

log = structlog.stdlib.get_logger(__name__)

# Seconds for the upload and for Google's look at it.
UPLOAD_S = 90.0
POLL_S = 1.0
DELETE_S = 5.0
# Of an upload whose connection breaks.
TRIES = 4


class UploadedFiles:
    """The files of one key.

    Args:
        sdk: opens it, once.
    """

    def __init__(self, sdk: Callable[[], Awaitable[Sdk]], failures: GeminiFailures) -> None:
        self._sdk = sdk
        self._failures = failures
        self._names: dict[str, str] = {}

    async def upload(self, data: bytes, mime: str) -> str:
        """Upload a file and wait until it is ``ACTIVE``; raises as the Protocol says."""
        with translating(self._failures):
            async with asyncio.timeout(UPLOAD_S):
                sdk = await self._sdk()
                file = await _upload(sdk, data, mime)
                self._names[file.uri] = file.name
                try:
                    await _wait(sdk, file)
                except BaseException:
                    await asyncio.shield(self.delete(file.uri))
                    raise
        return file.uri

    async def delete(self, uri: str) -> None:
        """Delete a file that was uploaded here; never raises."""
        name = self._names.pop(uri, "")
        if not name:
            return
        try:
            async with asyncio.timeout(DELETE_S):
                await (await self._sdk()).delete_file(name)
        except FAILURES as error:
            log.info("media.not_deleted", cause=self._failures.cause_of(error))


async def _upload(sdk: Sdk, data: bytes, mime: str) -> StoredFile:
    for _ in range(TRIES - 1):
        try:
            return await sdk.upload(data, mime)
        except (aiohttp.ClientError, OSError):
            continue
    return await sdk.upload(data, mime)


async def _wait(sdk: Sdk, file: StoredFile) -> None:
    """Wait until the model can read the file.

    Raises:
        ValueError: Google cannot read it.
    """
    while file.state == "PROCESSING":
        await asyncio.sleep(POLL_S)
        file = await sdk.file(file.name)
    if file.state != "ACTIVE":
        raise ValueError(f"a file in state {file.state}")
