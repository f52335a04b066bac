"""What Slack shows of a turn while it runs: a status, a button to stop it, and the answer as it is written."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.channels.slack.status import StatusLines
from bot.channels.slack.stop_button import StopButtons
from bot.channels.slack.streaming import Streaming, can_stream
from bot.channels.slack.types import Address
from bot.live_events import LiveEvent, Watcher


class Both:
    """Passes every event on to two watchers (``bot.live_events.Watcher``)."""

    def __init__(self, one: Watcher, other: Watcher) -> None:
        self._one = one
        self._other = other

    async def show(self, event: LiveEvent) -> None:
        """Pass one event on."""
        await self._one.show(event)
        await self._other.show(event)


@asynccontextmanager
async def live_view(
    status: StatusLines, buttons: StopButtons, streaming: Streaming, address: Address, language: str
) -> AsyncGenerator[Watcher]:
    """A turn's watcher; nothing it shows is waited for."""
    async with status.live_view(address, language) as line, buttons.live_view(address, line):
        if not can_stream(address):
            yield line
            return
        async with streaming.live_view(address) as answer:
            yield Both(line, answer)
