"""Answers of threads, shown as streams while they are written, in the background.

Slack has no streams outside of threads: https://docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import KeyValue
from bot.channels.slack.client import AWAY_S, TOKEN_ERRORS, ApiResponse, Client, refuses_channel
from bot.channels.slack.live_answer import Addition, LiveAnswer
from bot.channels.slack.stream_writer import CHUNKS, REFUSED_S, StreamWriter
from bot.channels.slack.task_cards import TaskCard
from bot.channels.slack.tasks import BackgroundTasks, Pauses, Timing, wait_for_event
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import Watcher
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
KEPT_S = 7 * 86_400  # a delivery waits no longer
WRITTEN = 200  # turns whose messages this process knows as its own


def can_stream(address: Address) -> bool:
    """Whether an answer can be a stream, which needs a thread and a recipient."""
    return bool(address.thread and address.user and address.team) and not address.response_url


class Streaming:
    """Streams answers.

    Attributes:
        streams: of all turns, for their delivery.
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
        self._written: dict[str, tuple[TaskCard, ...]] = {}

    @asynccontextmanager
    async def live_view(self, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's answer. When the context ends the stream stays for the delivery."""
        shows_cards = not self._pauses.left_s(CHUNKS) and self._allows(address)
        answer = LiveAnswer(address, self._under_way, shows_cards=shows_cards)
        self._tasks.start(self._show(answer))
        try:
            yield answer
        finally:
            answer.end()

    async def wait_until_settled(self, turn_id: str) -> None:
        """Wait until nothing more is sent to Slack for a turn that has ended."""
        while answer := self._under_way.get(turn_id):
            await answer.settled.wait()

    def cards(self, turn_id: str) -> tuple[TaskCard, ...]:
        """The cards of a turn whose stream this process has written; none of another's."""
        return self._written.get(turn_id, ())

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
        writer = StreamWriter(self._client, answer.address, self._pauses)
        if (stream := await self._start_stream(answer, writer)) is None:
            return
        try:
            await self._append(answer, stream, writer)
        except DeliverLater as later:
            log.info("slack.stream_skipped", cause=str(later))
        await answer.ended.wait()
        self._written[answer.turn_id] = answer.cards.at_end()
        while len(self._written) > WRITTEN:
            del self._written[next(iter(self._written))]

    async def _start_stream(self, answer: LiveAnswer, writer: StreamWriter) -> Stream | None:
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
            started = await writer.start()
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
        seconds = REFUSED_S if everywhere or refuses_channel(response) else AWAY_S
        place = address.team if everywhere else address.channel
        self._pauses.begin(place, response.retry_after or seconds)

    async def _append(self, answer: LiveAnswer, stream: Stream, writer: StreamWriter) -> None:
        """Append text and cards until the turn ends or Slack takes no more."""
        unsent = Addition()
        while not answer.ended.is_set():
            answer.changed.clear()
            unsent = unsent.then(answer.take())
            pause_s = self._timing.pace_s
            if unsent:
                added = await writer.add(stream.ts, unsent)
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
