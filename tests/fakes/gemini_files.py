"""The Files API of Gemini's stand-in: resumable uploads, and files that are looked at before a
model may read them.

https://ai.google.dev/api/files
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from tests.fakes.gemini_rules import JSON, Refused
from tests.fakes.names import NAMES

GOOGLE = "https://generativelanguage.googleapis.com"
GRANULARITY = 256 * 1024
MOST_BYTES = 2 * 1024**3


@dataclass
class Upload:
    """A file on its way in, and then the file.

    Attributes:
        looks: how often it is still ``PROCESSING`` when somebody asks.
    """

    size: int
    mime: str
    data: bytearray = field(default_factory=bytearray)
    name: str = ""
    looks: int = 0
    is_deleted: bool = False

    @property
    def uri(self) -> str:
        """Its address, in requests to a model too."""
        return f"{GOOGLE}/v1beta/{self.name}"


class UploadedFiles:
    """The service's ``files``.

    Attributes:
        uploads: by the id of the upload.
        looks: of each new video, before it is ``ACTIVE``; None: Google cannot read it.
        cuts: how many pieces come to a broken connection.
        log: what was asked for, such as ``start`` or ``DELETE files/1``.
    """

    def __init__(self) -> None:
        self.uploads: dict[str, Upload] = {}
        self.looks: int | None = 1
        self.cuts = 0
        self.log: list[str] = []

    @property
    def stored(self) -> list[Upload]:
        """The files that are there."""
        return [upload for upload in self.uploads.values() if upload.name and not upload.is_deleted]

    def start(self, headers: Mapping[str, str], raw: bytes) -> dict[str, str]:
        """Begin an upload; the headers of the answer.

        Raises:
            Refused: with the service's text.
        """
        self.log.append("start")
        size, mime = (
            headers.get(f"x-goog-upload-header-content-{name}", "") for name in ("length", "type")
        )
        if (
            headers.get("x-goog-upload-protocol") != "resumable"
            or headers.get("x-goog-upload-command") != "start"
        ):
            raise Refused("Invalid upload protocol.")
        if not size.isdecimal() or not 0 < int(size) <= MOST_BYTES or "/" not in mime:
            raise Refused("Invalid upload headers.")
        body = msgspec.json.decode(raw or b"{}")
        if (
            not isinstance(body, dict)
            or body.keys() - {"file"}
            or body.get("file", {}).keys() - NAMES["gemini"]["file"]
        ):
            raise Refused("Invalid JSON payload received. Unknown name.")
        key = secrets.token_hex(8)
        self.uploads[key] = Upload(int(size), mime)
        address = f"{GOOGLE}/upload/v1beta/files?upload_id={key}&upload_protocol=resumable"
        return {
            "x-goog-upload-url": address,
            "x-goog-upload-status": "active",
            "x-goog-upload-chunk-granularity": str(GRANULARITY),
        }

    def proceed(
        self, key: str, headers: Mapping[str, str], piece: bytes
    ) -> tuple[JSON, dict[str, str]]:
        """Take a piece; the answer and its headers.

        Raises:
            Refused: with the service's text.
            ConnectionError: the connection breaks.
        """
        upload, command = self.uploads.get(key), headers.get("x-goog-upload-command", "")
        self.log.append(command)
        if upload is None:
            raise Refused("Upload has already been terminated.", 404)
        if command not in ("upload", "upload, finalize") or upload.name:
            raise Refused("Invalid upload command.")
        if headers.get("x-goog-upload-offset") != str(len(upload.data)):
            raise Refused("Invalid upload offset.")
        if command == "upload" and len(piece) % GRANULARITY:
            raise Refused("Invalid chunk size: it must be a multiple of the granularity.")
        if self.cuts:
            self.cuts -= 1
            raise ConnectionError
        upload.data += piece
        if command == "upload":
            return {}, {"x-goog-upload-status": "active"}
        if len(upload.data) != upload.size:
            raise Refused("Upload size does not match the announced size.")
        upload.name = f"files/{key}"
        upload.looks = (self.looks or 0) if upload.mime.startswith("video/") else 0
        return {"file": self._card(upload)}, {"x-goog-upload-status": "final"}

    def serve(self, method: str, key: str) -> JSON:
        """Answer a request about a file.

        Raises:
            Refused: with the service's text.
        """
        self.log.append(f"{method} files/{key}")
        upload = self._find(f"files/{key}")
        if method == "DELETE":
            upload.is_deleted = True
            return {}
        upload.looks -= upload.looks > 0
        return self._card(upload)

    def check(self, body: JSON) -> None:
        """Refuse a request to a model that names files it may not read.

        Raises:
            Refused: with the service's text.
        """
        parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
        for given in (part["fileData"] for part in parts if "fileData" in part):
            name = given["fileUri"].removeprefix(f"{GOOGLE}/v1beta/")
            upload = self._find(name)
            if self._state(upload) != "ACTIVE":
                raise Refused(
                    f"The File {name} is not in an ACTIVE state and usage is not allowed."
                )
            if given.get("mimeType") != upload.mime:
                raise Refused(f"The mime type of the File {name} is {upload.mime}.")

    def _find(self, name: str) -> Upload:
        found = next((upload for upload in self.stored if upload.name == name), None)
        if found is None:
            raise Refused(
                f"You do not have permission to access the File {name} or it may not exist.", 403
            )
        return found

    def _state(self, upload: Upload) -> str:
        if upload.mime.startswith("video/") and self.looks is None:
            return "FAILED"
        return "PROCESSING" if upload.looks else "ACTIVE"

    def _card(self, upload: Upload) -> JSON:
        digest = hashlib.sha256(upload.data).hexdigest()
        return {
            "name": upload.name,
            "mimeType": upload.mime,
            "sizeBytes": str(upload.size),
            "createTime": "2026-11-20T00:00:00.000000Z",
            "updateTime": "2026-11-20T00:00:00.000000Z",
            "expirationTime": "2026-11-22T00:00:00.000000Z",
            "sha256Hash": digest,
            "uri": upload.uri,
            "state": self._state(upload),
            "source": "UPLOADED",
        }
