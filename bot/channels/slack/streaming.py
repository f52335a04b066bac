"""Answers shown while they are written, in a Slack stream: as far as Slack lets it, and never waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels.kv import KeyValue
from bot.channels.slack.client import AWAY_S, TOKEN_ERRORS, ApiResponse, Client
from bot.channels.slack.formatting import LIMIT, open_tag_start, without_broadcasts
from bot.channels.slack.options import Timing
from bot.channels.slack.tasks import BackgroundTasks, wait_for_event
from bot.channels.slack.types import Address
from bot.channels.utf16 import head, units
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import AnswerRestarted, AnswerText, LiveEvent, ToolStarted, TurnStarted, Watcher
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

REFUSED_S = 1_800.0
# What is refused like this is refused in the whole workspace, anything else in one channel.
WORKSPACE_ERRORS = (
    *("unknown_method", "method_deprecated", "feature_disabled", "feature_not_enabled", "not_agent_app"),
    *("missing_scope", "not_allowed_token_type", "no_permission", "ekm_access_denied", *TOKEN_ERRORS),
)
KEPT_S = 7 * 86_400  # as long as a delivery waits at most
ENOUGH = 80  # characters; a shorter answer is there as fast in one piece
BREAK = "\n\n"


def can_stream(address: Address) -> bool:
    """Whether an answer may be a stream: that must stand in a thread and be for somebody."""
    return bool(address.thread and address.user and address.team) and not address.response_url


class LiveAnswer:
    """Shows one turn's words (``bot.live_events.Watcher``).

    Args:
        under_way: where it is to be found by its turn's id, until it has settled.
    """

    def __init__(self, address: Address, under_way: dict[str, LiveAnswer]) -> None:
        self.address = address
        self.turn_id = ""
        self.buffer = StreamBuffer()
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()
        self.settled = asyncio.Event()
        self._under_way = under_way

    async def show(self, event: LiveEvent) -> None:
        """Take what happens; the words follow on their own."""
        match event:
            case TurnStarted(turn_id):
                self.turn_id = turn_id
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
        """The turn is over: what is still to be shown comes with its delivery."""
        self.ended.set()
        self.changed.set()

    def settle(self) -> None:
        """Nothing more is sent to Slack."""
        self.settled.set()
        if self._under_way.get(self.turn_id) is self:
            del self._under_way[self.turn_id]


class Streaming:
    """Shows answers, each in a stream of its own."""

    def __init__(self, client: Client, streams: StreamStore, tasks: BackgroundTasks, timing: Timing) -> None:
        self._client = client
        self._streams = streams
        self._tasks = tasks
        self._pace_s = timing.pace_s
        self._limits = StreamLimits(timing.start_s)
        self._under_way: dict[str, LiveAnswer] = {}

    @asynccontextmanager
    async def live_view(self, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's words; at the end their stream stays as it is, for the delivery, unless it holds nothing valid."""
        answer = LiveAnswer(address, self._under_way)
        self._tasks.start(self._show(answer))
        try:
            yield answer
        finally:
            answer.end()

    async def wait_until_settled(self, turn_id: str) -> None:
        """Wait until nothing more is sent to Slack for a turn that is over."""
        if answer := self._under_way.get(turn_id):
            await answer.settled.wait()

    async def _show(self, answer: LiveAnswer) -> None:
        try:
            await self._until_worth_it(answer)
            if not answer.ended.is_set() and (stream := await self._begin(answer)):
                await self._go_on(answer, stream)
            await answer.ended.wait()
            if answer.buffer.is_void:
                await self._take_back(answer.turn_id)
        except StoreUnavailable:
            log.warning("answer not shown while it is written: the store does not answer")
        except DeliverLater as later:
            log.info("answer not shown while it is written", reason=str(later))
        finally:
            answer.settle()

    async def _until_worth_it(self, answer: LiveAnswer) -> None:
        """Wait for enough words, and then a moment for the end: what is written fast is posted whole."""
        while not answer.ended.is_set():
            answer.changed.clear()
            if answer.buffer.is_enough:
                await wait_for_event(answer.ended, self._pace_s)
                if answer.buffer.is_enough:
                    return
            else:
                await answer.changed.wait()

    async def _begin(self, answer: LiveAnswer) -> Stream | None:
        """Begin the turn's stream, unless there may be one already: another process's is left to the delivery.

        Raises:
            DeliverLater: it may have been begun all the same; the note says so.
        """
        address, turn_id = answer.address, answer.turn_id
        if not self._limits.take(address) or await self._streams.get(turn_id):
            return None
        expected = Stream(address.channel, address.thread)
        await self._streams.keep(turn_id, expected)
        try:
            started = await self._start(address)
        except DeliverLater:
            self._limits.close(address.team, AWAY_S)
            raise
        if not started.ok:
            self._limits.refused(address, started)
            await self._streams.forget(turn_id)
            return None
        stream = replace(expected, ts=str(started.data.get("ts", "")))
        return stream if stream.ts and await self._is_noted(turn_id, expected, stream) else None

    async def _start(self, address: Address) -> ApiResponse:
        return await self._client.post(
            "chat.startStream",
            channel=address.channel,
            thread_ts=address.thread,
            recipient_user_id=address.user,
            recipient_team_id=address.team,
        )

    async def _is_noted(self, turn_id: str, expected: Stream, stream: Stream) -> bool:
        """Note the stream before its words, unless another process has delivered the answer since it was ordered."""
        noted = await self._streams.get(turn_id)
        if noted == expected:
            await self._streams.keep(turn_id, stream)
            return True
        if noted is None:
            log.warning("stream begun too late, taken back")
            await self._is_removed(stream)
        return False

    async def _take_back(self, turn_id: str) -> None:
        """Leave nothing of a turn that may end without an answer, because what was asked has been taken back."""
        stream = await self._streams.get(turn_id)
        if stream and stream.ts and not stream.delivery and await self._is_removed(stream):
            await self._streams.forget(turn_id)

    async def _is_removed(self, stream: Stream) -> bool:
        await self._client.post("chat.stopStream", channel=stream.channel, ts=stream.ts)
        removed = await self._client.post("chat.delete", channel=stream.channel, ts=stream.ts)
        return removed.ok

    async def _go_on(self, answer: LiveAnswer, stream: Stream) -> None:
        """Append what is written until the turn ends, or Slack takes no more."""
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
                    log.info("stream takes no more words", error=added.error)
                    return
            await wait_for_event(answer.ended, pause_s)
            if not unsent:
                await answer.changed.wait()


