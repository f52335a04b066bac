"""What becomes of a message after it has been begun, in the stand-in for Slack: streamed, changed,
deleted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import Any

from tests.fakes.slack_blocks import Chunks, check, check_blocks, check_message, read
from tests.fakes.slack_events import BOT
from tests.fakes.slack_rules import (
    JSON,
    MARKDOWN_LIMIT,
    UPDATED_TEXT_BYTES,
    Refused,
    check_metadata,
)

BOT_ID = "B0000000B"
OPEN, OVER = "in_progress", "completed"
KEPT = ("blocks", "metadata")  # of a message, beside its text
STREAM_BYTES = (
    10_600  # of text and titles in a stream with tasks and words, as people have measured
)


@dataclass
class Messages:
    """The messages of a workspace.

    Attributes:
        users: who is there, by id.
        messages: by channel, oldest first; a test may put some there.
        no_streams: channels in which none may be begun.
        no_chunks: the error with which the workspace refuses chunks; empty where it takes them.
        no_blocks: types of blocks that it does not know.
        most: characters of Markdown in a message. Slack counts them after rendering, so a text that
            is shorter than its limit may be too long:
            https://github.com/slackapi/bolt-js/issues/2509
        written_at: when each of the bot's own was begun, in seconds since the epoch, by ts.
    """

    users: dict[str, JSON] = field(default_factory=dict)
    messages: dict[str, list[JSON]] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)
    no_streams: set[str] = field(default_factory=set)
    no_chunks: str = ""
    no_blocks: set[str] = field(default_factory=set)
    most: int = MARKDOWN_LIMIT
    written_at: dict[str, float] = field(default_factory=dict)
    _clock: float = 1_800_000_000.0

    @property
    def shown(self) -> list[str]:
        """What each of the bot's own messages shows now."""
        return list(map(show, self.own))

    @property
    def own(self) -> list[JSON]:
        """The bot's messages, channel by channel."""
        return list(filter(is_own, chain(*self.messages.values())))

    def expire(self) -> None:
        """Slack ends a stream after some minutes, whatever is still to come."""
        for message in self.own:
            if message.get("streaming_state"):
                message["streaming_state"] = OVER

    def delete(self, text: str) -> None:
        """Somebody deletes the bot's messages that show this."""
        for channel in self.messages.values():
            channel[:] = [
                message for message in channel if not (is_own(message) and show(message) == text)
            ]

    def write(self, channel: str, **fields: object) -> JSON:
        """A new message of the bot's."""
        self._clock += 1
        message = {
            "type": "message",
            "ts": f"{self._clock:.6f}",
            "user": BOT,
            "bot_id": BOT_ID,
            **fields,
        }
        self.messages[channel].append(message)
        self.written_at[str(message["ts"])] = time.time()
        return message

    def _chat_startStream(self, arguments: JSON) -> JSON:
        channel = self.place(arguments.get("channel"))
        if channel in self.no_streams:
            raise Refused("channel_type_not_supported")
        if channel in self.archived:
            raise Refused("is_archived")
        thread = arguments.get("thread_ts")
        if not any(
            message["ts"] == thread and message.get("thread_ts") in (None, thread)
            for message in self.messages[channel]
        ):
            raise Refused("invalid_thread_ts")
        for name in ("recipient_team_id", "recipient_user_id"):
            if not channel.startswith("D") and not arguments.get(name):
                raise Refused(f"missing_{name}")
        if arguments.get("recipient_user_id", BOT) not in (*self.users, BOT):
            raise Refused("user_not_found")
        if arguments.get("task_display_mode", "timeline") not in ("timeline", "plan"):
            raise Refused("invalid_arguments")
        words = self._words(arguments, {})
        message = self.write(channel, text=words, thread_ts=thread, streaming_state=OPEN)
        self._take(message, arguments)
        return done(channel, message["ts"])

    def _chat_appendStream(self, arguments: JSON) -> JSON:
        channel, message = self._stream(arguments)
        if not (arguments.get("markdown_text") or arguments.get("chunks")):
            raise Refused("markdown_text_or_chunks_required")
        self._take(message, arguments)
        return done(channel, message["ts"])

    def _chat_stopStream(self, arguments: JSON) -> JSON:
        channel, message = self._stream(arguments)
        self.check_blocks(arguments)
        check_metadata(arguments.get("metadata"))
        self._take(message, arguments)
        message["streaming_state"] = OVER
        message |= {name: arguments[name] for name in KEPT if name in arguments}
        return done(channel, message["ts"], message=message)

    def _chat_update(self, arguments: JSON) -> JSON:
        channel, message = self._found(arguments)
        if not is_own(message):
            raise Refused("cant_update_message")
        if channel in self.archived:
            raise Refused("is_inactive")
        if message.get("streaming_state") == OPEN:
            raise Refused("streaming_state_conflict")
        self.check_blocks(arguments)
        check_message(arguments)
        self.check_length(arguments)
        if len(escape(arguments.get("text") or "", quote=False).encode()) > UPDATED_TEXT_BYTES:
            raise Refused("msg_too_long")
        message["text"] = arguments.get("markdown_text") or arguments.get("text", "")
        message.pop("blocks", None)
        message.pop("tasks", None)
        message |= {name: arguments[name] for name in KEPT if name in arguments}
        return done(channel, message["ts"], text=message["text"], message=message)

    def _chat_delete(self, arguments: JSON) -> JSON:
        channel, message = self._found(arguments)
        if not is_own(message) or message.get("streaming_state") == OPEN:
            raise Refused("cant_delete_message")
        self.messages[channel].remove(message)
        return done(channel, message["ts"])

    def _stream(self, arguments: JSON) -> tuple[str, JSON]:
        channel, message = self._found(arguments)
        if not is_own(message):
            raise Refused("message_not_owned_by_app")
        if message.get("streaming_state") != OPEN:
            raise Refused("message_not_in_streaming_state")
        return channel, message

    def check_blocks(self, arguments: JSON) -> None:
        """Refuse blocks that Slack does not take, or this workspace does not know."""
        blocks = arguments.get("blocks")
        check_blocks(blocks)
        if any(block["type"] in self.no_blocks for block in blocks or ()):
            raise Refused("invalid_blocks")

    def check_length(self, arguments: JSON) -> None:
        """Refuse more words than a message takes."""
        texts = [
            block["text"] for block in arguments.get("blocks") or () if block["type"] == "markdown"
        ]
        if sum(map(len, texts)) > self.most:
            raise Refused("msg_blocks_too_long")
        if len(arguments.get("markdown_text") or "") > self.most:
            raise Refused("msg_too_long")

    def _take(self, message: JSON, arguments: JSON) -> None:
        """Add text or chunks to a stream. What comes first decides which of them it takes."""
        if not (arguments.get("markdown_text") or arguments.get("chunks")):
            return
        mode = "chunks" if arguments.get("chunks") else "text"
        words = self._words(arguments, message)
        if message.setdefault("streaming_mode", mode) != mode:
            raise Refused("streaming_mode_mismatch")
        tasks = dict(message.get("tasks", {}))
        for chunk in arguments.get("chunks") or ():
            if chunk["type"] == "task_update":
                tasks[chunk["id"]] = (chunk["title"], chunk["status"])
        titles = "".join(title for title, _ in tasks.values())
        if tasks and words and len(f"{titles}{words}".encode()) > STREAM_BYTES:
            raise Refused("msg_too_long")
        message["text"] = words
        if tasks:
            message["tasks"] = tasks

    def _words(self, arguments: JSON, message: JSON) -> str:
        """The text of a stream with what is to be added."""
        chunks = arguments.get("chunks")
        if chunks is not None and arguments.get("markdown_text"):
            raise Refused("cannot_provide_both_markdown_text_and_chunks")
        if chunks is not None and self.no_chunks:
            raise Refused(self.no_chunks)
        added = str(arguments.get("markdown_text", "")) if chunks is None else _words_of(chunks)
        words = str(message.get("text", "")) + added
        if len(words) > MARKDOWN_LIMIT:
            raise Refused("msg_too_long")
        return words

    def _found(self, arguments: JSON) -> tuple[str, JSON]:
        channel = self.named(arguments.get("channel"))
        message = next((m for m in self.messages[channel] if m["ts"] == arguments.get("ts")), None)
        if message is None:
            raise Refused("message_not_found")
        return channel, message

    def named(self, channel: object) -> str:
        """The channel of that id; a person's id, to which messages can be posted, is none."""
        if self.place(channel) != channel:
            raise Refused("channel_not_found")
        return channel

    def place(self, channel: object) -> str:
        """The channel of that id."""
        if not isinstance(channel, str) or channel not in self.messages:
            raise Refused("channel_not_found")
        return channel


def done(channel: str, ts: object, **more: Any) -> JSON:
    """The answer where it was done."""
    return {"ok": True, "channel": channel, "ts": ts, **more}


def is_own(message: JSON) -> bool:
    """Whether the bot has written it."""
    return message.get("bot_id") == BOT_ID


def show(message: JSON) -> str:
    """What people see of the answer: the blocks without buttons for feedback, or where there are
    none the text."""
    blocks = [block for block in message.get("blocks", ()) if not asks_for_feedback(block)]
    return "\n".join(map(read, blocks)) or str(message["text"])


def asks_for_feedback(block: JSON) -> bool:
    """Whether a block holds buttons for feedback."""
    elements = block.get("elements", ())
    return block["type"] in ("actions", "context_actions") and "feedback" in str(
        elements[0].get("action_id")
    )


def _words_of(chunks: Any) -> str:
    """The text of chunks, each of which must have one of two forms."""
    check(chunks, Chunks, "invalid_chunks")
    return "".join(chunk.get("text", "") for chunk in chunks)
