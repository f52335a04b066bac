"""What people see of a running turn: a status line, a stop button, and the answer as it is
written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from weakref import WeakValueDictionary

import structlog

from bot.channels import Host, KeyValue
from bot.channels.replies import units
from bot.channels.slack.client import AWAY_S, ApiResponse, Client, is_transient, refuses_channel
from bot.channels.slack.formatting import one_line
from bot.channels.slack.streaming import Streaming, can_stream
from bot.channels.slack.tasks import BackgroundTasks, Timing, wait_for_event
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import LiveEvent, ToolFinished, ToolStarted, TurnStarted, Watcher
from bot.texts import Texts

log = structlog.stdlib.get_logger(__name__)

REFRESH_S = 60.0  # Slack drops a status after two minutes
KEPT_S = 3_600  # Slack removes the button by itself after an hour
STATUS_CAP = 50  # UTF-16 code units; Slack refuses longer ones
TRIES = 3
NOT_SUBSCRIBED = "missing_agent_session_stopped_event_subscription"


class BothWatchers:
    """Passes every event on to two watchers (``bot.live_events.Watcher``)."""

    def __init__(self, one: Watcher, other: Watcher) -> None:
        self._one = one
        self._other = other

    async def show(self, event: LiveEvent) -> None:
        """Pass one event on."""
        await self._one.show(event)
        await self._other.show(event)


class Presence:
    """Shows running turns, in the background.

    Attributes:
        buttons: those that stop turns.
    """

    def __init__(
        self,
        client: Client,
        host: Host,
        tasks: BackgroundTasks,
        streaming: Streaming,
        timing: Timing,
    ) -> None:
        self._status = StatusLines(client, host.texts, tasks, timing)
        self.buttons = StopButtons(client, host.kv, tasks, timing.stop_after_s)
        self._streaming = streaming
        self._language = host.language

    @asynccontextmanager
    async def live_view(self, conversation: str, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's watcher."""
        language = address.language or self._language
        async with (
            self._status.live_view(address, language) as line,
            self.buttons.live_view(conversation, address, line),
        ):
            if can_stream(address):
                async with self._streaming.live_view(address) as answer:
                    yield BothWatchers(line, answer)
            else:
                yield line
            self._streaming.streams.prefetch(
                line.turn_id
            )  # for the delivery, together with the commit before it


class StatusLine:
    """Shows one turn (``bot.live_events.Watcher``)."""

    def __init__(
        self, client: Client, address: Address, texts: Texts, language: str, timing: Timing
    ) -> None:
        self._client = client
        self._timing = timing
        self._address = address
        self._texts = texts
        self._language = language
        self.turn_id = ""
        self._running: dict[str, str] = {}
        self._resting = False
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    async def show(self, event: LiveEvent) -> None:
        """Take an event; the status follows in the background."""
        if isinstance(event, TurnStarted):
            self.turn_id = event.turn_id
            return
        if isinstance(event, ToolStarted):
            self._running[event.call_id] = event.title or event.name
        elif isinstance(event, ToolFinished):
            self._running.pop(event.call_id, None)
        else:
            return
        self._changed.set()

    def rest(self) -> None:
        """Stop showing the status: Slack shows the stop button instead."""
        self._resting = True

    def resume(self) -> None:
        """Show the status again."""
        self._resting = False
        self._changed.set()

    def end(self) -> None:
        """Remove the status: the turn is over."""
        self._ended.set()
        self._changed.set()

    async def run(self) -> bool:
        """Show the status until the end; false if Slack shows none here."""
        shown = ""
        await wait_for_event(self._ended, self._timing.status_after_s)
        while True:
            self._changed.clear()
            is_last = self._ended.is_set()
            text = self._text()
            if not self._resting:
                if (text or shown) and not await self._set(text):
                    return False
                shown = text
            if is_last:
                return True
            await wait_for_event(self._ended, self._timing.pace_s)
            await wait_for_event(self._changed, REFRESH_S)

    def _text(self) -> str:
        if self._ended.is_set():
            return ""
        if not self._running:
            return self._texts.get("slack_status.thinking", self._language)
        using = partial(self._texts.get, "slack_status.using", self._language)
        tool = next(reversed(self._running.values()))
        return using(tool=one_line(tool, STATUS_CAP - units(using(tool=""))))

    async def _set(self, text: str) -> bool:
        address = self._address
        with suppress(DeliverLater):
            response = await self._client.post(
                "assistant.threads.setStatus",
                channel_id=address.channel,
                thread_ts=address.thread or address.ts,
                status=text,
            )
            return not refuses_channel(response)
        return True


