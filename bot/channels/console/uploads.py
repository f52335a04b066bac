"""Files that people add to their messages on the page: checked before they are stored, and stored
for a day."""

from __future__ import annotations

from starlette.requests import Request

from bot.channels import Upload
from bot.errors import KaiwaError
from bot.file_types import MIB, MOST_BYTES, checked_type, kind_of, type_of
from bot.http import read_body
from bot.safe_text.glyphs import safe_name
from bot.transcript import Media

MOST_ATTACHED = 4  # of one message
MOST_UPLOAD = 8 * MIB  # two of them fit the bundled Valkey's share for files
MOST_NAME = 255
PICTURES = ("image/png", "image/jpeg", "image/webp")  # that every browser shows
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=86400, immutable",
}


class Refused(KaiwaError):
    """A refused request: the answer is a status and a sentence of the catalogue, which ``values``
    fill in."""

    def __init__(self, status: int, key: str, **values: object) -> None:
        self.status = status
        self.key = key
        self.values = values


async def read_upload(request: Request) -> Upload:
    """The file in a request's body; its name and type are in the query.

    Raises:
        Refused: it is too large, empty, damaged, or of a kind that is never read.
    """
    name = safe_name(request.query_params.get("name", "")[:MOST_NAME]) or "?"
    mime = type_of(request.query_params.get("name", ""), request.query_params.get("type", ""))
    if not mime:
        raise Refused(415, "file_unknown", name=name)
    most = min(MOST_BYTES[kind_of(mime)], MOST_UPLOAD)
    data = await read_body(request, most)
    if data is None:
        raise Refused(413, "file_too_large", name=name, megabytes=most // MIB)
    actual = checked_type(mime, data)
    if not actual:
        raise Refused(400, "file_damaged", name=name)
    return Upload(actual, data)


def picture_path(conversation: str, media: Media) -> str:
    """Where the page finds a picture of its user's; empty for another file."""
    is_picture = media.mime in PICTURES
    return f"/console/{conversation.partition(':')[2]}/files/{media.ref}" if is_picture else ""
