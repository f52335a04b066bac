"""The line under a message while a turn runs: thinking, or the tool at work. It is decoration, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from bot.channels.slack.api import Api
from bot.channels.slack.background import Background, wait
from bot.channels.slack.types import Address
from bot.errors import DeliverLater
from bot.live_events import LiveEvent, ToolFinished, ToolStarted
from bot.texts import Texts

log = structlog.stdlib.get_logger(__name__)

REFRESH_S = 60.0  # Slack drops a status after two minutes


class StatusLine:
    """Shows one turn (``bot.live_events.Watcher``)."""

    def __init__(self, api: Api, address: Address, sentences: Mapping[str, str], pace_s: float) -> None:
        self._api = api
        self._pace_s = pace_s
        self._address = address
        self._sentences = sentences
        self._running: dict[str, str] = {}
        self._resting = False
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    async def show(self, event: LiveEvent) -> None:
        """Take what happens; the words follow on their own."""
        if isinstance(event, ToolStarted):
            self._running[event.call_id] = event.name
        elif isinstance(event, ToolFinished):
            self._running.pop(event.call_id, None)
        else:
            return
        self._changed.set()

    def rest(self) -> None:
        """Something else takes the line's place, and goes by itself."""
        self._resting = True

    def resume(self) -> None:
        """The place is the line's again."""
        self._resting = False
        self._changed.set()

    def end(self) -> None:
        """The turn is over: what is shown goes."""
        self._ended.set()
        self._changed.set()

    async def run(self) -> bool:
        """Show until the end; false where Slack shows no status here."""
        shown = ""
        while True:
            self._changed.clear()
            words = self._words()
            if not self._resting:
                if (words or shown) and not await self._set(words):
                    return False
                shown = words
            if self._ended.is_set():
                return True
            await wait(self._ended, self._pace_s)
            await wait(self._changed, REFRESH_S)

    def _words(self) -> str:
        if self._ended.is_set():
            return ""
        tool = next(reversed(self._running.values()), None)
        return self._sentences["using"].format(tool=tool) if tool else self._sentences["thinking"]

    async def _set(self, words: str) -> bool:
        address = self._address
        with suppress(DeliverLater):
            answer = await self._api.post(
                "assistant.threads.setStatus",
                channel_id=address.channel,
                thread_ts=address.thread or address.ts,
                status=words,
            )
            return answer.ok or answer.retry_after > 0
        return True


class StatusLines:
    """Shows turns, wherever Slack lets it."""

    def __init__(self, api: Api, texts: Texts, background: Background, pace_s: float) -> None:
        self._api = api
        self._pace_s = pace_s
        self._texts = texts
        self._background = background
        self._refused: set[str] = set()

    @asynccontextmanager
    async def live_view(self, address: Address, language: str) -> AsyncGenerator[StatusLine]:
        """A turn's line; it ends with the context, also where the turn fails."""
        line = StatusLine(self._api, address, self._texts.table("slack_status", language), self._pace_s)
        if address.ts and address.channel not in self._refused:
            self._background.start(self._keep(line, address.channel))
        try:
            yield line
        finally:
            line.end()

    async def _keep(self, line: StatusLine, channel: str) -> None:
        if not await line.run():
            log.debug("slack.status_unavailable", channel=channel)
            self._refused.add(channel)
