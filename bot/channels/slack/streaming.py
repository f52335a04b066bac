"""Answers shown while they are written, as a Slack stream, in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import KeyValue
from bot.channels.slack.client import AWAY_S, TOKEN_ERRORS, ApiResponse, Client
from bot.channels.slack.formatting import LIMIT, open_tag_start, without_broadcasts
from bot.channels.slack.tasks import BackgroundTasks, Timing, wait_for_event
from bot.channels.slack.types import Address
from bot.channels.utf16 import head, units
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import AnswerRestarted, AnswerText, LiveEvent, ToolStarted, TurnStarted, Watcher
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

REFUSED_S = 1_800.0
# These refusals hold for the whole workspace, any other for one channel.
WORKSPACE_ERRORS = (
    *("unknown_method", "method_deprecated", "feature_disabled", "feature_not_enabled", "not_agent_app"),
    *("missing_scope", "not_allowed_token_type", "no_permission", "ekm_access_denied", *TOKEN_ERRORS),
)
KEPT_S = 7 * 86_400  # a delivery waits no longer
ENOUGH = 80  # characters; a shorter answer arrives as fast in one piece
BREAK = "\n\n"


def can_stream(address: Address) -> bool:
    """Whether an answer can be a stream, which needs a thread and a recipient."""
    return bool(address.thread and address.user and address.team) and not address.response_url


class LiveAnswer:
    """Shows one turn's text (``bot.live_events.Watcher``).

    Args:
        under_way: the answers by turn id, until each has settled.
    """

    def __init__(self, address: Address, under_way: dict[str, LiveAnswer]) -> None:
        self.address = address
        self.turn_id = ""
        self.buffer = StreamBuffer()
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()
        self.settled = asyncio.Event()
        self._under_way = under_way
        self._before: LiveAnswer | None = None  # of the same turn, which has been restarted

    async def show(self, event: LiveEvent) -> None:
        """Take an event; its text is sent in the background."""
        match event:
            case TurnStarted(turn_id):
                self.turn_id = turn_id
                self._before = self._under_way.get(turn_id)
                self._under_way[turn_id] = self
            case AnswerText(text):
                self.buffer.add(text)
            case ToolStarted():
                self.buffer.pause()
            case AnswerRestarted():
                self.buffer.restart()
            case _:
                return
        self.changed.set()

    def end(self) -> None:
        """The turn is over: the rest of the text comes with its delivery."""
        self.ended.set()
        self.changed.set()

    def settle(self) -> None:
        """Mark that nothing more is sent to Slack."""
        self.settled.set()
        if self._under_way.get(self.turn_id) is self:
            del self._under_way[self.turn_id]
            if self._before is not None and not self._before.settled.is_set():
                self._under_way[self.turn_id] = self._before


class Streaming:
    """Streams answers.

    Attributes:
        streams: of all turns, for their delivery.
    """

    def __init__(self, client: Client, kv: KeyValue, tasks: BackgroundTasks, timing: Timing) -> None:
        self.streams = StreamStore(kv)
        self._client = client
        self._tasks = tasks
        self._pace_s = timing.pace_s
        self._limits = StreamLimits(timing.start_s)
        self._under_way: dict[str, LiveAnswer] = {}

    @asynccontextmanager
    async def live_view(self, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's answer. When the context ends the stream stays for the delivery."""
        answer = LiveAnswer(address, self._under_way)
        self._tasks.start(self._show(answer))
        try:
            yield answer
        finally:
            answer.end()

    async def wait_until_settled(self, turn_id: str) -> None:
        """Wait until nothing more is sent to Slack for a turn that has ended."""
        while answer := self._under_way.get(turn_id):
            await answer.settled.wait()

    async def _show(self, answer: LiveAnswer) -> None:
        try:
            await self._wait_for_enough(answer)
            if not answer.ended.is_set() and (stream := await self._start_stream(answer)):
                await self._append(answer, stream)
        except StoreUnavailable:
            log.warning("slack.stream_skipped", cause="the store does not answer")
        except DeliverLater as later:
            log.info("slack.stream_skipped", cause=str(later))
        finally:
            answer.settle()

    async def _wait_for_enough(self, answer: LiveAnswer) -> None:
        """Wait for enough text, then a moment longer: an answer that ends by then is posted whole."""
        while not answer.ended.is_set():
            answer.changed.clear()
            if answer.buffer.is_enough:
                await wait_for_event(answer.ended, self._pace_s)
                if answer.buffer.is_enough:
                    return
            else:
                await answer.changed.wait()

    async def _start_stream(self, answer: LiveAnswer) -> Stream | None:
        """Start the turn's stream, unless another process may have started one.

        Raises:
            DeliverLater: Slack may have started the stream; the store holds it without ``ts``.
        """
        address, turn_id = answer.address, answer.turn_id
        if not self._limits.allow(address) or await self.streams.get(turn_id):
            return None
        expected = Stream(address.channel, address.thread)
        await self.streams.save(turn_id, expected)
        try:
            started = await self._start(address)
        except DeliverLater:
            self._limits.block(address.team, AWAY_S)
            raise
        if not started.ok:
            self._limits.record_refusal(address, started)
            await self.streams.delete(turn_id)
            return None
        stream = replace(expected, ts=str(started.data.get("ts", "")))
        return stream if stream.ts and await self._save_started(turn_id, expected, stream) else None

    async def _start(self, address: Address) -> ApiResponse:
        return await self._client.post(
            "chat.startStream",
            channel=address.channel,
            thread_ts=address.thread,
            recipient_user_id=address.user,
            recipient_team_id=address.team,
        )

    async def _save_started(self, turn_id: str, expected: Stream, stream: Stream) -> bool:
        """Store the stream before its text is sent, unless another process has delivered the answer meanwhile."""
        saved = await self.streams.get(turn_id)
        if saved == expected:
            await self.streams.save(turn_id, stream)
            return True
        if saved is None:
            log.warning("slack.stream_too_late")
            await self._remove(stream)
        return False

    async def _remove(self, stream: Stream) -> None:
        await self._client.post("chat.stopStream", channel=stream.channel, ts=stream.ts)
        await self._client.post("chat.delete", channel=stream.channel, ts=stream.ts)

    async def _append(self, answer: LiveAnswer, stream: Stream) -> None:
        """Append text until the turn ends or Slack takes no more."""
        unsent = ""
        while not answer.ended.is_set():
            answer.changed.clear()
            unsent += answer.buffer.take()
            pause_s = self._pace_s
            if unsent:
                added = await self._client.post(
                    "chat.appendStream", channel=stream.channel, ts=stream.ts, markdown_text=unsent
                )
                if added.retry_after:
                    pause_s = added.retry_after
                elif added.ok:
                    unsent = ""
                else:
                    log.info("slack.stream_refused", cause=added.error)
                    return
            await wait_for_event(answer.ended, pause_s)
            if not unsent:
                await answer.changed.wait()


