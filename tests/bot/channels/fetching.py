"""The content of a file, as a channel hands it over."""

from __future__ import annotations

from bot.channels import Channel
from bot.transcript import Media


async def fetched(channel: Channel, conversation: str, media: Media) -> bytes | None:
    """All of it, or None where it cannot be had."""
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    return b"".join(pieces) if await channel.fetch(conversation, media, take) else None
