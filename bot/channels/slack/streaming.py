"""Answers of threads, shown as streams while they are written, in the background.

Slack has no streams outside of threads: https://docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

from typing import Any, Literal

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import KeyValue
from bot.channels.slack.client import (
    AWAY_S,
    TOKEN_ERRORS,
    ApiResponse,
    BackgroundTasks,
    Client,
    Pauses,
    wait_for_event,
)
from bot.channels.slack.config import Timing
from bot.channels.slack.live_answer import Addition, LiveAnswer, TaskCard
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, StoreUnavailable
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

# These refusals hold for the whole workspace, any other for one channel.
WORKSPACE_ERRORS = (
    "unknown_method",
    "method_deprecated",
    "feature_disabled",
    "feature_not_enabled",
    "not_agent_app",
    "missing_scope",
    "not_allowed_token_type",
    "no_permission",
    "ekm_access_denied",
    *TOKEN_ERRORS,
)
REFUSED_S = 1_800.0
KEPT_S = 7 * 86_400  # a delivery waits no longer
WRITTEN = 200  # turns whose messages this process knows as its own
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


class Streaming:
    """Streams answers.

    Attributes:
        streams: of all turns, for their delivery.
        written: the cards of turns whose streams this process has written.
    """

    def __init__(
        self, client: Client, kv: KeyValue, tasks: BackgroundTasks, timing: Timing
    ) -> None:
        self.streams = StreamStore(kv)
        self._client = client
        self._tasks = tasks
        self._timing = timing
        self._pauses = Pauses()
        self._under_way: dict[str, LiveAnswer] = {}
        self.written: dict[str, tuple[TaskCard, ...]] = {}

    def begin(self, address: Address) -> LiveAnswer | None:
        """Show a turn's answer until it ends; the stream stays for the delivery. None where it
        cannot be a stream, which needs a thread and a recipient, or is to be whole."""
        can_stream = address.thread and address.user and address.team
        if not can_stream or address.response_url or address.whole:
            return None
        shows_cards = not self._pauses.left_s(CHUNKS) and self._allows(address)
        answer = LiveAnswer(address, self._under_way, shows_cards=shows_cards)
        self._tasks.start(self._show(answer))
        return answer

    async def wait_until_settled(self, turn_id: str) -> None:
        """Wait until nothing more is sent to Slack for a turn that has ended."""
        while answer := self._under_way.get(turn_id):
            await answer.settled.wait()

    async def _show(self, answer: LiveAnswer) -> None:
        try:
            await self._wait_for_enough(answer)
            if not answer.ended.is_set():
                await self._write(answer)
        except StoreUnavailable:
            log.warning("slack.stream_skipped", cause="the store does not answer")
        except DeliverLater as later:
            log.info("slack.stream_skipped", cause=str(later))
        finally:
            answer.settle()

    async def _wait_for_enough(self, answer: LiveAnswer) -> None:
        """Wait for a slow call, or for enough text and a moment longer: an answer that ends by then
        is posted whole."""
        while not answer.ended.is_set():
            answer.changed.clear()
            if answer.buffer.is_enough:
                await wait_for_event(answer.ended, self._timing.pace_s)
                if answer.buffer.is_enough:
                    return
            elif answer.is_calling:
                await wait_for_event(answer.changed, self._timing.card_s)
                if not answer.changed.is_set():
                    return
            else:
                await answer.changed.wait()

    async def _write(self, answer: LiveAnswer) -> None:
        if (stream := await self._start_stream(answer)) is None:
            return
        try:
            await self._append(answer, StreamWriter(self._client, stream, self._pauses))
        except DeliverLater as later:
            log.info("slack.stream_skipped", cause=str(later))
        await answer.ended.wait()
        self.written[answer.turn_id] = answer.last_cards()
        while len(self.written) > WRITTEN:
            del self.written[next(iter(self.written))]

    async def _start_stream(self, answer: LiveAnswer) -> Stream | None:
        """Start the turn's stream, unless another process may have started one.

        Raises:
            DeliverLater: Slack may have started the stream; the store holds it without ``ts``.
        """
        address, turn_id = answer.address, answer.turn_id
        if not self._allows(address):
            return None
        # Slack takes 20 starts and 20 ends a minute: with more streams, answers would wait for
        # their ends.
        self._pauses.begin(address.team, self._timing.start_s)
        if await self.streams.get(turn_id, address.channel):
            return None
        expected = Stream(address.thread, channel=address.channel)
        await self.streams.save(turn_id, expected)
        try:
            started = await self._client.post(
                "chat.startStream",
                channel=address.channel,
                thread_ts=address.thread,
                recipient_user_id=address.user,
                recipient_team_id=address.team,
            )
        except DeliverLater:
            self._pauses.begin(address.team, AWAY_S)
            raise
        if not started.ok:
            self._record_refusal(address, started)
            await self.streams.delete(turn_id)
            return None
        stream = replace(expected, ts=str(started.data.get("ts", "")))
        if not stream.ts or not await self._save_started(turn_id, expected, stream):
            return None
        return stream

    async def _save_started(self, turn_id: str, expected: Stream, stream: Stream) -> bool:
        """Store the stream before its text is sent, unless another process has delivered the answer
        meanwhile."""
        saved = await self.streams.get(turn_id, expected.channel)
        if saved == expected:
            await self.streams.save(turn_id, stream)
            return True
        if saved is None:
            log.warning("slack.stream_too_late")
            await self._client.post("chat.stopStream", **stream.target)
            await self._client.post("chat.delete", **stream.target)
        return False

    def _allows(self, address: Address) -> bool:
        """Whether a stream may start now."""
        return not (self._pauses.left_s(address.team) or self._pauses.left_s(address.channel))

    def _record_refusal(self, address: Address, response: ApiResponse) -> None:
        """Start no more streams in the channel or the workspace for a while."""
        log.info("slack.stream_unavailable", cause=response.error, channel=address.channel)
        everywhere = response.retry_after > 0 or response.error in WORKSPACE_ERRORS
        seconds = REFUSED_S if everywhere or response.refuses_channel else AWAY_S
        place = address.team if everywhere else address.channel
        self._pauses.begin(place, response.retry_after or seconds)

    async def _append(self, answer: LiveAnswer, writer: StreamWriter) -> None:
        """Append text and cards until the turn ends or Slack takes no more."""
        unsent = Addition()
        while not answer.ended.is_set():
            answer.changed.clear()
            unsent = unsent.then(answer.take())
            pause_s = self._timing.pace_s
            if unsent:
                added = await writer.add(unsent)
                if added.retry_after:
                    pause_s = added.retry_after
                elif added.ok:
                    unsent = Addition()
                else:
                    log.info("slack.stream_refused", cause=added.error)
                    return
            await wait_for_event(answer.ended, pause_s)
            if not unsent:
                await answer.changed.wait()


class StreamWriter:
    """Adds to a stream. Its first addition decides whether it takes chunks, which alone hold cards,
    or text.

    A stream with cards shows so much text, and the rest comes with the delivery: too large a one
    could not be ended.

    Args:
        pauses: of ``CHUNKS``, once the workspace has refused them.
    """

    def __init__(self, client: Client, stream: Stream, pauses: Pauses) -> None:
        self._client = client
        self._stream = stream
        self._pauses = pauses
        self._mode: Literal["", "chunks", "text"] = ""
        self._has_begun = False
        self._bytes = 0
        self._is_full = False

    async def add(self, addition: Addition) -> ApiResponse:
        """Append text and cards; only text to a stream without cards, and where the workspace
        refuses chunks.

        Raises:
            DeliverLater: Slack may have added it.
        """
        if not self._mode:
            self._mode = "chunks" if addition.cards and not self._pauses.left_s(CHUNKS) else "text"
        if self._mode == "chunks":
            return await self._add_chunks(addition)
        return await self._append(markdown_text=addition.text) if addition.text else DONE

    async def _add_chunks(self, addition: Addition) -> ApiResponse:
        self._is_full = self._is_full or self._bytes + len(addition.text.encode()) > STREAM_BYTES
        text = "" if self._is_full else addition.text
        chunks = [card.chunk for card in addition.cards]
        if text:
            chunks.append({"type": "markdown_text", "text": text})
        if not chunks:
            return DONE
        added = await self._append(chunks=chunks)
        if added.error in CHUNK_ERRORS and not self._has_begun:
            log.info("slack.cards_unavailable", cause=added.error)
            self._pauses.begin(CHUNKS, REFUSED_S)
            self._mode = "text"
            return await self.add(addition)
        if added.ok:
            self._has_begun = True
            titles = "".join(card.title for card in addition.cards)
            self._bytes += len(f"{text}{titles}".encode())
        return added

    async def _append(self, **content: Any) -> ApiResponse:
        return await self._client.post("chat.appendStream", **self._stream.target, **content)


class Stream(Struct, frozen=True, omit_defaults=True):
    """The message into which a turn's answer is streamed.

    Attributes:
        channel: is not stored, as that of a 1:1 names a person.
        ts: its timestamp; empty while it is unknown whether Slack has started the stream.
        delivery: the id of the only delivery that may use it; empty before the first.
        cards: of the turn's calls, for the delivery.
    """

    thread: str
    ts: str = ""
    delivery: str = ""
    channel: str = ""
    cards: tuple[TaskCard, ...] = ()

    @property
    def target(self) -> dict[str, str]:
        """The message, as methods of the API name it."""
        return {"channel": self.channel, "ts": self.ts}


_decode = Decoder(Stream).decode


class StreamStore:
    """The streams of turns, stored for the process that delivers. Every method raises
    ``StoreUnavailable``."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def prefetch(self, turn_id: str) -> None:
        """Read with the process's next request what ``get`` will need."""
        self._kv.prefetch(_key(turn_id))

    async def get(self, turn_id: str, channel: str) -> Stream | None:
        """The turn's stream, if it has one; it is in the channel where the turn is answered."""
        value = await self._kv.get(_key(turn_id))
        try:
            return replace(_decode(value), channel=channel) if value else None
        except DecodeError:
            return None

    async def save(self, turn_id: str, stream: Stream) -> None:
        """Store the turn's stream."""
        await self._kv.set(_key(turn_id), encode(replace(stream, channel="")), KEPT_S)

    async def delete(self, turn_id: str) -> None:
        """Delete the turn's stream from the store."""
        await self._kv.set(_key(turn_id), b"", 1)


def _key(turn_id: str) -> str:
    return f"slack:stream:{turn_id}"
