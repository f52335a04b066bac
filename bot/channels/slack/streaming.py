"""Answers shown while they are written, in a Slack stream: as far as Slack lets it, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from msgspec.structs import replace

from bot.channels.slack.api import AWAY_S, Answer, Api
from bot.channels.slack.background import Background, wait
from bot.channels.slack.options import Timing
from bot.channels.slack.stream_notes import Stream, StreamNotes
from bot.channels.slack.stream_room import StreamRoom
from bot.channels.slack.types import Address
from bot.channels.slack.unfinished import Unfinished
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import AnswerRestarted, AnswerText, LiveEvent, ToolStarted, TurnStarted, Watcher

log = structlog.stdlib.get_logger(__name__)


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
        self.words = Unfinished()
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
                self.words.add(text)
            case ToolStarted():
                self.words.pause()
            case AnswerRestarted():
                self.words.restart()
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

    def __init__(self, api: Api, notes: StreamNotes, background: Background, timing: Timing) -> None:
        self._api = api
        self._notes = notes
        self._background = background
        self._pace_s = timing.pace_s
        self._room = StreamRoom(timing.start_s)
        self._under_way: dict[str, LiveAnswer] = {}

    @asynccontextmanager
    async def live_view(self, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's words; at the end their stream stays as it is, for the delivery, unless it holds nothing valid."""
        answer = LiveAnswer(address, self._under_way)
        self._background.start(self._show(answer))
        try:
            yield answer
        finally:
            answer.end()

    async def settled(self, turn_id: str) -> None:
        """Wait until nothing more is sent to Slack for a turn that is over."""
        if answer := self._under_way.get(turn_id):
            await answer.settled.wait()

    async def _show(self, answer: LiveAnswer) -> None:
        try:
            await self._until_worth_it(answer)
            if not answer.ended.is_set() and (stream := await self._begin(answer)):
                await self._go_on(answer, stream)
            await answer.ended.wait()
            if answer.words.is_void:
                await self._take_back(answer.turn_id)
        except StoreUnavailable:
            log.warning("slack.stream_skipped", cause="the store does not answer")
        except DeliverLater as later:
            log.info("slack.stream_skipped", cause=str(later))
        finally:
            answer.settle()

    async def _until_worth_it(self, answer: LiveAnswer) -> None:
        """Wait for enough words, and then a moment for the end: what is written fast is posted whole."""
        while not answer.ended.is_set():
            answer.changed.clear()
            if answer.words.is_enough:
                await wait(answer.ended, self._pace_s)
                if answer.words.is_enough:
                    return
            else:
                await answer.changed.wait()

    async def _begin(self, answer: LiveAnswer) -> Stream | None:
        """Begin the turn's stream, unless there may be one already: another process's is left to the delivery.

        Raises:
            DeliverLater: it may have been begun all the same; the note says so.
        """
        address, turn_id = answer.address, answer.turn_id
        if not self._room.take(address) or await self._notes.get(turn_id):
            return None
        expected = Stream(address.channel, address.thread)
        await self._notes.keep(turn_id, expected)
        try:
            started = await self._start(address)
        except DeliverLater:
            self._room.close(address.team, AWAY_S)
            raise
        if not started.ok:
            self._room.refused(address, started)
            await self._notes.forget(turn_id)
            return None
        stream = replace(expected, ts=str(started.data.get("ts", "")))
        return stream if stream.ts and await self._is_noted(turn_id, expected, stream) else None

    async def _start(self, address: Address) -> Answer:
        return await self._api.post(
            "chat.startStream",
            channel=address.channel,
            thread_ts=address.thread,
            recipient_user_id=address.user,
            recipient_team_id=address.team,
        )

    async def _is_noted(self, turn_id: str, expected: Stream, stream: Stream) -> bool:
        """Note the stream before its words, unless another process has delivered the answer since it was ordered."""
        noted = await self._notes.get(turn_id)
        if noted == expected:
            await self._notes.keep(turn_id, stream)
            return True
        if noted is None:
            log.warning("slack.stream_too_late")
            await self._is_removed(stream)
        return False

    async def _take_back(self, turn_id: str) -> None:
        """Leave nothing of a turn that may end without an answer, because what was asked has been taken back."""
        stream = await self._notes.get(turn_id)
        if stream and stream.ts and not stream.delivery and await self._is_removed(stream):
            await self._notes.forget(turn_id)

    async def _is_removed(self, stream: Stream) -> bool:
        await self._api.post("chat.stopStream", channel=stream.channel, ts=stream.ts)
        removed = await self._api.post("chat.delete", channel=stream.channel, ts=stream.ts)
        return removed.ok

    async def _go_on(self, answer: LiveAnswer, stream: Stream) -> None:
        """Append what is written until the turn ends, or Slack takes no more."""
        unsent = ""
        while not answer.ended.is_set():
            answer.changed.clear()
            unsent += answer.words.take()
            pause_s = self._pace_s
            if unsent:
                added = await self._api.post(
                    "chat.appendStream", channel=stream.channel, ts=stream.ts, markdown_text=unsent
                )
                if added.retry_after:
                    pause_s = added.retry_after
                elif added.ok:
                    unsent = ""
                else:
                    log.info("slack.stream_refused", cause=added.error)
                    return
            await wait(answer.ended, pause_s)
            if not unsent:
                await answer.changed.wait()
