"""What one vendor made, in the form every other takes back: ids and names of calls, what a user sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from bot.transcript import Media, Message, Text

ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")  # OpenAI's length, Anthropic's letters
FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
NAME_CAP = 64
IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}  # others, such as an iPhone's, are refused with a 400


def portable_id(call_id: str) -> str:
    """The id itself, or a short one that is always the same for it."""
    return call_id if ID.fullmatch(call_id) else f"call_{sha256(call_id.encode()).hexdigest()[:32]}"


def portable_name(name: str) -> str:
    """A tool's name; one that a model made up may hold anything, and would spoil every later request."""
    return FOREIGN.sub("_", name)[:NAME_CAP] or "_"


def visible_parts(message: Message, *, sees_pictures: bool = True) -> Iterator[Text | Media]:
    """What a user's message shows to a model: context, words, pictures, and a word for what it cannot see."""
    if message.context:
        yield Text(message.context)
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            yield part
        elif isinstance(part, Media):
            kind = part.mime.partition("/")[0]
            is_seen = part.data and part.mime in IMAGES and sees_pictures
            yield part if is_seen else Text(f"[{kind}: not available]")
