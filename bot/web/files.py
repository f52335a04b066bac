"""Files of tool calls under signed names: whoever has a name may have the file, and nobody finds
another."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.channels import Upload
from bot.errors import StoreUnavailable
from bot.store import FileOwner, Files
from bot.transcript import FileRef

EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}
NAME = re.compile(r"(?P<id>[0-9a-f]{32})(?P<signature>[0-9a-f]{32})\.(png|jpg)")
# The store's key is not read again for so long.
KEY_S = 600.0
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}


class StoredUploads:
    """Uploaded files in the store (``bot.channels.Uploads``).

    A file's id is made of its conversation too: who does not know that cannot name the file.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    async def keep(self, conversation: str, ref: str, upload: Upload) -> None:
        owner = FileOwner(conversation, conversation.partition(":")[2])
        await self._files.keep(_upload_id(conversation, ref), owner, upload.mime, upload.data)

    async def read(self, conversation: str, ref: str) -> Upload | None:
        stored = await self._files.read(_upload_id(conversation, ref))
        if stored is None:
            return None
        return Upload(stored.mime, stored.data)


def _upload_id(conversation: str, ref: str) -> str:
    return hashlib.sha256(f"upload\0{conversation}\0{ref}".encode()).hexdigest()[:32]


class SignedFiles:
    """The stored files, and their addresses (``bot.channels.Files``).

    Args:
        secret: SECRET_KEY; empty: a random key, which the store keeps for all processes.
    """

    def __init__(self, files: Files, secret: SecretStr, public_url: str) -> None:
        self._files = files
        self.public_url = public_url
        given = secret.get_secret_value().encode()
        self._key, self._key_until = b"", 0.0
        if given:
            self._key = hashlib.sha256(b"files\0" + given).digest()
            self._key_until = float("inf")

    async def read(self, file: FileRef) -> bytes | None:
        """The content; None if it is gone."""
        if not file.id:
            return None
        stored = await self._files.read(file.id)
        return stored.data if stored else None

    async def path(self, file: FileRef) -> str:
        """Where this server serves the file; empty if it was not stored."""
        extension = EXTENSIONS.get(file.mime)
        if not file.id or not extension:
            return ""
        return f"/files/{file.id}{await self._sign(file.id)}.{extension}"

    async def url(self, file: FileRef) -> str:
        """The same for everybody on the internet; empty without PUBLIC_URL."""
        if not self.public_url:
            return ""
        path = await self.path(file)
        return path and f"{self.public_url}{path}"

    def route(self) -> Route:
        """``/files/{signed}``, for whoever has the name: a platform shows the file to its
        people."""
        return Route("/files/{signed}", self._answer)

    async def _answer(self, request: Request) -> Response:
        found = NAME.fullmatch(request.path_params["signed"])
        try:
            # Only a genuine name makes a request to the store.
            is_genuine = found and hmac.compare_digest(
                found["signature"], await self._sign(found["id"])
            )
            stored = None
            if found and is_genuine:
                stored = await self._files.read(found["id"])
        except StoreUnavailable:
            return PlainTextResponse(
                "try again later\n", 503, HEADERS | {"Cache-Control": "no-store"}
            )
        if stored is None or stored.mime not in EXTENSIONS:
            return PlainTextResponse("not found\n", 404, HEADERS | {"Cache-Control": "no-store"})
        caching = {"Cache-Control": f"private, max-age={max(stored.ttl_s, 0)}, immutable"}
        return Response(stored.data, headers=HEADERS | caching, media_type=stored.mime)

    async def _sign(self, file_id: str) -> str:
        now = time.monotonic()
        if now >= self._key_until:
            self._key = await self._files.signing_key(secrets.token_bytes(32))
            self._key_until = now + KEY_S
        return hmac.new(self._key, file_id.encode(), hashlib.sha256).hexdigest()[:32]
