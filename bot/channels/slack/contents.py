"""What a message of Slack's holds: its words, wherever they stand, what it forwards, and the files
of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from bot.channels.slack.formatting import escape, plain_text
from bot.channels.slack.types import Attachment, File, SlackMessage

M = TypeVar("M", bound=SlackMessage)

# levels of lists and objects within each other; those of a list in a forwarded message are nine
DEEPEST = 12
HOLDERS = (
    "message",
    "blocks",
    "elements",
    "rows",
    "fields",
    "text",
)  # fields of blocks with what people read
UNREAD = ("actions", "context_actions")  # blocks without words
UNREADABLE_FORWARD = "[forwarded message, not readable here]"


def with_text(message: M) -> M:
    """The message with a text: one whose words stand in its blocks alone gets those."""
    if message.text or not message.blocks:
        return message
    return replace(message, text=_text_of_blocks(message.blocks))


def forwarded_words(message: SlackMessage) -> list[str]:
    """The words of each message that is forwarded, or whose link is shown, in lines that are
    marked.

    So a forwarded text is neither a decision nor a command.
    """
    quoted = []
    for forward in _forwards(message):
        text = plain_text(forward.text or _text_of_blocks(forward.message_blocks))
        if not (text or forward.files):
            text = UNREADABLE_FORWARD
        quoted.append("\n".join(f"> {line}" for line in text.splitlines()))
    return quoted


def files_of(message: SlackMessage) -> list[File]:
    """The message's files, and those of the messages that it forwards."""
    forwarded = [file for forward in _forwards(message) for file in forward.files or ()]
    return [*(message.files or ()), *forwarded]


def _forwards(message: SlackMessage) -> list[Attachment]:
    return [one for one in message.attachments or () if one.is_share or one.is_msg_unfurl]


def _text_of_blocks(blocks: object) -> str:
    """The words of blocks in Slack's markup, a line for each paragraph."""
    lines = "".join(_words(blocks, DEEPEST)).splitlines()
    return "\n".join(filter(None, (line.strip() for line in lines)))


def _words(part: object, levels: int) -> Iterator[str]:
    if isinstance(part, list) and levels:
        for one in part:
            yield from _words(one, levels - 1)
    if not isinstance(part, dict) or not levels or part.get("type") in UNREAD:
        return
    if (words := _leaf(part)) is not None:
        yield words
        return
    for holder in HOLDERS:
        yield from _words(part.get(holder), levels - 1)
    yield "\n"


def _leaf(part: dict[str, Any]) -> str | None:
    """The words of a part without parts, as they stand in a message's text; None for one that has
    some."""
    match part:
        case {"type": "mrkdwn" | "markdown", "text": str(text)}:
            return text
        case {"type": "text" | "plain_text", "text": str(text)}:
            return escape(text)
        case {"type": "link", "url": str(url)}:
            return escape(f"{part['text']} ({url})" if part.get("text") else url)
        case {"type": "user", "user_id": str(user)}:
            return f"<@{user}>"
        case {"type": "usergroup", "usergroup_id": str(group)}:
            return f"<!subteam^{group}>"
        case {"type": "channel", "channel_id": str(channel)}:
            return f"<#{channel}>"
        case {"type": "broadcast", "range": str(who)}:
            return f"<!{who}>"
        case {"type": "emoji", "name": str(name)}:
            return f":{name}:"
        case {"type": "color", "value": str(value)} | {"type": "date", "fallback": str(value)}:
            return escape(value)
    return None