class StatusLines:
    """The status lines of all turns, except in channels that refuse them."""

    def __init__(
        self, client: Client, texts: Texts, tasks: BackgroundTasks, timing: Timing
    ) -> None:
        self._client = client
        self._timing = timing
        self._texts = texts
        self._tasks = tasks
        self._refused: set[str] = set()

    @asynccontextmanager
    async def live_view(self, address: Address, language: str) -> AsyncGenerator[StatusLine]:
        """A turn's line, while the context is open."""
        line = StatusLine(self._client, address, self._texts, language, self._timing)
        if address.ts and address.channel not in self._refused:
            self._tasks.start(self._keep(line, address.channel))
        try:
            yield line
        finally:
            line.end()

    async def _keep(self, line: StatusLine, channel: str) -> None:
        if not await line.run():
            log.debug("slack.status_unavailable", channel=channel)
            self._refused.add(channel)


class StopButtons:
    """Sets a thread's session to processing, for which Slack shows the button, and back to active.

    A streamed answer has the button by itself.

    Args:
        after_s: of a turn; most are over before anybody could press.
    """

    def __init__(
        self,
        client: Client,
        kv: KeyValue,
        tasks: BackgroundTasks,
        after_s: float,
    ) -> None:
        self._client = client
        self._kv = kv
        self._tasks = tasks
        self._after_s = after_s
        self._refused: set[str] = set()
        self._locks = WeakValueDictionary[
            str, asyncio.Lock
        ]()  # of conversations: one button after the other

    @asynccontextmanager
    async def live_view(
        self, conversation: str, address: Address, line: StatusLine
    ) -> AsyncGenerator[None]:
        """The button, if the turn takes long enough. Slack shows either the button or ``line``."""
        ended = asyncio.Event()
        if address.ts and address.channel not in self._refused:
            self._tasks.start(self._keep(conversation, address, line, ended))
        try:
            yield
        finally:
            ended.set()

    def remove_stop_button(self, channel: str, thread: str) -> None:
        """Remove a button in the background, in whichever process the turn runs: Slack waits for
        that."""
        self._tasks.start(self._remove(channel, thread))

    def remove_left_button(self, conversation: str, channel: str) -> None:
        """Remove the button that a process which has died may have left, in the background."""
        self._tasks.start(self._remove_left(conversation, channel))

    async def _remove_left(self, conversation: str, channel: str) -> None:
        async with self._lock(conversation):
            with suppress(StoreUnavailable):
                if left := await self._kv.get(_key(conversation)):
                    await self._remove_noted(conversation, channel, left.decode())

    def _lock(self, conversation: str) -> asyncio.Lock:
        return self._locks.setdefault(conversation, asyncio.Lock())

    async def _keep(
        self, conversation: str, address: Address, line: StatusLine, ended: asyncio.Event
    ) -> None:
        channel, thread, key = address.channel, address.thread or address.ts, _key(conversation)
        async with self._lock(conversation):
            self._kv.prefetch(key)
            with suppress(StoreUnavailable):
                left = (await self._kv.get(key) or b"").decode()
                if left not in ("", thread):
                    await self._remove_noted(
                        conversation, channel, left
                    )  # in a 1:1 each question has its own session
                # The button of a process that has died is there already: whoever goes on with the
                # turn removes it.
                if left != thread:
                    await wait_for_event(ended, self._after_s)
                    if ended.is_set():
                        return
                await self._kv.set(key, thread.encode(), KEPT_S)
                line.rest()
                if not await self._show(channel, thread):
                    line.resume()
                await ended.wait()
                await self._remove_noted(conversation, channel, thread)

    async def _show(self, channel: str, thread: str) -> bool:
        try:
            response = await self._set(channel, thread, "processing")
        except DeliverLater:
            return False
        is_subscribed = response.data.get("warning") != NOT_SUBSCRIBED
        if not is_subscribed:
            log.warning(
                "slack.stop_button_missing",
                fix="subscribe the app to the event agent_session_stopped",
            )
        if not is_subscribed or refuses_channel(response):
            self._refused.add(channel)
        return response.ok and is_subscribed

    async def _remove(self, channel: str, thread: str) -> None:
        for _ in range(TRIES):
            wait_s = AWAY_S
            with suppress(DeliverLater):
                response = await self._set(channel, thread, "active")
                wait_s = response.retry_after or (AWAY_S if is_transient(response) else 0.0)
            if not wait_s:
                break
            await asyncio.sleep(wait_s)

    async def _remove_noted(self, conversation: str, channel: str, thread: str) -> None:
        """Remove a button and its note, unless the note is of a later one."""
        await self._remove(channel, thread)
        key = _key(conversation)
        if await self._kv.get(key) == thread.encode():
            await self._kv.set(key, b"", 1)

    async def _set(self, channel: str, thread: str, status: str) -> ApiResponse:
        return await self._client.post(
            "agents.sessions.setStatus", channel_id=channel, thread_ts=thread, status=status
        )


def _key(conversation: str) -> str:
    """The note of a button that is shown: the thread of its session."""
    return f"slack:at_work:{conversation}"
