"""What people see of a running turn: a status line, a stop button, the answer as it is written, and
a title of its thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from weakref import WeakValueDictionary

import structlog

from bot.channels import Host, KeyValue
from bot.channels.replies import units
from bot.channels.slack.client import AWAY_S, ApiResponse, BackgroundTasks, Client, wait_for_event
from bot.channels.slack.config import Timing
from bot.channels.slack.formatting import short_line
from bot.channels.slack.live_answer import LiveAnswer
from bot.channels.slack.streaming import Streaming
from bot.channels.slack.types import Address
from bot.clock import DAY_S
from bot.errors import DeliverLater, StoreUnavailable
from bot.live_events import LiveEvent, ToolFinished, ToolStarted, TurnStarted, Watcher
from bot.texts import Texts

log = structlog.stdlib.get_logger(__name__)

REFRESH_S = 60.0  # Slack drops a status after two minutes
KEPT_S = 3_600  # Slack removes the button by itself after an hour
STATUS_CAP = 50  # UTF-16 code units; Slack refuses longer ones
TITLE_CAP = 60
TRIES = 3
NOT_SUBSCRIBED = "missing_agent_session_stopped_event_subscription"


class Presence:
    """Shows running turns, in the background.

    Attributes:
        streaming: of their answers.
        buttons: those that stop turns.
    """

    def __init__(self, client: Client, host: Host, tasks: BackgroundTasks, timing: Timing) -> None:
        self.streaming = Streaming(client, host.kv, tasks, timing)
        self.buttons = StopButtons(client, host.kv, tasks, timing.stop_after_s)
        self._client = client
        self._host = host
        self._tasks = tasks
        self._timing = timing
        self._refused: set[str] = set()  # channels without a status line

    @asynccontextmanager
    async def live_view(self, conversation: str, address: Address) -> AsyncGenerator[Watcher]:
        """A turn's watcher."""
        language = address.language or self._host.language
        answer = self.streaming.begin(address)
        line = StatusLine(self._client, address, self._host.texts, language, self._timing, answer)
        if address.ts and address.channel not in self._refused:
            self._tasks.start(line.run(self._refused))
        self.buttons.begin(conversation, address, line)
        try:
            yield line
            # for the delivery, together with the commit before it
            self.streaming.streams.prefetch(line.turn_id)
        finally:
            line.end()

    async def set_title(self, address: Address, text: str) -> None:
        """Give a thread of a 1:1 its first words as a title; a failure is ignored."""
        key = f"{self._host.channel('slack')}:titled:{address.channel}:{address.thread}"
        with suppress(DeliverLater, StoreUnavailable):
            if await self._host.kv.incr(key, DAY_S) == 1:
                await self._client.post(
                    "assistant.threads.setTitle",
                    channel_id=address.channel,
                    thread_ts=address.thread,
                    title=short_line(text, TITLE_CAP),
                )


