"""Images on their way to a model: fetched for a turn, never kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bot.channels import Channel
from bot.transcript import Media, Message, Part

MOST = 6  # images a request carries, the newest ones
MIMES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
}


async def loaded(messages: Sequence[Message], conversation: str, channel: Channel) -> list[Message]:
    """The messages with the content of their newest images, as far as it can be had."""
    wanted = [part for message in messages for part in message.parts if isinstance(part, Media)][-MOST:]
    contents = await asyncio.gather(*(channel.fetch(conversation, media) for media in wanted))
    found = {media.ref: content for media, content in zip(wanted, contents, strict=True) if content}
    return [_with_parts(message, tuple(_filled(part, found) for part in message.parts)) for message in messages]


def unloaded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as they are kept: references only."""
    return tuple(
        _with_parts(
            message, tuple(replace(part, data=b"") if isinstance(part, Media) else part for part in message.parts)
        )
        for message in messages
    )


def _filled(part: Part, found: dict[str, bytes]) -> Part:
    if not isinstance(part, Media) or part.ref not in found:
        return part
    data = found[part.ref]
    return replace(part, data=data, mime=mime_of(data) or part.mime, size=len(data))


def mime_of(data: bytes) -> str:
    """The type of an image by its first bytes, empty where it is none a model reads."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"heic", b"heix", b"mif1"):
        return "image/heic"
    return next((mime for start, mime in MIMES.items() if data.startswith(start)), "")


def _with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    return message if parts == message.parts else replace(message, parts=parts)
