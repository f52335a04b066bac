"""The pictures of an answer: shown by their public addresses, or told in words.

https://developers.line.biz/en/reference/messaging-api/#image-message
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bot.channels import Files, Reply
from bot.channels.line.types import LineMessage

MAX_PICTURES = 2  # LINE takes five messages at once; a text is up to three, and a poll is one
MAX_PREVIEW = 1_000_000  # bytes; the picture is its own preview
MIMES = ("image/png", "image/jpeg")


async def find_pictures(reply: Reply, files: Files, *, is_late: bool = False) -> tuple[Reply, list[str]]:
    """The https addresses of the pictures that LINE can show, and the reply with the words of the others.

    Args:
        is_late: the pictures, which are kept for a day, may be gone.

    Raises:
        StoreUnavailable: the addresses cannot be made.
    """
    shown, told = list[str](), list[str]()
    most = MAX_PICTURES - (reply.poll is not None)
    for file in reply.files:
        fits = len(shown) < most and file.mime in MIMES and file.size <= MAX_PREVIEW
        is_there = fits and not (is_late and await files.read(file) is None)
        url = await files.url(file) if is_there else ""
        if url.startswith("https://"):
            shown.append(url)
        else:
            told.append(file.text)
    return replace(reply, text="\n\n".join(filter(None, (reply.text.strip(), *told)))), shown


def append_pictures(messages: Sequence[LineMessage], urls: Sequence[str]) -> list[LineMessage]:
    """The messages with pictures below. The buttons belong to the last one: LINE shows no others."""
    if not urls:
        return list(messages)
    pictures = [LineMessage("", image=url) for url in urls]
    pictures[-1] = pictures[-1]._replace(quick=messages[-1].quick)
    return [*messages[:-1], messages[-1]._replace(quick=()), *pictures]