class StreamLimits:
    """Where Slack refuses streams for now, and how soon the next may start.

    Args:
        start_s: between two streams of a workspace. Slack takes 20 starts and 20 ends a minute: with more streams,
            answers would wait for their ends.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._blocked: dict[str, float] = {}

    def allow(self, address: Address) -> bool:
        """Whether a stream may start now; if so, the next must wait a little."""
        now = time.monotonic()
        self._blocked = {id: until for id, until in self._blocked.items() if until > now}
        if address.team in self._blocked or address.channel in self._blocked:
            return False
        self.block(address.team, self._start_s)
        return True

    def block(self, id: str, seconds: float) -> None:
        """Allow no streams in a workspace or a channel for so long."""
        self._blocked[id] = time.monotonic() + seconds

    def record_refusal(self, address: Address, response: ApiResponse) -> None:
        """Block the channel or workspace in which Slack has refused a stream."""
        log.info("slack.stream_unavailable", cause=response.error, channel=address.channel)
        everywhere = response.retry_after > 0 or response.error in WORKSPACE_ERRORS
        self.block(address.team if everywhere else address.channel, response.retry_after or REFUSED_S)


class Stream(Struct, frozen=True, omit_defaults=True):
    """The message into which a turn's answer is streamed.

    Attributes:
        ts: its timestamp; empty while it is unknown whether Slack has started the stream.
        delivery: the id of the only delivery that may use it; empty before the first.
    """

    channel: str
    thread: str
    ts: str = ""
    delivery: str = ""


_decode = Decoder(Stream).decode


class StreamStore:
    """The streams of turns, stored for the process that delivers. Every method raises ``StoreUnavailable``."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def prefetch(self, turn_id: str) -> None:
        """Read with the process's next request what ``get`` will need."""
        self._kv.prefetch(_key(turn_id))

    async def get(self, turn_id: str) -> Stream | None:
        """The turn's stream, if it has one."""
        value = await self._kv.get(_key(turn_id))
        try:
            return _decode(value) if value else None
        except DecodeError:
            return None

    async def save(self, turn_id: str, stream: Stream) -> None:
        """Store the turn's stream."""
        await self._kv.set(_key(turn_id), encode(stream), KEPT_S)

    async def delete(self, turn_id: str) -> None:
        """Delete the turn's stream from the store."""
        await self._kv.set(_key(turn_id), b"", 1)


def _key(turn_id: str) -> str:
    return f"slack:stream:{turn_id}"


class StreamBuffer:
    """Text of an answer that is not in its stream yet."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._shown = 0

    @property
    def is_enough(self) -> bool:
        """Whether there is enough text to start a stream."""
        return self._length >= ENOUGH

    def add(self, text: str) -> None:
        """Add text."""
        self._pieces.append(text)
        self._length += len(text)

    def pause(self) -> None:
        """Drop the text before a tool call; if Slack shows a part of it, keep the rest and end its paragraph."""
        self._set_waiting("".join(self._pieces).rstrip() + BREAK if self._shown else "")

    def restart(self) -> None:
        """Drop the text so far; if Slack shows some of it, end its paragraph."""
        self._set_waiting(BREAK if self._shown else "")

    def take(self) -> str:
        """The text to show now; in all no more than one message holds."""
        waiting = "".join(self._pieces)
        if not waiting.strip():
            return ""
        ready = waiting[: open_tag_start(waiting)]
        self._set_waiting(waiting[len(ready) :])
        text = head(without_broadcasts(ready), LIMIT - self._shown)
        self._shown += units(text)
        return text

    def _set_waiting(self, text: str) -> None:
        self._pieces, self._length = [text], len(text)
