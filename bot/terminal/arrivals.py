"""What comes by itself: reminders, routines, late answers, votes. It is shown at the prompt, above
what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from threading import Lock

from bot.errors import StoreUnavailable
from bot.live_events import (
    Answered,
    ApprovalAsked,
    Joined,
    LiveEvent,
    Noticed,
    PollShown,
    TurnStarted,
)
from bot.terminal.exchange import ChatSession

AGAIN_S = 1.0  # until the live events are followed again after an outage
SHOWN = (Answered, ApprovalAsked, Noticed, PollShown)

# Shows one event; the ids are those of the messages that its turn answers, as far as they are
# known.
ShowArrival = Callable[[LiveEvent, Collection[str]], None]


class Arrivals:
    """Follows the conversation for as long as the terminal is open.

    Args:
        show: is called in the loop's thread while the person is at the prompt, and in the main
        thread otherwise. above_prompt: erases the prompt, and draws it again on exit.

    Attributes:
        known: events that the newest exchange has shown; they are not shown again.
    """

    def __init__(
        self,
        session: ChatSession,
        show: ShowArrival,
        above_prompt: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.known: list[LiveEvent] = []
        self._session = session
        self._show = show
        self._above_prompt = above_prompt
        self._lock = Lock()
        self._is_at_prompt = False
        self._waiting: list[tuple[LiveEvent, Collection[str]]] = []
        self._turn_id = ""
        self._user_ids: tuple[str, ...] = ()

    async def run(self) -> None:
        """Follow the live events; never returns."""
        while True:
            with suppress(StoreUnavailable):
                async with self._session.client.watch(self._session.conversation) as events:
                    async for event in events:
                        self._take(event)
            await asyncio.sleep(AGAIN_S)

    def enter_prompt(self) -> None:
        """Show what has come, and from now on what comes."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            for event, user_ids in waiting:
                if event not in self.known:
                    self._show(event, user_ids)
            self._is_at_prompt = True

    def leave_prompt(self) -> None:
        """Show nothing until the next prompt."""
        with self._lock:
            self._is_at_prompt = False

    def _take(self, event: LiveEvent) -> None:
        if isinstance(event, TurnStarted):
            self._turn_id, self._user_ids = event.turn_id, event.user_ids
        elif isinstance(event, Joined):
            self._user_ids += event.user_ids
        if not isinstance(event, SHOWN):
            return
        is_of_turn = isinstance(event, Answered) and event.turn_id == self._turn_id
        user_ids = self._user_ids if is_of_turn else ()
        with self._lock:
            if not self._is_at_prompt:
                self._waiting.append((event, user_ids))
            elif event not in self.known:
                with self._above_prompt():
                    self._show(event, user_ids)
