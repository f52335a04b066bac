"""How an answer's message is begun and grows: as a stream in a thread, as a draft that is changed
elsewhere in a 1:1.

Slack has no streams outside of threads: https://docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

import time
from typing import Any, Literal, Protocol

import structlog

from bot.channels.slack.blocks import markdown
from bot.channels.slack.client import ApiResponse, Client
from bot.channels.slack.formatting import LIMIT, cut_fallback
from bot.channels.slack.live_answer import Addition
from bot.channels.slack.messages import delivery_metadata
from bot.channels.slack.tasks import Timing
from bot.channels.slack.types import Address
from bot.channels.utf16 import head

log = structlog.stdlib.get_logger(__name__)

REFUSED_S = 1_800.0
# A workspace that does not know chunks refuses them with one of these, if they are the first that a
# stream gets.
CHUNK_ERRORS = (
    *("invalid_chunks", "invalid_arguments", "invalid_arg_name", "invalid_array_arg", "no_text"),
    *("markdown_text_or_chunks_required", "streaming_mode_mismatch"),
)
STREAM_BYTES = (
    8_000  # of text and titles in a stream with cards; Slack has been seen to refuse 10,600
)
DONE = ApiResponse({"ok": True})
MARK = " …"  # ends a draft's text
SLOWER = 1.5  # each pause between two changes of a draft is so much longer than the one before
LONGEST_S = 20.0


class Writer(Protocol):
    """Writes one answer's message.

    Attributes:
        is_draft: the message is posted with its first words, and then changed.
        pause_s: until the next addition.
    """

    is_draft: bool
    pause_s: float

    async def start(self, first: str) -> ApiResponse:
        """Start the message.

        Raises:
            DeliverLater: Slack may have started it.
        """
        ...

    async def add(self, ts: str, addition: Addition) -> ApiResponse:
        """Add to the message.

        Raises:
            DeliverLater: Slack may have added it.
        """
        ...


class Pause:
    """A time until which something is not tried."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def left_s(self) -> float:
        """Seconds; 0 once it is over."""
        return max(self._until - time.monotonic(), 0.0)

    def begin(self, seconds: float) -> None:
        """Begin anew."""
        self._until = time.monotonic() + seconds


class StreamWriter:
    """A stream. Its first addition decides whether it takes chunks, which alone hold cards, or text
    (``Writer``).

    A stream with cards shows so much text, and the rest comes with the delivery: too large a one
    could not be ended.

    Args:
        no_chunks: the workspace has refused them.
    """

    is_draft = False

    def __init__(self, client: Client, address: Address, no_chunks: Pause, pace_s: float) -> None:
        self.pause_s = pace_s
        self._client = client
        self._address = address
        self._no_chunks = no_chunks
        self._mode: Literal["", "chunks", "text"] = ""
        self._has_begun = False
        self._bytes = 0
        self._is_full = False

    async def start(self, first: str) -> ApiResponse:
        """Start the stream, without a word."""
        address = self._address
        return await self._client.post(
            "chat.startStream",
            channel=address.channel,
            thread_ts=address.thread,
            recipient_user_id=address.user,
            recipient_team_id=address.team,
        )

    async def add(self, ts: str, addition: Addition) -> ApiResponse:
        """Append text and cards; only text to a stream without cards, and where the workspace
        refuses chunks."""
        if not self._mode:
            self._mode = "chunks" if addition.cards and not self._no_chunks.left_s else "text"
        return await (
            self._add_chunks(ts, addition)
            if self._mode == "chunks"
            else self._add_text(ts, addition.text)
        )

    async def _add_text(self, ts: str, text: str) -> ApiResponse:
        return await self._append(ts, markdown_text=text) if text else DONE

    async def _add_chunks(self, ts: str, addition: Addition) -> ApiResponse:
        self._is_full = self._is_full or self._bytes + len(addition.text.encode()) > STREAM_BYTES
        text = "" if self._is_full else addition.text
        chunks = [card.chunk for card in addition.cards] + (
            [{"type": "markdown_text", "text": text}] if text else []
        )
        if not chunks:
            return DONE
        added = await self._append(ts, chunks=chunks)
        if added.error in CHUNK_ERRORS and not self._has_begun:
            log.info("slack.cards_unavailable", cause=added.error)
            self._no_chunks.begin(REFUSED_S)
            self._mode = "text"
            return await self._add_text(ts, addition.text)
        if added.ok:
            self._has_begun = True
            self._bytes += len(text.encode()) + sum(
                len(card.title.encode()) for card in addition.cards
            )
        return added

    async def _append(self, ts: str, **content: Any) -> ApiResponse:
        return await self._client.post(
            "chat.appendStream", channel=self._address.channel, ts=ts, **content
        )


class DraftWriter:
    """A message that is changed, at longer and longer intervals (``Writer``).

    Args:
        busy: no draft of the workspace is changed for now: Slack takes about 50 changes of messages
        a minute, and
            deliveries need some of them.
    """

    is_draft = True

    def __init__(
        self, client: Client, address: Address, turn_id: str, busy: Pause, timing: Timing
    ) -> None:
        self.pause_s = timing.draft_s
        self._client = client
        self._address = address
        self._turn_id = turn_id
        self._busy = busy
        self._change_s = timing.change_s
        self._text = ""

    async def start(self, first: str) -> ApiResponse:
        """Post the first words."""
        self._text = first
        return await self._client.post(
            "chat.postMessage",
            channel=self._address.channel,
            unfurl_links=False,
            unfurl_media=False,
            **self._content(),
        )

    async def add(self, ts: str, addition: Addition) -> ApiResponse:
        """Change the message, once it is this draft's turn."""
        if not addition.text:
            return DONE
        if wait_s := self._busy.left_s:
            return ApiResponse({"error": "ratelimited"}, retry_after=wait_s)
        self._busy.begin(self._change_s)
        self.pause_s = min(self.pause_s * SLOWER, LONGEST_S)
        before, self._text = self._text, self._text + addition.text
        changed = await self._client.post(
            "chat.update", channel=self._address.channel, ts=ts, **self._content()
        )
        if changed.retry_after:
            self._busy.begin(changed.retry_after)
            self._text = before
        return changed

    def _content(self) -> dict[str, Any]:
        text = head(self._text.rstrip(), LIMIT - len(MARK)) + MARK
        metadata = delivery_metadata(draft_id(self._turn_id))
        return {"text": cut_fallback(text), "blocks": [markdown(text)], "metadata": metadata}


def draft_id(turn_id: str) -> str:
    """The id in the metadata of a draft, until its delivery's id replaces it."""
    return f"draft_{turn_id}"
