"""What a message says: its words, its files, and those of the messages that it forwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from bot.channels.slack.formatting import escape, mentioned_users, plain_text, without_mentions
from bot.channels.slack.types import CLIPS, Attachment, Envelope, File, SlackMessage
from bot.file_types import CANVAS, MIB, MOST_BYTES, kind_of
from bot.safe_text.glyphs import safe_name
from bot.transcript import Media, Part, Text

M = TypeVar("M", bound=SlackMessage)

# levels of lists and objects within each other; those of a list in a forwarded message are nine
DEEPEST = 12
HOLDERS = ("message", "blocks", "elements", "rows", "fields", "text")  # what people read
UNREAD = ("actions", "context_actions")  # blocks without words
UNREADABLE_FORWARD = "[forwarded message, not readable here]"


def with_texts(envelope: Envelope) -> Envelope:
    """The event, its messages with the words of their blocks where they have no text."""
    event = with_text(envelope.event)
    if event.message:
        event = replace(event, message=with_text(event.message))
    if event.previous_message:
        event = replace(event, previous_message=with_text(event.previous_message))
    return replace(envelope, event=event)


def with_text(message: M) -> M:
    """The message with a text: one whose words stand in its blocks alone gets those."""
    if message.text or not message.blocks:
        return message
    return replace(message, text=_text_of_blocks(message.blocks))


def parts_of(
    posted: SlackMessage, bot_users: frozenset[str], *, is_mention: bool = False
) -> tuple[Part, ...]:
    """The text, without mentions of the bot, and the files that can be read."""
    text, mentioned = posted.text, mentioned_users(posted.text) & bot_users
    if mentioned or is_mention:
        text = without_mentions(text, mentioned)
    files = files_of(posted)
    said = (plain_text(text), *_forwarded_words(posted), *_unread_files(files))
    content = "\n\n".join(filter(None, said))
    return ((Text(content),) if content else ()) + media_of(files)


def files_of(message: SlackMessage) -> list[File]:
    """The message's files, and those of the messages that it forwards."""
    forwarded = [file for forward in _forwards(message) for file in forward.files]
    return [*message.files, *forwarded]


def media_of(files: list[File]) -> tuple[Media, ...]:
    """The files that can be read. A picture needs no name, and neither does a clip that was
    recorded for the message; a canvas has a title."""
    media: list[Media] = []
    for file in files:
        if file.is_readable:
            named = (file.title if file.mime == CANVAS else "") or file.name
            is_nameless = kind_of(file.mime) == "image" or file.subtype in CLIPS
            name = "" if is_nameless else safe_name(named)
            media.append(Media(file.ref, file.mime, max(file.size, 0), name=name))
    return tuple(media)


def _forwarded_words(message: SlackMessage) -> list[str]:
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


def _unread_files(files: list[File]) -> list[str]:
    """For each file that cannot be read a line that says so."""
    lines: list[str] = []
    for file in files:
        name = safe_name(file.name) or "without a name"
        if file.is_too_large:
            most = MOST_BYTES[kind_of(file.mime)] // MIB
            lines.append(f"[attached file, larger than the {most} MB that can be read: {name}]")
        elif not file.is_readable:
            kind = f", {file.mimetype}" if file.mimetype else ""
            lines.append(f"[attached file, not readable here: {name}{kind}]")
    return lines


def _forwards(message: SlackMessage) -> list[Attachment]:
    return [one for one in message.attachments if one.is_share or one.is_msg_unfurl]


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