class StreamLimits:
    """Remembers refusals for a while.

    Args:
        start_s: between two streams of a workspace. Slack takes 20 a minute, and as many ends: an answer whose stream
            waits for its end is later than one that is posted whole.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._closed: dict[str, float] = {}

    def take(self, address: Address) -> bool:
        """Whether a stream may be begun now; the next one a little later."""
        now = time.monotonic()
        self._closed = {place: until for place, until in self._closed.items() if until > now}
        if address.team in self._closed or address.channel in self._closed:
            return False
        self.close(address.team, self._start_s)
        return True

    def close(self, place: str, seconds: float) -> None:
        """Take no streams in a workspace or a channel for so long."""
        self._closed[place] = time.monotonic() + seconds

    def refused(self, address: Address, answer: ApiResponse) -> None:
        """Slack has refused to begin a stream."""
        log.info("no stream here, answers are posted whole", error=answer.error, channel=address.channel)
        everywhere = answer.retry_after > 0 or answer.error in WORKSPACE_ERRORS
        self.close(address.team if everywhere else address.channel, answer.retry_after or REFUSED_S)


class Stream(Struct, frozen=True, omit_defaults=True):
    """A message that has been begun for a turn.

    Attributes:
        ts: empty while it is not known whether Slack has begun it.
        delivery: the one that makes it its own; no other may.
    """

    channel: str
    thread: str
    ts: str = ""
    delivery: str = ""


_decode = Decoder(Stream).decode


class StreamStore:
    """The streams of turns, for whichever process goes on. Every method raises ``StoreUnavailable``."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    async def get(self, turn_id: str) -> Stream | None:
        """The turn's stream, where one has been begun."""
        value = await self._kv.get(_name(turn_id))
        try:
            return _decode(value) if value else None
        except DecodeError:
            return None

    async def keep(self, turn_id: str, stream: Stream) -> None:
        """Note how it stands."""
        await self._kv.set(_name(turn_id), encode(stream), KEPT_S)

    async def forget(self, turn_id: str) -> None:
        """There is no such message, or none any more."""
        await self._kv.set(_name(turn_id), b"", 1)


def _name(turn_id: str) -> str:
    return f"slack:stream:{turn_id}"


class StreamBuffer:
    """What has been written and not been shown.

    Attributes:
        is_void: all that was said has been taken back.
    """

    def __init__(self) -> None:
        self.is_void = False
        self._pieces: list[str] = []
        self._length = 0
        self._shown = 0

    @property
    def is_enough(self) -> bool:
        """Whether it is worth beginning to show."""
        return self._length >= ENOUGH

    def add(self, text: str) -> None:
        """More words."""
        self._pieces.append(text)
        self._length += len(text)
        self.is_void = False

    def pause(self) -> None:
        """What was said so far was no answer yet: it is left out, or ends its paragraph where it can be seen."""
        self._wait("".join(self._pieces).rstrip() + BREAK if self._shown else "")

    def restart(self) -> None:
        """What was said so far is void: what can be seen of it ends its paragraph."""
        self._wait(BREAK if self._shown else "")
        self.is_void = True

    def take(self) -> str:
        """The words that may be shown now, no more in all than one message holds."""
        waiting = "".join(self._pieces)
        if not waiting.strip():
            return ""
        ready = waiting[: open_tag_start(waiting)]
        self._wait(waiting[len(ready) :])
        words = head(without_broadcasts(ready), LIMIT - self._shown)
        self._shown += units(words)
        return words

    def _wait(self, text: str) -> None:
        self._pieces, self._length = [text], len(text)
