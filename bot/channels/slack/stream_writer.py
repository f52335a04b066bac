"""Starts one answer's stream and adds to it."""

from __future__ import annotations

from typing import Any, Literal

import structlog

from bot.channels.slack.client import ApiResponse, Client
from bot.channels.slack.live_answer import Addition
from bot.channels.slack.tasks import Pauses
from bot.channels.slack.types import Address

log = structlog.stdlib.get_logger(__name__)

REFUSED_S = 1_800.0
CHUNKS = "chunks"
# A workspace that does not know chunks refuses them with one of these, if they are the first that a
# stream gets.
CHUNK_ERRORS = (
    "invalid_chunks",
    "invalid_arguments",
    "invalid_arg_name",
    "invalid_array_arg",
    "no_text",
    "markdown_text_or_chunks_required",
    "streaming_mode_mismatch",
)
# Of text and titles in a stream with cards; Slack has been seen to refuse 10,600.
STREAM_BYTES = 8_000
DONE = ApiResponse({"ok": True})


class StreamWriter:
    """A stream. Its first addition decides whether it takes chunks, which alone hold cards, or
    text.

    A stream with cards shows so much text, and the rest comes with the delivery: too large a one
    could not be ended.

    Args:
        pauses: of ``CHUNKS``, once the workspace has refused them.
    """

    def __init__(self, client: Client, address: Address, pauses: Pauses) -> None:
        self._client = client
        self._address = address
        self._pauses = pauses
        self._mode: Literal["", "chunks", "text"] = ""
        self._has_begun = False
        self._bytes = 0
        self._is_full = False

    async def start(self) -> ApiResponse:
        """Start the stream, without a word.

        Raises:
            DeliverLater: Slack may have started it.
        """
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
        refuses chunks.

        Raises:
            DeliverLater: Slack may have added it.
        """
        if not self._mode:
            self._mode = "chunks" if addition.cards and not self._pauses.left_s(CHUNKS) else "text"
        if self._mode == "chunks":
            return await self._add_chunks(ts, addition)
        return await self._add_text(ts, addition.text)

    async def _add_text(self, ts: str, text: str) -> ApiResponse:
        return await self._append(ts, markdown_text=text) if text else DONE

    async def _add_chunks(self, ts: str, addition: Addition) -> ApiResponse:
        self._is_full = self._is_full or self._bytes + len(addition.text.encode()) > STREAM_BYTES
        text = "" if self._is_full else addition.text
        chunks = [card.chunk for card in addition.cards]
        if text:
            chunks.append({"type": "markdown_text", "text": text})
        if not chunks:
            return DONE
        added = await self._append(ts, chunks=chunks)
        if added.error in CHUNK_ERRORS and not self._has_begun:
            log.info("slack.cards_unavailable", cause=added.error)
            self._pauses.begin(CHUNKS, REFUSED_S)
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
