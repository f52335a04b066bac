"""Slack's own button to stop an agent, shown while a turn takes long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import structlog

from bot.channels.kv import KeyValue
from bot.channels.slack.api import AWAY_S, Answer, Api
from bot.channels.slack.background import Background, wait
from bot.channels.slack.status import StatusLine
from bot.channels.slack.types import Address
from bot.errors import DeliverLater, StoreUnavailable

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 3_600  # Slack takes the button away by itself after an hour
TRIES = 3
NOT_SUBSCRIBED = "missing_agent_session_stopped_event_subscription"


class StopButtons:
    """Declares a thread's session to be at work, under which Slack shows the button, and at rest again.

    An answer that is streamed has it by itself.

    Args:
        after_s: of a turn; most are over before anybody could press.
    """

    def __init__(self, api: Api, notes: KeyValue, background: Background, after_s: float) -> None:
        self._api = api
        self._notes = notes
        self._background = background
        self._after_s = after_s
        self._refused: set[str] = set()

    @asynccontextmanager
    async def live_view(self, address: Address, line: StatusLine) -> AsyncGenerator[None]:
        """The button, if the turn takes long enough; ``line`` has its place until then, for Slack has but one."""
        ended = asyncio.Event()
        if address.ts and address.channel not in self._refused:
            self._background.start(self._keep(address, line, ended))
        try:
            yield
        finally:
            ended.set()

    def pressed(self, channel: str, thread: str) -> None:
        """Somebody has pressed: Slack waits for us to take the button away, whoever has the turn."""
        self._background.start(self._rest(channel, thread))

    async def _keep(self, address: Address, line: StatusLine, ended: asyncio.Event) -> None:
        thread = address.thread or address.ts
        note = _name(address.channel, thread)
        with suppress(StoreUnavailable):
            # A process that died at work has left its button: whoever goes on with the turn takes it away.
            if not await self._notes.get(note):
                await wait(ended, self._after_s)
                if ended.is_set():
                    return
            await self._notes.set(note, b"1", KEPT_S)
            line.rest()
            if not await self._is_shown(address.channel, thread):
                line.resume()
            await ended.wait()
            await self._rest(address.channel, thread)

    async def _is_shown(self, channel: str, thread: str) -> bool:
        try:
            answer = await self._set(channel, thread, "processing")
        except DeliverLater:
            return False
        is_subscribed = answer.data.get("warning") != NOT_SUBSCRIBED
        if not is_subscribed:
            log.warning("slack.stop_button_missing", fix="subscribe the app to the event agent_session_stopped")
        if not (is_subscribed and (answer.ok or answer.retry_after)):
            self._refused.add(channel)
        return answer.ok and is_subscribed

    async def _rest(self, channel: str, thread: str) -> None:
        for _ in range(TRIES):
            wait_s = AWAY_S
            with suppress(DeliverLater):
                answer = await self._set(channel, thread, "active")
                wait_s = answer.retry_after
            if not wait_s:
                break
            await asyncio.sleep(wait_s)
        with suppress(StoreUnavailable):
            await self._notes.set(_name(channel, thread), b"", 1)

    async def _set(self, channel: str, thread: str, status: str) -> Answer:
        return await self._api.post("agents.sessions.setStatus", channel_id=channel, thread_ts=thread, status=status)


def _name(channel: str, thread: str) -> str:
    return f"slack:at_work:{channel}:{thread}"
