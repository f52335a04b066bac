"""The pictures of an answer: shown by their public addresses, or told in words.

https://developers.line.biz/en/reference/messaging-api/#image-message
"""

from __future__ import annotations

from bot.channels import Files, Reply

# LINE takes five messages at once; a text is up to three, and a card with buttons is one.
MAX_PICTURES = 2
MAX_PREVIEW = 1_000_000  # bytes; the picture is its own preview
MIMES = ("image/png", "image/jpeg")


async def find_pictures(
    reply: Reply, files: Files, *, is_late: bool = False
) -> tuple[list[str], str]:
    """The https addresses of the pictures that LINE can show, and the words of the others.

    Args:
        is_late: the pictures, which are kept for a day, may be gone.

    Raises:
        StoreUnavailable: the addresses cannot be made.
    """
    shown, in_words = list[str](), list[str]()
    most = MAX_PICTURES - (reply.card is not None)
    for file in reply.files:
        fits = len(shown) < most and file.mime in MIMES and file.size <= MAX_PREVIEW
        is_there = fits and not (is_late and await files.read(file) is None)
        url = await files.url(file) if is_there else ""
        if url.startswith("https://"):
            shown.append(url)
        else:
            in_words.append(file.text)
    return shown, "\n\n".join(in_words)