class StatusLine:
    """Shows one turn (``bot.live_events.Watcher``).

    Args:
        answer: is shown too, as it is written.

    Attributes:
        ended: the turn is over.
    """

    def __init__(
        self,
        client: Client,
        address: Address,
        texts: Texts,
        language: str,
        timing: Timing,
        answer: LiveAnswer | None,
    ) -> None:
        self._client = client
        self._timing = timing
        self._address = address
        self._texts = texts
        self._language = language
        self._answer = answer
        self.turn_id = ""
        self.ended = asyncio.Event()
        self._running: dict[str, str] = {}
        self._resting = False
        self._changed = asyncio.Event()

    async def show(self, event: LiveEvent) -> None:
        """Take an event; the status follows in the background."""
        if self._answer:
            await self._answer.show(event)
        if isinstance(event, TurnStarted):
            self.turn_id = event.turn_id
        elif isinstance(event, ToolStarted):
            self._running[event.call_id] = event.title or event.name
            self._changed.set()
        elif isinstance(event, ToolFinished):
            self._running.pop(event.call_id, None)
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
        if self._answer:
            self._answer.end()
        self.ended.set()
        self._changed.set()

    async def run(self, refused: set[str]) -> None:
        """Show the status until the end; a channel in which Slack shows none is added to
        ``refused``."""
        shown = ""
        await wait_for_event(self.ended, self._timing.status_after_s)
        while True:
            self._changed.clear()
            is_last = self.ended.is_set()
            text = "" if is_last else self._text()
            if not self._resting:
                if (text or shown) and not await self._set(text):
                    log.debug("slack.status_unavailable", channel=self._address.channel)
                    refused.add(self._address.channel)
                    return
                shown = text
            if is_last:
                return
            await wait_for_event(self.ended, self._timing.pace_s)
            await wait_for_event(self._changed, REFRESH_S)

    def _text(self) -> str:
        if not self._running:
            return self._texts.get("slack_status.thinking", self._language)
        using = partial(self._texts.get, "slack_status.using", self._language)
        tool = next(reversed(self._running.values()))
        return using(tool=short_line(tool, STATUS_CAP - units(using(tool=""))))

    async def _set(self, text: str) -> bool:
        address = self._address
        with suppress(DeliverLater):
            response = await self._client.post(
                "assistant.threads.setStatus",
                channel_id=address.channel,
                thread_ts=address.thread or address.ts,
                status=text,
            )
            return not response.refuses_channel
        return True


class StopButtons:
    """Sets a thread's session to processing, for which Slack shows the button, and back to active.

    A streamed answer has the button by itself.

    Args:
        after_s: of a turn; most are over before anybody could press.
    """

    def __init__(
        self, client: Client, kv: KeyValue, tasks: BackgroundTasks, after_s: float
    ) -> None:
        self._client = client
        self._kv = kv
        self._tasks = tasks
        self._after_s = after_s
        self._refused: set[str] = set()
        # of conversations: one button after the other
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def begin(self, conversation: str, address: Address, line: StatusLine) -> None:
        """Show the button until the turn of ``line`` ends, if that takes long enough. Slack shows
        either the button or ``line``."""
        if address.ts and address.channel not in self._refused:
            thread = address.thread or address.ts
            self._tasks.start(self._keep(conversation, address.channel, thread, line))

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

    async def _keep(self, conversation: str, channel: str, thread: str, line: StatusLine) -> None:
        key = _key(conversation)
        async with self._lock(conversation):
            self._kv.prefetch(key)
            with suppress(StoreUnavailable):
                left = (await self._kv.get(key) or b"").decode()
                if left not in ("", thread):  # in a 1:1 each question has its own session
                    await self._remove_noted(conversation, channel, left)
                # The button of a process that has died is there already: whoever goes on with the
                # turn removes it.
                if left != thread:
                    await wait_for_event(line.ended, self._after_s)
                    if line.ended.is_set():
                        return
                await self._kv.set(key, thread.encode(), KEPT_S)
                line.rest()
                if not await self._show(channel, thread):
                    line.resume()
                await line.ended.wait()
                await self._remove_noted(conversation, channel, thread)

    async def _show(self, channel: str, thread: str) -> bool:
        try:
            response = await self._set(channel, thread, "processing")
        except DeliverLater:
            return False
        is_subscribed = response.data.get("warning") != NOT_SUBSCRIBED
        if not is_subscribed:
            fix = "subscribe the app to the event agent_session_stopped"
            log.warning("slack.stop_button_missing", fix=fix)
        if not is_subscribed or response.refuses_channel:
            self._refused.add(channel)
        return response.ok and is_subscribed

    async def _remove(self, channel: str, thread: str) -> None:
        for _ in range(TRIES):
            wait_s = AWAY_S
            with suppress(DeliverLater):
                response = await self._set(channel, thread, "active")
                wait_s = response.retry_after or (AWAY_S if response.is_transient else 0.0)
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
