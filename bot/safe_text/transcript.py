"""A conversation as text in a request about it: marked as data, so that no line can pass for
another's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.file_types import label
from bot.safe_text.glyphs import safe_name
from bot.transcript import Author, Media, Message, Text, ToolCall, ToolResult, encode

MESSAGE_CAP = 4_000  # characters of one message
RESULT_CAP = 600  # characters of one tool result; the tool can be called again
TAG = re.compile(r"<(?=[/A-Za-z])")


def name_of(author: Author | None) -> str:
    """The name by which the model reads of somebody else."""
    return (safe_name(author.name) if author else "") or "somebody"


def transcript_lines(message: Message, speaker: str = "") -> Iterator[str]:
    """A message as lines of the transcript. Its text can neither begin a line nor close the
    transcript.

    Args:
        speaker: of a user message, in place of its author's name.
    """
    if message.role == "user":
        name = safe_name(message.author.name) if message.author else ""
        text = " ".join(filter(None, (message.text, *_files(message))))
        yield f"{escaped(message.preface)} {speaker or name or 'User'}: {escaped(text)}".lstrip()
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield (
                f"Assistant calls {escaped(part.name)}: "
                f"{escaped(encode(part.arguments).decode(), RESULT_CAP)}"
            )
        elif isinstance(part, ToolResult):
            response = escaped(encode(part.response).decode(), RESULT_CAP)
            yield f"Tool {escaped(part.name)}: {response}"
        elif message.role == "model" and isinstance(part, Text) and part.text.strip():
            yield f"Assistant: {escaped(part.text)}"


def _files(message: Message) -> Iterator[str]:
    return (f"[{label(part.mime, part.name)}]" for part in message.parts if isinstance(part, Media))


def escaped(text: str, cap: int = MESSAGE_CAP) -> str:
    """The text with its further lines indented, and without the beginning or end of a block of
    data."""
    shown = text if len(text) <= cap else f"{text[:cap]} […]"
    return escaped_tags("\n  ".join(shown.splitlines()))


def escaped_tags(text: str) -> str:
    """The text without the beginning or end of a block of data."""
    return TAG.sub("< ", text)
