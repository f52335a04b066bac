"""Google's Files API: recordings that are too large for a request.

A file is uploaded in pieces; after a broken connection the upload goes on where Google has lost it.
A video can be read once Google has looked at all of it. Google deletes files after two days; Kaiwa
deletes them with the turn.

https://ai.google.dev/gemini-api/docs/files and https://ai.google.dev/api/files
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import structlog
from msgspec import Struct

from bot.http import read_beginning
from bot.providers.gemini.failures import FAILURES, cause_of, read_refusal, translating
from bot.providers.gemini.relay import Relay
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import Body
from bot.transcript import encode
from toolset.web.decoding import decode_json

log = structlog.stdlib.get_logger(__name__)

PIECE = 8 * 1024 * 1024  # bytes; Google takes multiples of 256 KiB, but for the last piece
UPLOAD_S = 90.0  # for the upload and for Google's look at it
POLL_S = 1.0
DELETE_S = 5.0
RESUMES = 3  # after a broken connection


class _File(Struct):
    """A file, as far as it matters; ``name`` is ``files/…``."""

    name: str
    uri: str
    state: str = ""


class _Uploaded(Struct):
    file: _File


class UploadedFiles:
    """The files of one key.

    Args:
        base_url: with the version of the API.
    """

    def __init__(self, relay: Relay, base_url: str, api_key: str, failures: Failures) -> None:
        self._relay = relay
        self._base_url = base_url
        self._headers = {"x-goog-api-key": api_key, "accept-encoding": "identity"}
        self._failures = failures
        self._names: dict[str, str] = {}

    async def upload(self, data: bytes, mime: str) -> str:
        """Upload a file and wait until it is ``ACTIVE``; raises as the Protocol says."""
        with translating(self._failures):
            async with asyncio.timeout(UPLOAD_S):
                file = await self._send(await self._start(len(data), mime), data)
                self._names[file.uri] = file.name
                try:
                    await self._wait(file)
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
                await self._call("DELETE", f"{self._base_url}/{name}")
        except (TimeoutError, *FAILURES) as error:
            log.info("media.not_deleted", cause=cause_of(error, self._failures))

    async def _start(self, size: int, mime: str) -> str:
        """The address for the pieces, at the same host: only the path is Google's word."""
        headers = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(size),
            "x-goog-upload-header-content-type": mime,
            "content-type": "application/json",
        }
        base = urlsplit(self._base_url)
        start = urlunsplit(base._replace(path=f"/upload{base.path}/files"))
        answer, _ = await self._call("POST", start, self._headers | headers, encode({"file": {}}))
        given = urlsplit(answer.get("x-goog-upload-url", ""))
        if not given.path:
            raise ValueError("no address for the upload")
        return urlunsplit(given._replace(scheme=base.scheme, netloc=base.netloc))

    async def _send(self, url: str, data: bytes) -> _File:
        """Send all pieces; the address stands for the key."""
        offset, resumes = 0, RESUMES
        while True:
            piece = data[offset : offset + PIECE]
            is_last = offset + len(piece) == len(data)
            headers = {
                "x-goog-upload-command": "upload, finalize" if is_last else "upload",
                "x-goog-upload-offset": str(offset),
            }
            try:
                answer, body = await self._call("POST", url, headers, Body([piece]))
            except (aiohttp.ClientError, OSError):
                if not resumes:
                    raise
                resumes -= 1
                answer, body = await self._call("POST", url, {"x-goog-upload-command": "query"})
                received = answer.get("x-goog-upload-size-received", "")
                offset = int(received) if received.isdecimal() else offset
            else:
                offset += len(piece)
            if answer.get("x-goog-upload-status") == "final":
                return decode_json(body, _Uploaded).file
            if offset >= len(data):
                raise ValueError("an upload without an end")

    async def _wait(self, file: _File) -> None:
        """Wait until the model can read the file.

        Raises:
            ValueError: Google cannot read it.
        """
        while file.state == "PROCESSING":
            await asyncio.sleep(POLL_S)
            _, body = await self._call("GET", f"{self._base_url}/{file.name}")
            file = decode_json(body, _File)
        if file.state != "ACTIVE":
            raise ValueError(f"a file in state {file.state}")

    async def _call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | Body = b"",
    ) -> tuple[Mapping[str, str], bytes]:
        """Headers and body of the answer.

        Raises:
            ServiceError: Google refuses.
        """
        response = await self._relay.send(method, url, headers or self._headers, body)
        async with response:
            if response.status != 200:
                raise await read_refusal(response)
            return response.headers, await read_beginning(response)
